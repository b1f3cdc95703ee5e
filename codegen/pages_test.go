package codegen_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/eoc-lang/eoc/internal/pages"
	"github.com/eoc-lang/eoc/planner"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestScenariosOfPages plays what the documentation says of records and results: a block `scenario` has the form of
// run.txtar, see TestScenarios, and is played by the last program above it that has a name.
func TestScenariosOfPages(t *testing.T) {
	list, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	m := newModule(t)
	scenarios := map[string]scenario{} // by place
	for _, p := range list {
		var g *planner.Graph
		var name string
		for _, b := range p.Blocks {
			switch {
			case b.Lang == "eo" && b.File() != "":
				g, name = planText(t, filepath.Base(b.File()), []byte(b.Text)), fmt.Sprintf("page%d", len(m.names))
				m.add(t, name, g)
			case b.Lang == "scenario" && g == nil:
				t.Errorf("%s: no program above it has a name", b.Place())
			case b.Lang == "scenario":
				s := parseScenario(t, txtar.Parse([]byte(b.Text)))
				s.Pipeline, s.SinkTopics = name, sinkTopics(g)
				scenarios[b.Place()] = s
			}
		}
	}
	const few = 5
	if len(scenarios) < few {
		t.Fatalf("%d scenarios in all", len(scenarios))
	}
	m.addRunner(t)
	runner := filepath.Join(m.dir, "run")
	m.run(t, "build", "-o", runner, "./runner")
	for place, s := range scenarios {
		t.Run(place, func(t *testing.T) { s.check(t, runner, place) })
	}
}
