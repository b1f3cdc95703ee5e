package dsl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
)

// TestLimits: what docs/language.md names as the largest is taken, and one more is not.
func TestLimits(t *testing.T) {
	const head = "type A { x: int  ok: bool  at: timestamp }\nsource a: A from kafka(\"a\") { time at  watermark 1s }\n"
	const end = "stream z { from a  to kafka(\"z\") }\n"
	in := func(clauses string) string {
		return head + "stream s {\n  from a\n" + clauses + "  to kafka(\"s\")\n}\n"
	}
	window := func(size string) string { return in("  window tumbling " + size + " by x\n  aggregate n = count()\n") }
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	sinks := func(n int) string {
		return "stream s {\n  from a\n  to kafka(\"z\")" + repeat(n-1, ", kafka(\"k%d\")") + "\n}\n"
	}
	for _, c := range []struct {
		what, fits, not string
		code            string
	}{
		{"declarations", head + end + repeat(997, "stream s%[1]d { from a  to kafka(\"t%[1]d\") }\n"), head + end + repeat(998, "stream s%[1]d { from a  to kafka(\"t%[1]d\") }\n"), "too-big"},
		{"clauses", in(strings.Repeat("  where ok\n", 9_996)), in(strings.Repeat("  where ok\n", 9_999)), "too-big"},
		{"inputs and targets", wide(18), wide(19), "too-big"},
		{"targets of late to", wide(18) + late(160), wide(18) + late(161), "too-big"},
		{"sinks", head + sinks(1_000), head + sinks(1_001), "too-big"},
		{"fields of a type", typed(64), typed(65), "not-yet"},
		{"fields of a row", in("  let " + repeat(252, "x%d = 1, ") + "y = 1\n"), in("  let " + repeat(253, "x%d = 1, ") + "y = 1\n"), "too-big"},
		{"brackets", in("  where " + strings.Repeat("(", 99) + "ok" + strings.Repeat(")", 99) + "\n"), in("  where " + strings.Repeat("(", 100) + "ok" + strings.Repeat(")", 100) + "\n"), "nesting"},
		{"words of an expression", in("  where ok" + strings.Repeat(" && ok", 4_000) + "\n"), in("  where ok" + strings.Repeat(" && ok", 5_000) + "\n"), "nesting"},
		{"the shortest window", window("1ms"), window("999us"), "out-of-range"},
		{"the longest window", window("3650d"), window("3651d"), "out-of-range"},
		{"tasks", "job j { parallelism 128 }\n" + head + end, "job j { parallelism 129 }\n" + head + end, "out-of-range"},
		{"a topic", strings.Replace(head, `kafka("a")`, `kafka("`+strings.Repeat("a", 249)+`")`, 1) + end, strings.Replace(head, `kafka("a")`, `kafka("`+strings.Repeat("a", 250)+`")`, 1) + end, "bad-topic"},
		{"a duration", in("  where at - at < 106751d\n"), in("  where at - at < 106752d\n"), "literal-range"},
	} {
		if _, diags := dsl.Check("x.eo", []byte(c.fits)); diag.HasErrors(diags) {
			t.Errorf("%s: what fits is refused: %s [%s]", c.what, diags[0].Message, diags[0].Code)
		}
		_, diags := dsl.Check("x.eo", []byte(c.not))
		if !diag.HasErrors(diags) || diags[0].Code != c.code {
			t.Errorf("%s: want %s, got %v", c.what, c.code, diags)
		}
	}
}

// wide has n streams that read 500 others each.
func wide(n int) string {
	var b strings.Builder
	b.WriteString("type A { ok: bool  at: timestamp }\nsource a: A from kafka(\"a\") { time at  watermark 1s }\n")
	for i := range 500 {
		fmt.Fprintf(&b, "stream b%d { from a  where ok }\n", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "stream s%d {\n  from b0", i)
		for j := range 499 {
			fmt.Fprintf(&b, ", b%d", j+1)
		}
		fmt.Fprintf(&b, "\n  to kafka(\"s%d\")\n}\n", i)
	}
	return b.String()
}

// late are n streams with an input and two targets each.
func late(n int) string {
	var b strings.Builder
	b.WriteString("sink k to kafka(\"k\")\nsink j to kafka(\"j\")\n")
	for i := range n {
		fmt.Fprintf(&b, "stream w%d {\n  from a\n  window tumbling 1m by ok late to k\n  aggregate n = count()\n  to j\n}\n", i)
	}
	return b.String()
}

// TestLimitSaysWhere: of a pipeline that is too big in two ways, the place that is shown is where it is so in the way that is told.
func TestLimitSaysWhere(t *testing.T) {
	var src strings.Builder
	src.WriteString("type A { ok: bool }\nsource a: A from kafka(\"a\")\nstream s {\n  from a\n  to kafka(\"k\")")
	for i := range 1000 {
		fmt.Fprintf(&src, ", kafka(\"k%d\")", i)
	}
	src.WriteString("\n}\nstream t {\n  from a\n" + strings.Repeat("  where ok\n", 10_000) + "  to kafka(\"t\")\n}\n")
	const line = 8 + 9_998 // of the 10,001st clause: three are in front of the first where, in line 9
	_, diags := dsl.Check("x.eo", []byte(src.String()))
	if len(diags) != 1 || !strings.Contains(diags[0].Message, "10000 clauses, this one has 10004") || diags[0].Span.Line != line {
		t.Errorf("want line %d and the clauses, got %v", line, diags)
	}
}

// typed is a program whose type has n fields.
func typed(n int) string {
	var b strings.Builder
	b.WriteString("type A {\n  at: timestamp\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "  f%d: int\n", i)
	}
	return b.String() + "}\nsource a: A from kafka(\"a\") { time at }\nstream s { from a  to kafka(\"s\") }\n"
}
