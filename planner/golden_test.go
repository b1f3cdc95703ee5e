package planner_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/golden"
	"github.com/eoc-lang/eoc/planner"
)

// plan is the graph of a program that must be free of errors.
func plan(t *testing.T, file, text string) *planner.Graph {
	t.Helper()
	p, diagnostics := dsl.Check(file, []byte(text))
	for _, d := range diagnostics {
		t.Fatalf("%s:%d:%d: %s", file, d.Span.Line, d.Span.Column, d.Message)
	}
	g, diagnostics := planner.Plan(p)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return g
}

// TestPlan compares `eoc plan` of each example, as text and as a drawing, with plan.txt and plan.svg in golden/<example>.
func TestPlan(t *testing.T) {
	files, err := filepath.Glob("../examples/*.eo")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(file)
		g := plan(t, base, string(text))
		for name, write := range map[string]func(io.Writer, *planner.Graph) error{"plan.txt": planner.WriteText, "plan.svg": planner.WriteSVG} {
			var b bytes.Buffer
			if err := write(&b, g); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Join("../golden", strings.TrimSuffix(base, ".eo"), name), b.Bytes())
		}
	}
}
