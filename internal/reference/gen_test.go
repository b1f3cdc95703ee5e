package reference

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/planner"
)

// allTypes has a field of every type, and everything that can be said about missing ones.
const allTypes = `type T {
  k: string  ks: string?  b: bool  i: int  id: int = 3  f: float?  d: decimal(12, 2)  w: decimal(38, 10)?  l: duration?
  at: timestamp  ms: timestamp(ms)?  ns: timestamp(ns)?  us: timestamp(us)?  s: timestamp(s)?
}
source src: T from kafka("t") { time at  watermark 5s  on_error dlq("dead") }
source other: T from kafka("o") { time ms ?? at  watermark 1s  skew 1m  on_error skip  on_null skip }
stream rows { from src, other
  let   half = d / 2, next = i + 1
  where b
  to    all, big if d > 100, negative if i < 0, nowhere else }
stream windows { from rows
  window tumbling 10s by k, ks, l offset 3s grace 2s late to late
  aggregate n = count(), i = sum(i), d = avg(d), w = sum(w), f = sum(f) if f > 1, last = max(at), ns = min(ns)
  where n > 1
  to results }
sink all to kafka("all") { key k, i }
sink big to kafka("big") { key k }
sink negative to kafka("negative") { key i }
sink nowhere to kafka("nowhere") {}
sink late to kafka("late") {}
sink results to kafka("results") { key k, ks }
`

// TestGenerated runs random records through pipelines: every record must be accounted for in every clause, and
// every kind of thing that the generator is there for must have happened.
func TestGenerated(t *testing.T) {
	texts := map[string]string{"all types": strings.Replace(allTypes, "if f > 1", "if (f ?? 0) > 1", 1)}
	files, err := filepath.Glob("../../examples/*.eo")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(f)] = string(text)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			g := graph(t, text)
			const seed = 1
			gen := Gen{Records: 1500, Partitions: 3, Keys: 20}
			input := gen.Input(seed, g)
			if !reflect.DeepEqual(input, gen.Input(seed, g)) {
				t.Error("one seed makes different records")
			}
			r := Run(g, input)
			conserved(t, g, r)
			if !reflect.DeepEqual(r, Run(g, input)) {
				t.Error("one input has different results")
			}
			happened := map[string]int64{}
			for c, n := range r.Counts {
				happened[c.Name] += n
			}
			want := []string{"read", "null", "rejected", "out"}
			if slices.ContainsFunc(g.Nodes, func(n *planner.Node) bool { return n.Kind() == "window" }) {
				want = append(want, "ahead", "late", "aggregated")
			}
			for _, name := range want {
				if happened[name] == 0 {
					t.Errorf("nothing was %s: %v", name, happened)
				}
			}
			if share := happened["rejected"] * 10 / happened["read"]; share > 2 {
				t.Errorf("%d of %d records were rejected", happened["rejected"], happened["read"])
			}
			for _, n := range g.Nodes {
				if n.Kind() == "sink" && len(r.Sinks[n.ID]) == 0 {
					t.Errorf("sink %s got nothing", n.ID)
				}
			}
		})
	}
}

// conserved checks for each clause and partition: what came in is what went out, and what became of the rest.
func conserved(t *testing.T, g *planner.Graph, r *Result) {
	t.Helper()
	type place struct {
		topic     string
		partition int32
	}
	for _, n := range g.Nodes {
		in, out := map[place]int64{}, map[place]int64{}
		for c, count := range r.Counts {
			p := place{c.Topic, c.Partition}
			isResult := n.Kind() == "window" && c.Partition == -1
			switch {
			case c.Operator == n.ID && c.Name == "read":
				in[p] += count
			case c.Operator == n.ID && c.Name != "ahead" && !isResult:
				out[p] += count
			}
			for _, from := range n.In {
				if c.Operator == from.ID && c.Name == passed(from, n) {
					in[p] += count
				}
			}
		}
		branch := slices.ContainsFunc(n.In, func(from *planner.Node) bool { return from.Kind() == "route" })
		if branch || n.Kind() == "dead-letter" {
			continue // what goes there is not counted apart
		}
		if !reflect.DeepEqual(in, out) {
			t.Errorf("%s: in %v, out %v", n.ID, in, out)
		}
	}
}

// passed is the count of from that says how many rows it sent to n.
func passed(from, n *planner.Node) string {
	for _, e := range from.Out {
		if e.To == n && e.Kind == planner.Late {
			return "late"
		}
	}
	return "out"
}

// TestGoodRecordsOnly: a source that a bad record would stop gets none.
func TestGoodRecordsOnly(t *testing.T) {
	text := strings.NewReplacer(`on_error dlq("dead")`, "on_error fail  on_null fail", "on_error skip  on_null skip", "on_null fail", "if f > 1", "if (f ?? 0) > 1").Replace(allTypes)
	for seed := range uint64(3) {
		g := graph(t, text)
		input := Gen{Records: 500}.Input(seed, g)
		for _, f := range Run(g, input).Failures {
			if f.Class == Malformed || f.Class == NullValue {
				t.Fatalf("seed %d: %s: %s", seed, f, input["src"][f.Partition][f.Offset].Value)
			}
		}
		if r := Run(g, Gen{Records: 500, Stop: true}.Input(seed, g)); len(r.Failures) == 0 {
			t.Errorf("seed %d: Stop made no bad record", seed)
		}
	}
}
