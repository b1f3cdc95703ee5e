package judge

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/planner"
)

// TestOrdered holds what is judged against what is promised: results of one window and one of its keys, and no others.
func TestOrdered(t *testing.T) {
	const head = `type Pay { shop: string  currency: string  code: int?  amount: int  hour: timestamp(ms)  at: timestamp }
source pays: Pay from kafka("pays") { time at  watermark 1s }
`
	const window = "stream sums { from pays  window tumbling 1m by shop, currency  aggregate total = sum(amount), n = count() "
	for _, c := range []struct {
		what, text string
		want       bool
	}{
		{"all keys of the window", window + `to kafka("out") { key shop, currency } }`, true},
		{"in another order, and more", window + `to kafka("out") { key n, currency, shop } }`, true},
		{"a part of the keys", window + `to kafka("out") { key shop } }`, false},
		{"no key", window + `to kafka("out") }`, false},
		{"keys by other names", window + `let s = shop, again = s  select c = currency, again, n  to kafka("out") { key c, again } }`, true},
		{"a key that was changed", window + `let s = if shop == "a" then "b" else shop  to kafka("out") { key s, currency } }`, false},
		{"a key that has another's name", window + `select shop = currency, currency = shop, n  to kafka("out") { key shop } }`, false},
		{"both under each other's name", window + `select shop = currency, currency = shop, n  to kafka("out") { key shop, currency } }`, true},
		{"behind where and routes", window + `where n > 1  to kafka("out") { key shop, currency } if total > 3, kafka("x") else }`, true},
		{"a window without keys", `stream sums { from pays  window tumbling 1m  aggregate n = count()  to kafka("out") { key n } }`, true},
		{"a key that may be null", `stream sums { from pays  window tumbling 1m by code  aggregate n = count()  to kafka("out") { key code } }`, true},
		{"and is known not to be", `stream sums { from pays  window tumbling 1m by code  aggregate n = count()  where code is not null  to kafka("out") { key code } }`, true},
		{"a key that is cut when it is written", `stream sums { from pays  window tumbling 1m by hour  aggregate n = count()  to kafka("out") { key hour } }`, false},
		{"two windows", window + "to sums_out }\n" + `stream slow { from pays  window tumbling 1m by shop, currency grace 1m  aggregate total = sum(amount), n = count()  to sums_out }
sink sums_out to kafka("out") { key shop, currency }`, false},
		{"records", `stream s { from pays  to kafka("out") { key shop, currency } }`, false},
		{"late records beside results", `stream s { from pays  select shop, at  window tumbling 1m by shop late to both  aggregate at = max(at)  select shop, at  to both }
sink both to kafka("out") { key shop }`, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := ordered(t, head+c.text, "out"); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	for file, topic := range map[string]string{"orders": "user-totals", "payments": "merchant-turnover"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", file+".eo"))
		if err != nil {
			t.Fatal(err)
		}
		if !ordered(t, string(text), topic) {
			t.Errorf("%s is not judged, and with it most of what tests with a real Kafka see of order", file)
		}
	}
}

// ordered asks for the sink of a topic.
func ordered(t *testing.T, text, topic string) bool {
	t.Helper()
	program, diagnostics := dsl.Check("x.eo", []byte(text))
	if program == nil {
		t.Fatal(diagnostics)
	}
	graph, diagnostics := planner.Plan(program)
	if graph == nil {
		t.Fatal(diagnostics)
	}
	for _, n := range graph.Nodes {
		if s, ok := n.Op.(*planner.Sink); ok && s.Topic.Text == topic {
			return Ordered(n)
		}
	}
	t.Fatalf("no sink of %s", topic)
	return false
}
