package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/planner"
)

// TestTooManyWays: clauses that can refuse a record times topics for it.
func TestTooManyWays(t *testing.T) {
	program := func(clauses int) string {
		var b, from strings.Builder
		b.WriteString("type A { x: int }\n")
		for i := range 100 {
			fmt.Fprintf(&b, "source a%d: A from kafka(\"a%d\") { on_error dlq(\"d%d\") }\n", i, i, i)
			fmt.Fprintf(&from, ", a%d", i)
		}
		return b.String() + "stream s {\n  from " + from.String()[2:] + "\n" + strings.Repeat("  where x + 1 > 0\n", clauses) + "  to kafka(\"s\")\n}\n"
	}
	for clauses, fits := range map[int]bool{200: true, 201: false} {
		p, diags := dsl.Check("dir/x.eo", []byte(program(clauses)))
		if p == nil {
			t.Fatal(diags[0].Message)
		}
		g, diags := planner.Plan(p)
		if fits != (g != nil) || fits != (len(diags) == 0) {
			t.Fatalf("%d clauses: %v", clauses, diags)
		}
		if !fits && (diags[0].Code != "too-big" || diags[0].Span.File != "dir/x.eo" || diags[0].Span.Line != 304 || diags[0].Help == "") {
			t.Errorf("%d clauses: %+v", clauses, diags[0])
		}
	}
}

// TestLongTrace: the text of a key that is longer than anybody reads is its hash, and another key has another.
func TestLongTrace(t *testing.T) {
	form := func(last string) string {
		var b strings.Builder
		b.WriteString("type A { x: int }\nsource a: A from kafka(\"a\") { watermark 1s }\nstream s {\n  from a\n  let v0 = x\n")
		for i := range 100 {
			fmt.Fprintf(&b, "  let v%d = v%d + v%d\n", i+1, i, i)
		}
		b.WriteString("  let k = v100 + " + last + "\n  window tumbling 1m by k\n  aggregate n = count()\n  to kafka(\"s\")\n}\n")
		g := plan(t, "a.eo", b.String())
		for _, f := range g.State {
			if f.ID == "s/window" {
				return f.Form
			}
		}
		t.Fatal("no window")
		return ""
	}
	one := form("1")
	if len(one) > 2000 || !strings.Contains(one, "sha256(") || one != form("1") || one == form("2") {
		t.Errorf("%.3000s", one)
	}
}
