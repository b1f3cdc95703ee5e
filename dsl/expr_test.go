package dsl_test

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

const allTypes = `type All {
  b: bool  i: int  f: float  d: decimal(12, 2)  e: decimal(10, 4)  w: decimal(38, 10)  s: string
  t: timestamp  tm: timestamp(ms)  u: duration
  nb: bool?  ni: int?  nf: float?  nd: decimal(12, 2)?  ns: string?  nt: timestamp?
}
source all: All from kafka("all") { time t  watermark 5s }
`

// check checks a stream over all types that has the clauses.
func check(clauses string) (*dsl.Program, []diag.Diagnostic, string) {
	src := allTypes + "stream x {\n  from all\n  " + clauses + "\n  to kafka(\"out\")\n}\n"
	p, diags := dsl.Check("x.eo", []byte(src))
	return p, diags, src
}

func mustCheck(t testing.TB, clauses string) *dsl.Program {
	t.Helper()
	p, diags, src := check(clauses)
	if len(diags) > 0 {
		var out bytes.Buffer
		diag.Render(&out, diags, []byte(src), false)
		t.Fatalf("%s\n%s", clauses, out.String())
	}
	return p
}

// exprOf is what an expression becomes.
func exprOf(t testing.TB, e string) ir.Expr {
	t.Helper()
	let := mustCheck(t, "let x = "+e).Streams[0].Clauses[0].(*dsl.Let)
	return let.Items[0].Expr
}

func TestTypes(t *testing.T) {
	for e, want := range map[string]string{
		"1": "int", "1.5": "decimal(2, 1)", "1.50": "decimal(3, 2)", "0.05": "decimal(2, 2)", "1e3": "int", "1.5e1": "int",
		"9223372036854775807": "int", "-9223372036854775808": "int", "9223372036854775808": "decimal(19, 0)",
		`"a"`: "string", "true": "bool", "1h30m": "duration", "-5s": "duration", `timestamp("2026-01-31T00:00:00Z")`: "timestamp",
		"2 * 1.5": "decimal(2, 1)", "7 / 2": "int", "1 / 3.0": "decimal(38, 6)",
		// int, float and decimal meet
		"i + 1": "int", "i / 2": "int", "i % 7": "int", "i + f": "float", "f * 2": "float", "f + 1.5": "float", "-f": "float", "-i": "int",
		"i + 1.5": "decimal(21, 1)", "i * 0.5": "decimal(20, 1)", "i * d": "decimal(31, 2)", "d + i": "decimal(22, 2)",
		"d + e": "decimal(15, 4)", "d - d": "decimal(13, 2)", "d * e": "decimal(22, 6)", "d * 2": "decimal(13, 2)", "d + 0.001": "decimal(14, 3)",
		"d / e": "decimal(38, 6)", "d / 3": "decimal(38, 6)", "w / d": "decimal(38, 10)", "d % e": "decimal(10, 4)", "d % 10": "decimal(4, 2)",
		"w + w": "decimal(38, 10)", "w * w": "decimal(38, 20)", "-d": "decimal(12, 2)", "d * d * d": "decimal(36, 6)",
		// time
		"t - t": "duration", "t - tm": "duration", "t + 1h": "timestamp", "tm + u": "timestamp(ms)", "u + t": "timestamp", "t - 5m": "timestamp",
		"u + 1s": "duration", "u - u": "duration", "u * 2": "duration", "2 * u": "duration", "i * u": "duration", "u / 2": "duration", "-u": "duration",
		// bool
		"i == 1": "bool", "i > 1.5": "bool", "i < f": "bool", "d == 0": "bool", "d <= e": "bool", "i != d": "bool", "t < tm": "bool",
		`s >= "a"`: "bool", "b == true": "bool", "u > 5s": "bool", "!b && i > 0 || f < 1": "bool", `s in ["a", "b"]`: "bool", "i not in [1, 2.5]": "bool",
		"ni is null": "bool", "nd is not null": "bool", `t > timestamp("2026-01-31T00:00:00+01:00")`: "bool",
		// null
		"ni": "int?", "ni ?? 0": "int", "nd ?? 0": "decimal(12, 2)", "nd ?? 0.001": "decimal(13, 3)", "ni ?? 1.5": "decimal(20, 1)",
		"nf ?? 1": "float", "nf ?? i": "float", "ns ?? \"none\"": "string", "ni ?? ni": "int?", "ni ?? ni ?? 0": "int", "ni ?? null": "int?",
		"ni is not null && ni > 0": "bool", "ni is null || ni > 0": "bool", "!(ni is null) && ni > 0": "bool",
		"!(ni is null || nd is null) && ni > nd": "bool", "if ni is null then 0 else ni + 1": "int", "if ni is not null then ni else 0": "int",
		// if
		"if b then 1 else 2": "int", "if b then 1 else 2.5": "decimal(2, 1)", "if b then i else d": "decimal(21, 2)", "if b then i else f": "float",
		"if b then 1 else null": "int?", "if b then ni else 1": "int?", "if b then t else tm": "timestamp", "if b then null else d": "decimal(12, 2)?",
		// casts
		"int(f)": "int", "int(d)": "int", "int(b)": "int", "int(s)": "int", "int(ns)": "int?", "int(1.9)": "int", "int(i)": "int", "float(i)": "float",
		"float(d)": "float", "float(1.5)": "float", "string(t)": "string", "string(b)": "string", "string(nd)": "string?", "string(1.50)": "string",
		"decimal(f, 10, 2)": "decimal(10, 2)", "decimal(s, 5, 0)": "decimal(5, 0)", "decimal(nd, 9, 1)": "decimal(9, 1)?", "decimal(2.345, 5, 2)": "decimal(5, 2)",
		"timestamp(s)": "timestamp", "timestamp(tm)": "timestamp", "timestamp(nt)": "timestamp?",
	} {
		if got := exprOf(t, e).Type().String(); got != want {
			t.Errorf("%s is %s, want %s", e, got, want)
		}
	}
}

func TestTypesThatDoNotGoTogether(t *testing.T) {
	for e, want := range map[string]string{
		"i + s": "type-mismatch", "s + s": "type-mismatch", "f + d": "type-mismatch", "f < d": "type-mismatch", "if b then f else d": "type-mismatch",
		"nf ?? d": "type-mismatch", "f in [d]": "type-mismatch", "t + t": "type-mismatch", "u / u": "type-mismatch", "u * 1.5": "type-mismatch", "t * 2": "type-mismatch", "u % 2": "type-mismatch",
		"5s - t": "type-mismatch", "b < b": "type-mismatch", "!i": "type-mismatch", "-s": "type-mismatch", "-t": "type-mismatch", "i && b": "type-mismatch",
		"s == 1": "type-mismatch", "s in [1]": "type-mismatch", "t == s": "type-mismatch", "b + 1": "type-mismatch", "if i then 1 else 2": "type-mismatch",
		"null": "type-mismatch", "null ?? 1": "type-mismatch", "if b then null else null": "type-mismatch", "null is null": "type-mismatch", "int(null)": "type-mismatch",
		"int(t)": "type-mismatch", "float(b)": "type-mismatch", "timestamp(i)": "type-mismatch", "timestamp(1)": "type-mismatch", "decimal(b, 1, 0)": "type-mismatch", "s.x": "type-mismatch",
		"ni + 1": "may-be-null", "ni > 0": "may-be-null", "-ni": "may-be-null", "!nb": "may-be-null", "nb && b": "may-be-null", "i in [ni]": "may-be-null",
		"ni in [1]": "may-be-null", "i == null": "may-be-null", "i in [null]": "may-be-null", "if nb then 1 else 2": "may-be-null",
		"ni is null && ni > 0": "may-be-null", "ni is not null || ni > 0": "may-be-null", "if ni is null then ni + 1 else 0": "may-be-null",
		"i is null": "never-null", "i ?? 1": "never-null", "ni ?? 0 ?? 1": "never-null", "1 is null": "never-null",
		"i / 0": "divide-by-zero", "f / 0.0": "divide-by-zero", "d % 0": "divide-by-zero", "u / 0": "divide-by-zero", "1 / (2 - 2)": "divide-by-zero",
		"1e39": "literal-range", "f + 1e400": "literal-range", "int(1e20)": "literal-range", "decimal(12.5, 2, 1)": "literal-range", "1e99999999999": "literal-range",
		"0." + strings.Repeat("1", 39): "literal-range", "i + " + strings.Repeat("9", 500): "literal-range", "d * 0." + strings.Repeat("1", 39): "literal-range",
		"w * decimal(w, 38, 30)": "decimal-range", "i < 0." + strings.Repeat("1", 30): "type-mismatch", "w == decimal(w, 38, 20)": "type-mismatch",
		"decimal(f, 39, 2)": "bad-type", "decimal(f, 10, 11)": "bad-type", "decimal(f, i, 2)": "bad-type", "decimal(f)": "wrong-arguments", "int()": "wrong-arguments",
		"int(x: i)": "wrong-arguments", `timestamp("now")`: "bad-timestamp", `timestamp("0000-01-01T00:00:00Z")`: "bad-timestamp",
		"nope": "unknown-field", "nope(1)": "unknown-function", "nope.x": "unknown-field", "all.i": "unknown-field", "count()": "aggregate-place", "i in []": "empty-list",
		"lower(s)": "not-yet", "time()": "not-yet", `s like "a%"`: "not-yet", "[1]": "not-yet", "{ a: 1 }": "not-yet", "s[0]": "not-yet", "i in s": "not-yet", "kafka.offset": "not-yet", "kafka": "not-yet", "p.f(1)": "not-yet",
	} {
		p, diags, _ := check("let x = " + e)
		if len(diags) != 1 || diags[0].Code != want || p != nil {
			t.Errorf("%s: %v, want one %s", e, diags, want)
		}
	}
}

// An operand has the type that its operator needs: where it is widened there is a Cast, and
// a number is a constant of that type at once.
func TestWidening(t *testing.T) {
	for e, want := range map[string]string{
		"i + 1":                               "(i + 1:int):int",
		"f + 1":                               "(f + 1:float):float",
		"i + f":                               "(cast(i float) + f):float",
		"d * 2":                               "(d * 2/0:decimal(1, 0)):decimal(13, 2)",
		"d > 0":                               "d > 0/2:decimal(12, 2)",
		"d > 0.001":                           "cast(d decimal(13, 3)) > 1/3:decimal(13, 3)",
		"i < d":                               "cast(i decimal(21, 2)) < cast(d decimal(21, 2))",
		"i in [1, 2]":                         "i in [1:int, 2:int]",
		"nd ?? 0":                             "(nd ?? 0/2:decimal(12, 2)):decimal(12, 2)",
		"nd ?? 0.001":                         "(cast(nd decimal(13, 3)?) ?? 1/3:decimal(13, 3)):decimal(13, 3)",
		"if b then i else null":               "(if b cast(i int?) null):int?",
		"ni is not null && ni>0":              "(ni is not null && known(ni) > 0:int)",
		"2 * u":                               "(u * 2:int):duration",
		"5s + t":                              "(t + 5000000:duration):timestamp",
		"-1.50":                               "-150/2:decimal(3, 2)",
		"decimal(2.345, 5, 2)":                "234/2:decimal(5, 2)",
		"decimal(-2.355, 5, 2)":               "-236/2:decimal(5, 2)",
		"int(-1.9)":                           "-1:int",
		"string(1.50)":                        "cast(150/2:decimal(3, 2) string)",
		"!(b || ni is null)":                  "!(b || ni is null)",
		"-(i - 1)":                            "-(i - 1:int):int",
		"if b then t else tm":                 "(if b t cast(tm timestamp)):timestamp",
		"d + w":                               "(d + w):decimal(38, 10)",
		"nf ?? i":                             "(nf ?? cast(i float)):float",
		"int(ns)":                             "cast(ns int?)",
		"timestamp(tm) == t":                  "cast(tm timestamp) == t",
		`"a" in [s]`:                          `"a" in [s]`,
		"i == 1.0":                            "cast(i decimal(20, 1)) == 10/1:decimal(20, 1)",
		"if b then 1 else d":                  "(if b 100/2:decimal(12, 2) d):decimal(12, 2)",
		"if b then 1e11 else d":               "(if b 10000000000000/2:decimal(14, 2) cast(d decimal(14, 2))):decimal(14, 2)",
		`timestamp("1970-01-01T00:00:01.5Z")`: "1500000:timestamp",
	} {
		if got := text(exprOf(t, e)); got != want {
			t.Errorf("%s is %s, want %s", e, got, want)
		}
	}
}

// text writes an expression with the types that are not seen otherwise.
func text(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.Column:
		return e.Name
	case *ir.Const:
		switch v := e.Value.(type) {
		case nil:
			return "null"
		case *big.Int:
			return fmt.Sprintf("%s/%d:%s", v, e.T.Scale, e.T)
		case string:
			return fmt.Sprintf("%q", v)
		case bool:
			return fmt.Sprint(v)
		default:
			return fmt.Sprintf("%v:%s", v, e.T)
		}
	case *ir.Not:
		return "!" + text(e.X)
	case *ir.Neg:
		return "-" + text(e.X)
	case *ir.Arith:
		return fmt.Sprintf("(%s %c %s):%s", text(e.L), e.Op, text(e.R), e.T)
	case *ir.Compare:
		return fmt.Sprintf("%s %s %s", text(e.L), e.Op, text(e.R))
	case *ir.Logic:
		op := "&&"
		if e.Or {
			op = "||"
		}
		return fmt.Sprintf("(%s %s %s)", text(e.L), op, text(e.R))
	case *ir.In:
		var list []string
		for _, x := range e.List {
			list = append(list, text(x))
		}
		op := "in"
		if e.Neg {
			op = "not in"
		}
		return fmt.Sprintf("%s %s [%s]", text(e.X), op, strings.Join(list, ", "))
	case *ir.Coalesce:
		return fmt.Sprintf("(%s ?? %s):%s", text(e.X), text(e.Else), e.T)
	case *ir.IsNull:
		if e.Neg {
			return text(e.X) + " is not null"
		}
		return text(e.X) + " is null"
	case *ir.Cond:
		return fmt.Sprintf("(if %s %s %s):%s", text(e.If), text(e.Then), text(e.Else), e.T)
	case *ir.Cast:
		return fmt.Sprintf("cast(%s %s)", text(e.X), e.T)
	case *ir.Known:
		return "known(" + text(e.X) + ")"
	}
	return fmt.Sprintf("%T", e)
}

func TestAggregateTypes(t *testing.T) {
	for e, want := range map[string]string{
		"count()": "int", "count(ni)": "int", "count() if b": "int", "sum(i)": "int", "sum(f)": "float", "sum(d)": "decimal(38, 2)", "sum(ni)": "int?",
		"sum(d) if b": "decimal(38, 2)?", "min(d)": "decimal(12, 2)", "max(t)": "timestamp", "max(tm)": "timestamp(ms)", "min(u)": "duration", "max(nf)": "float?",
		"avg(i)": "float", "avg(f)": "float", "avg(d)": "decimal(38, 6)", "avg(w)": "decimal(38, 10)", "avg(ni)": "float?", "sum(d * i)": "decimal(38, 2)",
		"sum(ni) if ni is not null": "int?", "sum(ni + 1) if ni is not null": "int?", "sum(1)": "int", "max(i) if ns is null": "int?",
	} {
		p := mustCheck(t, "window tumbling 1m by s\n  aggregate x = "+e)
		row := p.Streams[0].Row
		if got := row[len(row)-1].Type.String(); got != want {
			t.Errorf("%s is %s, want %s", e, got, want)
		}
		if len(row) != 4 || row[0].Name != "s" || row[1].Name != "window_start" || row[2].Name != "window_end" {
			t.Errorf("the result of a window is %v", row)
		}
	}
}

// What a where has proved holds in all clauses behind it, until the field is gone.
func TestNarrowing(t *testing.T) {
	for _, clauses := range []string{
		"where ni is not null\n  let x = ni + 1",
		"where ni is not null && ni > 0\n  where ni < 10",
		"where b\n  where !(ni is null)\n  let y = 1, x = ni * y\n  select z = x + ni",
		"where ni is not null\n  select ni\n  let x = ni + 1",
		"where ni is not null\n  window tumbling 1m by ni\n  aggregate x = sum(ni)\n  where x > ni",
		"let y = ni\n  where y is not null\n  let x = y + 1",
		"where ni is not null && nd is not null\n  let x = ni + nd",
	} {
		mustCheck(t, clauses)
	}
	p := mustCheck(t, "where ni is not null\n  select ni")
	if f := p.Streams[0].Row[0]; f.Type.String() != "int" {
		t.Errorf("a field that is known to be there is selected as %s", f.Type)
	}
	for clauses, want := range map[string]string{
		"where ni is null\n  let x = ni + 1":                         "may-be-null",
		"where ni is not null || b\n  let x = ni + 1":                "may-be-null",
		"where ni is not null\n  let x = ni ?? 1":                    "never-null",
		"let y = ni\n  where ni is not null\n  let x = y + 1":        "may-be-null",
		"where b == (ni is not null)\n  let x = ni + 1":              "may-be-null",
		"where if b then ni is not null else true\n  let x = ni + 1": "may-be-null",
	} {
		_, diags, _ := check(clauses)
		if len(diags) != 1 || diags[0].Code != want {
			t.Errorf("%s: %v, want one %s", clauses, diags, want)
		}
	}
}
