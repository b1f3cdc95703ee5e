package dsl

import (
	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
)

// wordHabits are words of other languages in the place of a value, and what is written here.
var wordHabits = map[string]string{"null": nullWord, "nil": nullWord, "none": nullWord, "undefined": nullWord, "true": "here it is `true`", "false": "here it is `false`"}

const nullWord = "here it is `null`, and asked for with `is null` or `is not null`"

// functionHabits are functions of other languages, and what is written here.
var functionHabits = map[string]string{
	"not": "negation is written `!(…)`",
	"now": clockless, "today": clockless, "current_timestamp": clockless, "current_date": clockless, "getdate": clockless,
	"coalesce": "a value in the place of null is written `x ?? y`", "ifnull": "a value in the place of null is written `x ?? y`",
	"nvl": "a value in the place of null is written `x ?? y`", "isnull": "that is asked with `x is null`", "is_null": "that is asked with `x is null`",
	"len": "the length of a text is `length(x)`, which is not in this version of eoc yet",
	"if":  "a choice is written `if … then … else …`", "iif": "a choice is written `if … then … else …`", "cast": "casts are named after their types: `int(x)`", "convert": "casts are named after their types: `int(x)`",
	"str": "the cast is written `string(x)`", "text": "the cast is written `string(x)`", "to_string": "the cast is written `string(x)`", "tostring": "the cast is written `string(x)`",
	"integer": "the cast is written `int(x)`", "long": "the cast is written `int(x)`", "bigint": "the cast is written `int(x)`", "to_int": "the cast is written `int(x)`",
	"double": "the cast is written `float(x)`", "number": "the cast is written `int(x)`, `float(x)` or `decimal(x, p, s)`", "numeric": "the cast is written `decimal(x, p, s)`",
	"to_timestamp": "the cast is written `timestamp(x)`", "datetime": "the cast is written `timestamp(x)`",
}

const clockless = "results depend on the records alone, never on the clock: compare their times with each other"

// packaged reports a call of `a.f(x)`, which would be a function of a Go package, unless a is a field.
func (s scope) packaged(e *syntax.Call) {
	if dot, ok := e.Fun.(*syntax.Dot); ok {
		if ref, isRef := dot.X.(*syntax.Ref); isRef && s.row.Index(ref.Name) >= 0 {
			s.c.report(diag.New("unknown-function", s.c.at(dot.Node), "a field has no functions of its own").
				WithHelp("functions stand in front of their values, as in `string(%s)`", ref.Name))
			return
		}
	}
	s.c.notYet(e.Node, "a function of a Go package")
}
