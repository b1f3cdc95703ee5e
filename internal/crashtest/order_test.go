//go:build unix

package crashtest

import (
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// TestJudgedOrder: a test demands the order of windows only where it is promised, and none may come twice.
func TestJudgedOrder(t *testing.T) {
	const text = `type Pay { shop: string  currency: string  amount: int  at: timestamp }
source pays: Pay from kafka("pays") { time at  watermark 1s }
stream sums {
  from      pays
  window    tumbling 1m by shop, currency
  aggregate total = sum(amount)
  to        full, part, twice
}
sink full to kafka("full") { key shop, currency }
sink part to kafka("part") { key shop }
sink twice to kafka("twice") { key shop, currency  deliver at_least_once }
`
	program, diagnostics := dsl.Check("pays.eo", []byte(text))
	if program == nil {
		t.Fatal(diagnostics)
	}
	graph, diagnostics := planner.Plan(program)
	if graph == nil {
		t.Fatal(diagnostics)
	}
	run := &test{Options: Options{Graph: graph}}
	run.want = reference.Run(graph, reference.Input{})
	if err := run.findOutputs(); err != nil {
		t.Fatal(err)
	}
	for _, o := range run.outputs {
		if o.ordered != (o.id == "full") {
			t.Errorf("%s: its order is judged: %v", o.id, o.ordered)
		}
	}
	if len(run.outputs) != 3 {
		t.Errorf("outputs are %+v", run.outputs)
	}
}
