package dsl_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/internal/race"
)

// checkSoundly checks any text and demands what holds for all: no panic, a program or an error, known codes, and a
// program that fits together.
func checkSoundly(t testing.TB, src string) {
	p, diags := dsl.Check("x.eo", []byte(src))
	if (p == nil) != diag.HasErrors(diags) {
		t.Fatalf("program %t, errors %v, of\n%s", p != nil, diags, src)
	}
	codes := diag.Codes()
	for _, d := range diags {
		if !slices.Contains(codes, d.Code) || d.Message == "" {
			t.Fatalf("%+v is not explained, of\n%s", d, src)
		}
	}
	var out bytes.Buffer
	if err := diag.Render(&out, diags, []byte(src), true); err != nil {
		t.Fatal(err)
	}
	if p != nil {
		sound(t, p)
	}
}

// sound looks at what codegen relies on.
func sound(t testing.TB, p *dsl.Program) {
	for _, s := range p.Streams {
		if len(s.From.Inputs) == 0 {
			t.Errorf("%s reads nothing", s.Name)
		}
		row := s.From.Row
		for i, c := range s.Clauses {
			switch c := c.(type) {
			case *dsl.Where:
				soundExpr(t, c.Cond, row)
			case *dsl.Let:
				for _, item := range c.Items {
					soundExpr(t, item.Expr, c.Row)
				}
			case *dsl.Select:
				for _, item := range c.Items {
					soundExpr(t, item.Expr, row)
				}
			case *dsl.Window:
				if _, ok := s.Clauses[i+1].(*dsl.Aggregate); !ok || c.Size <= 0 {
					t.Errorf("window %+v", c)
				}
				for _, item := range c.By {
					soundExpr(t, item.Expr, row)
				}
			case *dsl.Aggregate:
				for _, item := range c.Items {
					soundExpr(t, item.Arg, row)
					soundExpr(t, item.If, row)
				}
			case *dsl.To:
				for _, r := range c.Routes {
					soundExpr(t, r.If, row)
					if r.Sink == nil || len(r.Sink.Row) != len(row) {
						t.Errorf("route %+v", r)
					}
				}
			}
			row = c.Out()
		}
		if s.Windowed == (s.Clauses == nil) && len(s.Row) == 0 {
			t.Errorf("stream %+v", s)
		}
	}
	for _, s := range p.Sinks {
		for _, k := range s.Key {
			soundExpr(t, k.Expr, s.Row)
		}
	}
}

// soundExpr: columns are those of the row, and operands have the types that operators need.
func soundExpr(t testing.TB, e ir.Expr, row ir.Row) {
	switch e := e.(type) {
	case nil:
	case *ir.Column:
		if e.Index < 0 || e.Index >= len(row) || row[e.Index].Name != e.Name || row[e.Index].Type != e.T {
			t.Errorf("column %+v of %v", e, row)
		}
	case *ir.Const:
		if e.T.Kind == 0 || (e.Value == nil) != (e.Value == nil && e.T.Null) {
			t.Errorf("constant %+v", e)
		}
	case *ir.Not:
		soundExpr(t, e.X, row)
		hasKind(t, e.X, ir.Bool)
	case *ir.Neg:
		soundExpr(t, e.X, row)
	case *ir.Arith:
		soundExpr(t, e.L, row)
		soundExpr(t, e.R, row)
		if l, r := e.L.Type(), e.R.Type(); l.Null || r.Null || (e.T.Kind != ir.Duration && e.T.Kind != ir.Timestamp) && (l.Kind != r.Kind || l.Kind != e.T.Kind) {
			t.Errorf("%s: operands %s and %s", text(e), l, r)
		}
	case *ir.Compare:
		soundExpr(t, e.L, row)
		soundExpr(t, e.R, row)
		if l, r := e.L.Type(), e.R.Type(); l.Null || r.Null || l.Kind != r.Kind || l.Scale != r.Scale {
			t.Errorf("%s: operands %s and %s", text(e), l, r)
		}
	case *ir.Logic:
		soundExpr(t, e.L, row)
		soundExpr(t, e.R, row)
		hasKind(t, e.L, ir.Bool)
		hasKind(t, e.R, ir.Bool)
	case *ir.In:
		soundExpr(t, e.X, row)
		for _, x := range e.List {
			soundExpr(t, x, row)
			if a, b := x.Type(), e.X.Type(); a.Null || b.Null || a.Kind != b.Kind || a.Scale != b.Scale {
				t.Errorf("%s: operands %s and %s", text(e), a, b)
			}
		}
	case *ir.Coalesce:
		soundExpr(t, e.X, row)
		soundExpr(t, e.Else, row)
		if e.X.Type() != e.T.Nullable() || e.Else.Type() != e.T {
			t.Errorf("%s: %s ?? %s", text(e), e.X.Type(), e.Else.Type())
		}
	case *ir.IsNull:
		soundExpr(t, e.X, row)
	case *ir.Cond:
		soundExpr(t, e.If, row)
		soundExpr(t, e.Then, row)
		soundExpr(t, e.Else, row)
		hasKind(t, e.If, ir.Bool)
		if e.Then.Type() != e.T || e.Else.Type() != e.T {
			t.Errorf("%s: branches %s and %s", text(e), e.Then.Type(), e.Else.Type())
		}
	case *ir.Cast:
		soundExpr(t, e.X, row)
		if e.X.Type().Null && !e.T.Null || e.X.Type() == e.T {
			t.Errorf("%s: %s to %s", text(e), e.X.Type(), e.T)
		}
	case *ir.Known:
		soundExpr(t, e.X, row)
		if _, ok := e.X.(*ir.Column); !ok || !e.X.Type().Null {
			t.Errorf("%s", text(e))
		}
	}
}

func hasKind(t testing.TB, e ir.Expr, k ir.Kind) {
	if e.Type().Kind != k || e.Type().Null {
		t.Errorf("%s is %s", text(e), e.Type())
	}
}

// seeds are the examples, the cases of errors and clauses with many forms of expressions.
func seeds(t testing.TB) []string {
	var out []string
	for _, src := range examples(t) {
		out = append(out, string(src))
	}
	for _, a := range errorCases(t) {
		out = append(out, string(a.Files[0].Data))
	}
	for _, e := range []string{"i + 1.5", "(ni ?? d) * -2 > w && b || nb is null", "if ns is null then \"x\" else ns", "decimal(s, 5, 2) % d in [1, 2.5, i]", "t - tm + 2 * u"} {
		_, _, src := check("let x = " + e)
		out = append(out, src)
	}
	return out
}

func TestSeedsAreSound(t *testing.T) {
	for _, src := range seeds(t) {
		checkSoundly(t, src)
	}
}

func FuzzCheck(f *testing.F) {
	for _, src := range seeds(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) { checkSoundly(t, src) })
}

// One fault gives one error, whatever depends on it.
func TestNoConsequences(t *testing.T) {
	const rest = "type A { x: int  y: string?  at: timestamp }\nsource a: A from kafka(\"a\") { time at  watermark 1s }\n"
	for src, want := range map[string]string{
		"stream s { from nope  where p > 1  let q = r + 1  select q, z  window tumbling 1m by z  aggregate n = sum(q)  where n > 1  to kafka(\"t\") { key z } }\nstream u { from a  to kafka(\"u\") }": "unknown-stream",
		"stream s { from a  let q = nope + 1, r = q * 2  where r > q  select r, x  to kafka(\"t\") { key r } }":                                                                                        "unknown-field",
		"stream s { from a  let q = x + at }\nstream t { from s  let z = q && q, w = q ?? 1  to kafka(\"t\") }":                                                                                        "type-mismatch",
		"stream s { from a  flatten x as q  let z = q.r + 1  window tumbling 1m by z  aggregate n = max(z), m = nope(z) }\nstream t { from s  where n > 1  to kafka(\"t\") }":                          "not-yet",
		"stream s {\n  from a\n  were x > 1\n  let z = q\n  to out\n}\nsink out to kafka(\"t\") { key q }\nsource b: B from kafka(\"b\") { time at\n}\ntype B { x int }":                               "unknown-clause syntax",
		"stream s { from b  where q > 1  to kafka(\"t\") }\nsource b: B from kafka(\"b\") { time q }\nstream u { from a  to kafka(\"u\") }":                                                            "unknown-type",
		"stream s { from b  let c = q + 1  to kafka(\"t\") }\nsource b: B from kafka(\"b\")\ntype B { q: []int }\nstream u { from a  to kafka(\"u\") }":                                                "not-yet",
		"stream s { from t }\nstream t { from s  where q > 1 }\nstream u { from a, t  to kafka(\"u\") { key q } }":                                                                                     "cycle",
		"stream s { from a  window tumbling 1m by x  aggregate n = som(x)  where n > 1  to kafka(\"s\") { key n } }":                                                                                   "bad-aggregate",
		"stream s { from a  where x  to nope }\nstream u { from a  to kafka(\"u\") }":                                                                                                                  "type-mismatch unknown-sink",
		"stream s { from a  join c as d on d.x == x within 1m  where d.x > 1  select x, d.y  to out }\nsink out to kafka(\"o\") { key x }":                                                             "not-yet",
		"table c: A from kafka(\"c\") { key x }\nstream s { from c  where q > 1  to kafka(\"o\") }\nstream u { from a  to kafka(\"u\") }":                                                              "not-yet",
		"stream s { from a  select x, x + 1  to kafka(\"o\") { key z } }":                                                                                                                              "unnamed",
		"stream s { from a  where y > \"1\" && y < \"2\"  to kafka(\"o\") }":                                                                                                                           "may-be-null may-be-null",
	} {
		_, diags := dsl.Check("x.eo", []byte(rest+src+"\n"))
		var got []string
		for _, d := range diags {
			got = append(got, d.Code)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("got %s, want %s, of\n%s\n%+v", s, want, src, diags)
		}
	}
}

// Whatever fills a file, checking it ends: see the test of the same name for the parser.
func TestFullFiles(t *testing.T) {
	size := 1 << 15
	if race.Enabled {
		size >>= 3
	}
	const head = "type A { x: int  n: int? }\nsource a: A from kafka(\"a\")\n"
	for _, part := range [][3]string{
		{"stream s {\n  from a\n", "  let x = x + 1\n", "}\n"},
		{"stream s {\n  from a\n", "  where n is not null\n", "}\n"},
		{"stream s {\n  from a\n  where true", " && n is not null", "}\n"},
		{"stream s {\n  from a\n  where true", " || nope > 1", "}\n"},
		{"stream s {\n  from ", "b,", "a }\n"},
		{"stream s {\n  from a\n  to ", "b,", "a }\n"},
		{"stream s {\n  from a\n  select ", "n,", "x }\n"},
		{"", "stream s { from t  to a }\n", ""},
		{"type B {", "x: y ", "}\n"},
	} {
		n := (size - len(head) - len(part[0])) / len(part[1])
		checkSoundly(t, head+part[0]+strings.Repeat(part[1], n)+part[2])
	}
	var chain strings.Builder
	chain.WriteString(head + "stream s0 { from a }\n")
	for i := range 900 {
		name := func(i int) string { return "s" + strings.Repeat("x", i/30) + string(rune('a'+i%30)) }
		chain.WriteString("stream " + strings.ReplaceAll(name(i+1), "{", "_") + " { from a }\n")
	}
	checkSoundly(t, chain.String())
}
