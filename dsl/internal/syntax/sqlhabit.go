package syntax

import (
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/eoc-lang/eoc/internal/diag"
)

// sqlHabit explains what is right in SQL.
func (f *File) sqlHabit(p place) (diag.Diagnostic, bool) {
	if p.part[0].Value != "stream" || p.open == nil {
		return diag.Diagnostic{}, false
	}
	for _, try := range []func(place) (diag.Diagnostic, bool){f.starHabit, f.castHabit, f.absentHabit, f.windowHabit, f.inHabit, f.asHabit} {
		if d, ok := try(p); ok {
			return d, true
		}
	}
	return diag.Diagnostic{}, false
}

// isWord compares a word without its case.
func isWord(t lexer.Token, word string) bool {
	return t.Type == kindID && strings.EqualFold(t.Value, word)
}

// starHabit: `*` for all fields or all rows.
func (f *File) starHabit(p place) (diag.Diagnostic, bool) {
	const keepsAll = "list the fields, as in `select user_id, amount`; without `select` all are kept"
	t, before, next := p.at(0), p.at(-1), p.at(1)
	switch {
	case p.inStream() && isWord(t, "select") && next.Value == "*" && next.Type == kindOp:
		return f.fault(next, "syntax", "`*` does not stand for all fields").WithHelp(keepsAll), true
	case t.Value != "*" || t.Type != kindOp || p.want != "an expression":
		return diag.Diagnostic{}, false
	case p.in("select") && before.Value == ",":
		return f.fault(t, "syntax", "`*` does not stand for all fields").WithHelp(keepsAll), true
	case p.in("aggregate") && before.Value == "(" && p.at(-2).Type == kindID && next.Value == ")":
		fun := p.at(-2)
		d := diag.New("bad-aggregate", f.span(fun, next), "`*` does not stand for all rows")
		if strings.EqualFold(fun.Value, "count") && isWord(p.at(2), "as") {
			return d.WithLabel("write `%s = count()`", p.at(3).Value), true
		} else if strings.EqualFold(fun.Value, "count") {
			return d.WithLabel("write `count()`"), true
		}
		return d.WithLabel("write a field in the brackets, as in `%s(amount)`", strings.ToLower(fun.Value)), true
	}
	return diag.Diagnostic{}, false
}

// absentHabit: what has no clause here, and `from` behind what it feeds.
func (f *File) absentHabit(p place) (diag.Diagnostic, bool) {
	t, next := p.at(0), p.at(1)
	if !p.inStream() {
		return diag.Diagnostic{}, false
	}
	switch {
	case (isWord(t, "order") || isWord(t, "sort")) && isWord(next, "by"):
		return diag.New("unknown-clause", f.span(t, next), "there is no `%s %s`", t.Value, next.Value).
			WithHelp("a stream has no end at which it could be sorted: sort the results where they are read"), true
	case isWord(next, "by") && slices.Contains([]string{"group", "partition", "key", "keyed", "cluster"}, strings.ToLower(t.Value)) && p.at(-1).Pos.Line != t.Pos.Line:
		return diag.New("unknown-clause", f.span(t, next), "there is no `%s %s`", t.Value, next.Value).WithHelp(keysInside), true
	case isWord(t, "limit") && next.Type == kindNum:
		return f.fault(t, "unknown-clause", "there is no `%s`", t.Value).
			WithHelp("a stream has no end, so there is no number of rows after which it is complete: choose rows with `where`"), true
	case p.in("select") && isWord(p.at(-1), "distinct") && p.at(-2).Value == "select" && isName(t):
		return f.fault(p.at(-1), "syntax", "`select` has no `%s`", p.at(-1).Value).
			WithHelp("a window brings together the rows that are alike, `window tumbling 1m by %[1]s`; `dedup by %[1]s` is not in this version of eoc yet", t.Value), true
	case p.in("aggregate") && p.at(-1).Pos.Line == t.Pos.Line && (isWord(t, "by") || isWord(t, "group") && isWord(next, "by")):
		return f.fault(t, "clause-order", "an aggregate has no keys of its own").WithHelp(keysInside), true
	case p.in("aggregate") && p.at(-1).Value == ")" && (isWord(t, "filter") || isWord(t, "over")) && next.Value == "(":
		return f.fault(t, "syntax", "`%s` does not fit here", t.Value).
			WithHelp("the condition of an aggregate is written `if`, as in `count() if amount > 0`; which rows belong together says the window in front"), true
	case isWord(t, "from") && p.clause != nil && p.clause.Value != "from" && p.at(-1).Pos.Line == t.Pos.Line && !p.hasFrom():
		return f.fault(t, "clause-order", "a stream begins with `from`").
			WithHelp("write `from %s` on the first line, and `%s …` on a line below it", next.Value, p.clause.Value), true
	}
	return diag.Diagnostic{}, false
}

// hasFrom: a `from` stands in front.
func (p place) hasFrom() bool {
	for _, t := range p.part[:p.i] {
		if t.Type == kindClause && t.Value == "from" {
			return true
		}
	}
	return false
}

// windowHabit: a window as a function, with commas, or with the `group by` of SQL.
func (f *File) windowHabit(p place) (diag.Diagnostic, bool) {
	if !p.in("window") || !p.inStream() && p.at(0).Value != "(" {
		return diag.Diagnostic{}, false
	}
	t, before, next := p.at(0), p.at(-1), p.at(1)
	sameLine := before.Pos.Line == t.Pos.Line
	const noComma = "leave it out: between the parts of a window stands none"
	switch {
	case sameLine && (isWord(t, "group") || isWord(t, "partition")) && isWord(next, "by"):
		return diag.New("unknown-window-option", f.span(t, next), "`%s %s` is not a window option", t.Value, next.Value).
			WithLabel("write `by %s`", p.at(2).Value), true
	case sameLine && p.at(-2).Value == "window" && p.at(-2).Type == kindClause && t.Type == kindID && (next.Type == kindDuration || next.Type == kindNum):
		return f.fault(t, "unknown-window-option", "`%s` is not a window option", t.Value).WithLabel("leave it out: the size stands directly behind `%s`", before.Value), true
	case sameLine && isWord(t, "on") && isName(next):
		return diag.New("unknown-window-option", f.span(t, next), "`on` is not a window option").
			WithLabel("leave it out: the source says what the time of a record is, `time %s`", next.Value), true
	case t.Type == kindDuration && before.Value == "window" && before.Type == kindClause:
		return f.fault(t, "syntax", "the kind of the window is missing").WithLabel("write `tumbling %s`", t.Value), true
	case t.Value == "(" && p.at(-2).Value == "window" && p.at(-2).Type == kindClause:
		return f.fault(t, "syntax", "a window has no brackets").WithLabel("write `window %s %s`", strings.ToLower(before.Value), p.sizeInside()), true
	case t.Value == "," && t.Type == kindOp:
		return f.fault(t, "option-comma", "a window has no comma here").WithLabel(noComma), true
	}
	return diag.Diagnostic{}, false
}

// sizeInside is the first duration in the brackets that begin here, as it is written in front of the options of a window.
func (p place) sizeInside() string {
	for k := 1; p.at(k).Pos.Line == p.at(0).Pos.Line && p.at(k).Value != ")"; k++ {
		switch t := p.at(k); t.Type {
		case kindDuration:
			return t.Value
		case kindNum:
			if short := unitHabits[strings.ToLower(p.at(k+1).Value)]; short != "" {
				return t.Value + short
			}
		}
	}
	return "1m"
}

// beforeOpen is the token in front of the innermost open bracket.
func (p place) beforeOpen() lexer.Token { return p.beforeOpenBy(1) }

// beforeOpenBy is the token that stands n in front of the innermost open bracket.
func (p place) beforeOpenBy(n int) lexer.Token {
	for j := p.i - 1; j >= n; j-- {
		if p.part[j].Pos == p.open.Pos {
			return p.part[j-n]
		}
	}
	return lexer.Token{}
}
