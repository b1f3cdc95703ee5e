package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/eoc-lang/eoc/dsl"
)

// randomProgram writes a pipeline of n streams with random expressions: as items, conditions, arguments and
// filters of aggregates. Not every text that the grammar below makes is well typed (a scale may be too
// great, a null proved absent), so each is tried on its own first.
func randomProgram(seed uint64, n int) string {
	r := &writer{rand.New(rand.NewPCG(seed, 3))}
	var b strings.Builder
	b.WriteString(randomSource)
	for i := 0; i < n; {
		text := fmt.Sprintf(r.choose(
			"stream s%[1]d { from rows  select id, r = %[2]s  to kafka(\"s%[1]d\") }\n",
			"stream s%[1]d { from rows  where %[3]s  select id  to kafka(\"s%[1]d\") }\n",
			"stream s%[1]d { from rows  let x = %[4]s, y = %[2]s, z = if %[3]s then x else x + a  where y == y || z > b  select id, x, z  to kafka(\"s%[1]d\") }\n",
			"stream s%[1]d { from rows  select id, a = %[4]s, c = %[2]s  to kafka(\"s%[1]d-a\") if %[3]s, kafka(\"s%[1]d-b\") else }\n",
			"stream s%[1]d { from rows  window tumbling 5s by k = %[5]s aggregate r = sum(%[4]s) if %[3]s, n = count(%[2]s), m = max(%[4]s)  where n > 1 let q = n / (n - 3) to kafka(\"s%[1]d\") }\n",
		), i, r.any(4), r.expr("bool", 4), r.expr("int", 3), r.expr(r.choose("string", "int", "bool", "timestamp"), 2))
		if _, diagnostics := dsl.Check("random.eo", []byte(randomSource+text)); len(diagnostics) == 0 {
			b.WriteString(text)
			i++
		}
	}
	return b.String()
}

const randomSource = `type Row {
  id: int  a: int  b: int  c: int?  s: string  t: string?  d: decimal(9, 2)  w: decimal(25, 5)  h: decimal(6, 1)?
  f: float  g: float?  ok: bool  no: bool?  at: timestamp  then: timestamp?  u: duration  v: duration?
}
source rows: Row from kafka("rows") { time at  watermark 1s  on_error dlq("dlq") }
`

// writer writes expressions.
type writer struct{ *rand.Rand }

func (w *writer) choose(list ...string) string { return list[w.IntN(len(list))] }

var kinds = []string{"int", "float", "decimal", "string", "bool", "timestamp", "duration"}

func (w *writer) any(depth int) string {
	if w.IntN(3) == 0 {
		return w.nullable(w.choose(kinds...), depth)
	}
	return w.expr(w.choose(kinds...), depth)
}

var fields = map[string][2][]string{ // never null, and perhaps
	"int":       {{"a", "b", "id"}, {"c"}},
	"float":     {{"f"}, {"g"}},
	"decimal":   {{"d", "w"}, {"h"}},
	"string":    {{"s"}, {"t"}},
	"bool":      {{"ok"}, {"no"}},
	"timestamp": {{"at"}, {"`then`"}},
	"duration":  {{"u"}, {"v"}},
}

var literals = map[string][]string{
	"int":       {"0", "1", "2", "7", "-3", "1000", "9223372036854775807"},
	"float":     {"float(1)", "float(0.5)", "float(-2)"},
	"decimal":   {"0.5", "1.25", "100.0", "-3.75", "12345678901234567890.5"},
	"string":    {`""`, `"a"`, `"key-1"`, `"12"`, "\"\\\"\\n`\""},
	"bool":      {"true", "false"},
	"timestamp": {`timestamp("2026-01-01T00:00:05Z")`, `timestamp("9999-12-31T23:59:59Z")`},
	"duration":  {"1s", "1h30m", "5ms", "1us"},
}

// expr is an expression of a kind that is never null.
func (w *writer) expr(kind string, depth int) string {
	if depth == 0 || w.IntN(6) == 0 {
		if w.IntN(3) == 0 {
			return w.choose(literals[kind]...)
		}
		return w.choose(fields[kind][0]...)
	}
	sub := func(kind string) string { return w.expr(kind, depth-1) }
	switch w.IntN(6) {
	case 0:
		return "(if " + sub("bool") + " then " + sub(kind) + " else " + sub(kind) + ")"
	case 1:
		return "(" + w.nullable(kind, depth-1) + " ?? " + sub(kind) + ")"
	}
	switch kind {
	case "int":
		return w.choose("("+sub("int")+w.choose(" + ", " - ", " * ", " / ", " % ")+sub("int")+")", "-("+sub("int")+")",
			"int("+sub(w.choose("float", "decimal", "bool", "string"))+")")
	case "float":
		return w.choose("("+sub("float")+w.choose(" + ", " - ", " * ", " / ", " % ")+sub("float")+")", "-("+sub("float")+")",
			"float("+sub(w.choose("int", "decimal", "string"))+")")
	case "decimal":
		return w.choose("("+sub("decimal")+w.choose(" + ", " - ", " * ", " / ", " % ")+sub(w.choose("decimal", "decimal", "int"))+")", "-("+sub("decimal")+")",
			"decimal("+sub(w.choose("int", "float", "decimal", "string"))+w.choose(", 12, 2)", ", 38, 6)", ", 5, 0)", ", 20, 10)"))
	case "string":
		return "string(" + sub(w.choose(kinds...)) + ")"
	case "bool":
		k := w.choose(kinds...)
		return w.choose("("+sub("bool")+w.choose(" && ", " || ")+sub("bool")+")", "!("+sub("bool")+")",
			"("+sub(k)+w.choose(" == ", " != ", " == ")+sub(k)+")", "("+w.ordered(depth)+")",
			"("+sub(k)+w.choose(" in", " not in")+" ["+sub(k)+", "+sub(k)+", "+w.choose(literals[k]...)+"])",
			"("+w.nullable(k, depth-1)+w.choose(" is null", " is not null")+")")
	case "timestamp":
		return w.choose("("+sub("timestamp")+w.choose(" + ", " - ")+sub("duration")+")", "timestamp("+sub("string")+")")
	}
	return w.choose("("+sub("timestamp")+" - "+sub("timestamp")+")", "("+sub("duration")+w.choose(" + ", " - ")+sub("duration")+")",
		"("+sub("duration")+w.choose(" * ", " / ")+sub("int")+")", "-("+sub("duration")+")")
}

func (w *writer) ordered(depth int) string {
	k := w.choose("int", "float", "decimal", "string", "timestamp", "duration")
	return w.expr(k, depth-1) + w.choose(" < ", " <= ", " > ", " >= ") + w.expr(k, depth-1)
}

// nullable is an expression of a kind that may be null.
func (w *writer) nullable(kind string, depth int) string {
	if depth == 0 || w.IntN(3) == 0 {
		return w.choose(fields[kind][1]...)
	}
	sub := func() string { return w.nullable(kind, depth-1) }
	switch w.IntN(4) {
	case 0:
		return "(if " + w.expr("bool", depth-1) + " then " + sub() + " else " + w.choose(sub(), "null", w.expr(kind, depth-1)) + ")"
	case 1:
		return "(" + sub() + " ?? " + sub() + ")"
	}
	switch kind {
	case "int":
		return "int(" + w.nullable(w.choose("float", "decimal", "string", "bool"), depth-1) + ")"
	case "float":
		return "float(" + w.nullable(w.choose("int", "decimal", "string"), depth-1) + ")"
	case "decimal":
		return "decimal(" + w.nullable(w.choose("int", "float", "decimal", "string"), depth-1) + ", 20, 4)"
	case "string":
		return "string(" + w.nullable(w.choose(kinds...), depth-1) + ")"
	}
	return sub()
}
