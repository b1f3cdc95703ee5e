package syntax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/diag"
)

// samples are the whole surface and the examples.
func samples(t testing.TB) map[string]string {
	files, err := filepath.Glob("../../../examples/*.eo")
	if err != nil || len(files) < 3 {
		t.Fatal("no examples", err)
	}
	out := map[string]string{}
	for _, f := range append(files, "testdata/surface.eo") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(b)
	}
	return out
}

func render(faults []diag.Diagnostic, src string) string {
	var b bytes.Buffer
	if err := diag.Render(&b, faults, []byte(src), false); err != nil {
		panic(err)
	}
	return b.String()
}

func mustParse(t testing.TB, src string) *File {
	t.Helper()
	f, faults := Parse("x.eo", []byte(src))
	if faults != nil {
		t.Fatalf("%s\nin:\n%s", render(faults, src), src)
	}
	return f
}

var positions = regexp.MustCompile(`"(Pos|EndPos|At|Open)":\{[^}]*\},?`)

// tree is the syntax tree as text, without positions.
func tree(f *File) string {
	var s strings.Builder
	Walk(f.Decls, func(n any) { fmt.Fprintf(&s, "%T ", n) })
	j, err := json.Marshal(f.Decls)
	if err != nil {
		panic(err)
	}
	return s.String() + positions.ReplaceAllString(string(j), "")
}

// places says of every comment before which token it stands, and whether alone on its line.
func places(f *File) string {
	var s strings.Builder
	for _, c := range f.Comments {
		fmt.Fprintf(&s, "%d %s %v\n", c.Next, c.Text, c.Own)
	}
	return s.String()
}

// roundTrip formats and demands the same tree, the same comments and nothing left to format.
func roundTrip(t testing.TB, src string) string {
	t.Helper()
	f := mustParse(t, src)
	once := Format(f)
	g := mustParse(t, once)
	if a, b := tree(f), tree(g); a != b {
		t.Fatalf("another tree after fmt\n%s\n%s\nsource:\n%s\nfmt:\n%s", a, b, src, once)
	}
	if a, b := places(f), places(g); a != b {
		t.Fatalf("comments moved\n%s\n%s\nsource:\n%s\nfmt:\n%s", a, b, src, once)
	}
	if twice := Format(g); twice != once {
		t.Fatalf("fmt is not idempotent\n%s\n%s", once, twice)
	}
	return once
}

func TestSamplesParse(t *testing.T) {
	for name, src := range samples(t) {
		if once := roundTrip(t, src); name != "surface.eo" && once != src {
			t.Errorf("%s is not formatted:\n%s", name, once)
		}
	}
}

// Every word with a meaning somewhere is a name everywhere else.
func TestWordsAsNames(t *testing.T) {
	all := "from to key window top where select let by on in like is not as then else late grace every group left full join latest " +
		"dedup flatten aggregate desc ties per asof within before after given expect crash nothing type stream source sink job test use " +
		"format union distinct kafka was all" // not if and map: they begin an expression, a type
	words := strings.Fields(all)
	for _, w := range words[:less(len(words), 8)] {
		r := strings.NewReplacer("W", w, "~", "`")
		roundTrip(t, r.Replace(`
use W "example.com/x"
type W { W: string  from: W?  W2: W = "x"  W3: int from W  W4: { W: W } }
type U = union by W { "a": W  else: W }
source W: W from kafka("t") { time W  key W }
table W5: W from kafka("t") { key W, W  format json }
stream W was W {
  from W, a, W.W
}
`))
		roundTrip(t, r.Replace(`
stream W {
  from      W
  let       a = W, W = 1, b = W + W, W = f(W, W: W).W
  where     W > 0 && !W && -W < W.W && f(W) == W[W]
  select    W, a, W = W,
            W,
            W
  dedup     by W, W within 1h
  flatten   W as W
  left join W as W on W.W == W within 1h late to W
  join      W on W == W
  group     by W, W = W
  latest by W
  aggregate W = W(W), W if W, n = count(distinct W)
  top       3 by W desc, W ties per W, W as W
  to        W if W, W else
}
stream b {
  from W
  window tumbling 1m grace 1s by W, W late to W
  where
    W == 1
  select
    W,
    W
}
stream c { from W  where W == 1  select W, ~W~  window tumbling 1m by ~W~ late to ~W~  to W, W }
sink W to W { key W  headers { W: W, W: 1 } }
job W { W W }
test "t" {
  given W @00:00 { W: 1, W: W }
  expect W { W: 1 }
  expect W nothing
}
`))
	}
}

func TestLayout(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"from a\n where x > 0\n to b", "from where to"},
		{"from a\n where x >\n   to.y\n to b", "from where to"},
		{"from a\n where x\n   && top < 3\n   && y\n to b", "from where to"},
		{"from a\n where -x > 0", "from where"},
		{"from a\n where (x > 0)", "from where"},
		{"from a\n where f(\n   to,\n   from\n )\n to b", "from where to"},
		{"from a\n where x\n   - y > 0", "from where"},
		{"from a\n select x,\n   to,\n   from\n to b", "from select to"},
		{"from a\n select x,\n   window = y\n to b", "from select to"},
		{"from a\n let\n   top = 1,\n   to = 2\n to b", "from let to"},
		{"from in\n where in in [1]\n to in", "from where to"},
		{"from a\n window tumbling 1m\n   by x\n   late to b\n aggregate n = count()", "from window aggregate"},
		{"from a\n join b on a.x == b.x in window\n to c", "from join to"},
		{"from a\n where x\n (y)", "syntax"},
		{"from a where x", "clause-line"},
		{"from a\n where x to b", "clause-line"},
	} {
		src := "stream s {\n " + c.body + "\n}\n"
		f, faults := Parse("x.eo", []byte(src))
		var got []string
		if faults != nil {
			got = append(got, faults[0].Code)
		} else {
			for _, c := range f.Decls[0].(*Stream).Clauses {
				got = append(got, WordOf(c))
			}
			roundTrip(t, src)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q: %s, want %s", c.body, s, c.want)
		}
	}
}

func TestOneLineStream(t *testing.T) {
	src := "stream s { from a, b  where to > 1 && `top` < 2  window tumbling 1m by x late to l  aggregate n = count()  to c }\n"
	if got := roundTrip(t, src); got != src {
		t.Errorf("got %s", got)
	}
	if n := len(mustParse(t, src).Decls[0].(*Stream).Clauses); n != 5 {
		t.Errorf("%d clauses, want 5", n)
	}
}

func TestPrecedence(t *testing.T) {
	for src, want := range map[string]string{
		"a ?? 0 > 3 && b || c":         "(((a ?? 0) > 3) && b) || c",
		"a + b * c - d":                "(a + (b * c)) - d",
		"a - b - c":                    "(a - b) - c",
		"a ?? b ?? c":                  "(a ?? b) ?? c",
		"!a && -b < c":                 "(!a) && ((-b) < c)",
		"x not in [1, 2] && y is null": "(x not in [1, 2]) && (y is null)",
		"if a then b else c + d":       "if a then b else (c + d)",
		"a || b && c == d":             "a || (b && (c == d))",
	} {
		wrap := func(e string) string { return "stream s {\n from a\n where " + e + "\n}\n" }
		if a, b := tree(mustParse(t, wrap(src))), tree(mustParse(t, wrap(want))); a != b {
			t.Errorf("%s is not %s", src, want)
		}
	}
}

// A fault in one declaration hides no fault in another, and one in a clause none in the next.
func TestSeveralFaults(t *testing.T) {
	for src, want := range map[string]string{
		"type A { x int }\nstream b {\n  from a\n  were x\n\nsource c: C from kafka(\"c)\nsteam d {\n}\n" +
			"type Right { x: int }\n// fine\nstream e {\n  to x\n  to y\n}\n": "syntax unknown-clause unclosed-text clause-order",
		"stream s {\n  from a\n  where x >\n  let y z\n  select 1 2\n  to b\n}\n":               "dangling-operator syntax syntax",
		"stream s {\n  from a # b\n  where x ; y\n  to b c\n}\n":                                "reserved-character reserved-character syntax",
		"source a: A from kafka(\"a\") {\n  time\n  watermark 1.5s\n  start == 1\n  idle 1s\n}": "incomplete bad-number syntax",
		"type A {\n  x int\n  y: string\n  z decimal(1, 2)\n}\n":                                "syntax syntax",
		"stream s {\n  from a\n  where (x\n  let y = 1\n  to b\n}\n":                            "missing-bracket",
	} {
		_, faults := Parse("e.eo", []byte(src))
		var got []string
		for _, d := range faults {
			got = append(got, d.Code)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("got %s, want %s, in\n%s%s", s, want, src, render(faults, src))
		}
	}
}

// What is left of a declaration that has a fault: of a stream what stands before it, of others all the rest.
func TestWhatIsRightSurvives(t *testing.T) {
	src := "stream s {\n  from a\n  where x > 1\n  let y z\n  to b\n}\ntype A {\n  x: int\n  y string\n  z: bool\n}\nsource : A\nsink b to {\n"
	f, _ := Parse("x.eo", []byte(src))
	if len(f.Decls) != 2 || !f.Broken[f.Decls[0]] || !f.Broken[f.Decls[1]] {
		t.Fatalf("%d declarations, want a broken stream and a broken type", len(f.Decls))
	}
	if n := len(f.Decls[0].(*Stream).Clauses); n != 2 {
		t.Errorf("%d clauses, want 2", n)
	}
	if n := len(f.Decls[1].(*Type).Fields); n != 2 {
		t.Errorf("%d fields, want 2", n)
	}
	if len(f.Lost) != 1 || f.Lost[0].String() != "b" {
		t.Errorf("lost %v, want b", f.Lost)
	}
}

// The text of a node is that of the formatter, on one line.
func TestLine(t *testing.T) {
	f := mustParse(t, "stream s {\n from a\n let x=- f ( b [ 0 ] ) // why\n   +c.d, y = [1,2]\n to k( \"t\" ) {key a} if x, z else\n}\n")
	var got []string
	for _, c := range f.Decls[0].(*Stream).Clauses {
		got = append(got, f.Line(c.Span()))
	}
	want := []string{"from a", "let x = -f(b[0]) + c.d, y = [1, 2]", `to k("t") if x, z else`}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}
