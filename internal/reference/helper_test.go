package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/planner"
)

// graph is the graph of a program that must be free of errors.
func graph(t testing.TB, text string) *planner.Graph {
	t.Helper()
	p, diagnostics := dsl.Check("test.eo", []byte(text))
	for _, d := range diagnostics {
		t.Fatalf("test.eo:%d:%d: %s %s", d.Span.Line, d.Span.Column, d.Message, d.Label)
	}
	g, _ := planner.Plan(p)
	return g
}

// stamp is the Kafka timestamp of records of which a test says none: 2026-01-01T00:00:00Z.
const stamp = 1767225600_000_000

// values makes a partition of records with these values; "null" as a Go string is no Kafka null.
func values(texts ...string) []Record {
	var records []Record
	for i, text := range texts {
		records = append(records, Record{Value: []byte(text), Offset: int64(i), Time: stamp})
	}
	return records
}

// sink lists what a sink got, sorted, key and value.
func (r *Result) sink(name string) string {
	var lines []string
	for _, o := range r.Sinks[name] {
		line := string(o.Value)
		if o.Key != nil {
			line = string(o.Key) + " " + line
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// counts lists counts as `operator name topic/partition n`, those named out and read left out.
func (r *Result) counts() string {
	var lines []string
	for _, c := range slices.SortedFunc(maps.Keys(r.Counts), byName) {
		if c.Name != "out" && c.Name != "read" {
			lines = append(lines, fmt.Sprintf("%s %s %d: %d", c.Operator, c.Name, c.Partition, r.Counts[c]))
		}
	}
	return strings.Join(lines, "\n")
}

// equal compares texts line by line, without blanks around lines.
func equal(t *testing.T, what, got, want string) {
	t.Helper()
	tidy := func(s string) string {
		var lines []string
		for line := range strings.Lines(strings.TrimSpace(s)) {
			lines = append(lines, strings.TrimSpace(line))
		}
		return strings.Join(lines, "\n")
	}
	if got, want := tidy(got), tidy(want); got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}
