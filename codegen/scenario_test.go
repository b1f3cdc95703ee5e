package codegen_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/planner"
	"github.com/eoc-lang/eoc/runtime/rttest"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestScenarios plays golden/<example>/run.txtar. Each section is a step:
//
//	-- partitions orders 2 --    how many a topic has; 1 unless said, and before anything else
//	-- send orders/0 --          a record's value on each line, or null; a time in front is its Kafka timestamp
//	-- checkpoint --
//	-- crash, restart with 3 --  everything since the checkpoint is lost, and read again by as many tasks
//	-- idle orders/1 --          the partition stops holding windows open
//	-- end --                    of the input: every window closes
//	-- expect user-totals --     all that the topic has by now, in any order: `key value` on each line; of a dead
//	                             letter, behind it, who refused which record
//	-- counts --                 what became of the records, all but `read` and `out`
//
// The expectations are written by hand.
func TestScenarios(t *testing.T) {
	m := newModule(t)
	graphs := map[string]*planner.Graph{}
	for _, name := range examples(t) {
		graphs[name] = plan(t, filepath.Join(root, "examples", name+".eo"))
		m.add(t, name, graphs[name])
	}
	m.addRunner(t)
	runner := filepath.Join(m.dir, "run")
	m.run(t, "build", "-o", runner, "./runner")
	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(root, "golden", name, "run.txtar")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := parseScenario(t, txtar.Parse(data))
			s.Pipeline, s.SinkTopics = name, sinkTopics(graphs[name])
			s.check(t, runner, path)
		})
	}
}

// check plays a scenario, which stands at place, and compares what it shows.
func (s scenario) check(t *testing.T, runner, place string) {
	t.Helper()
	out := play(t, runner, s.script)
	if out.Error != "" {
		t.Fatal(out.Error)
	}
	for i, want := range s.expected {
		if got := want.shown(out.Shown[i]); got != want.text {
			t.Errorf("%s: %s\ngot:\n%swant:\n%s", place, want.section, got, want.text)
		}
	}
}

// scenario is a script with what it should show.
type scenario struct {
	script
	expected []expectation
}

type expectation struct {
	section string
	topic   string // "": counts
	text    string // sorted lines
}

func parseScenario(t *testing.T, a *txtar.Archive) scenario {
	t.Helper()
	s := scenario{script: script{Config: rttest.Config{Partitions: map[string]int{}}}}
	sent := map[string]step{} // a read of all, by partition
	for _, f := range a.Files {
		words := strings.Fields(f.Name)
		switch words[0] {
		case "partitions":
			s.Config.Partitions[words[1]] = atoi(t, words[2])
		case "send":
			read := partitionStep(t, "read", words[1])
			add := partitionStep(t, "append", words[1])
			for line := range strings.Lines(string(f.Data)) {
				add.Records = append(add.Records, parseRecord(t, strings.TrimSuffix(line, "\n")))
			}
			read.N = 1000
			sent[words[1]] = read
			s.Steps = append(s.Steps, add, read)
		case "checkpoint", "end":
			s.Steps = append(s.Steps, step{Do: words[0]})
		case "crash,":
			s.Steps = append(s.Steps, step{Do: "crash", N: atoi(t, words[3])})
			for _, p := range slices.Sorted(maps.Keys(sent)) {
				s.Steps = append(s.Steps, sent[p])
			}
		case "idle":
			s.Steps = append(s.Steps, partitionStep(t, "idle", words[1]))
		case "expect":
			s.Steps = append(s.Steps, step{Do: "show"})
			s.expected = append(s.expected, expectation{f.Name, words[1], sorted(string(f.Data))})
		case "counts":
			s.Steps = append(s.Steps, step{Do: "show"})
			s.expected = append(s.expected, expectation{f.Name, "", sorted(string(f.Data))})
		default:
			t.Fatalf("no step %q", f.Name)
		}
	}
	return s
}

// partitionStep is a step at `topic/partition`.
func partitionStep(t *testing.T, do, at string) step {
	t.Helper()
	topic, partition, ok := strings.Cut(at, "/")
	if !ok {
		t.Fatalf("%s %s: want topic/partition", do, at)
	}
	return step{Do: do, Topic: topic, Partition: atoi(t, partition)}
}

// parseRecord reads `null` or a value, with a Kafka timestamp in milliseconds in front if there is a @.
func parseRecord(t *testing.T, line string) rttest.Record {
	t.Helper()
	r := rttest.Record{Time: rttest.NoTime}
	if at, ok := strings.CutPrefix(line, "@"); ok {
		var ms string
		ms, line, _ = strings.Cut(at, " ")
		r.Time = int64(atoi(t, ms)) * 1000
	}
	if line != "null" {
		r.Value = []byte(line)
	}
	return r
}

// shown is what a state has to say about it.
func (e expectation) shown(s state) string {
	var b strings.Builder
	for _, r := range s.Sinks[e.topic] {
		if r.Key != nil {
			fmt.Fprintf(&b, "%s ", r.Key)
		}
		b.Write(r.Value)
		headers := map[string]string{}
		for _, h := range r.Headers {
			headers[h.Key] = string(h.Value)
		}
		if headers["eo.operator"] != "" {
			fmt.Fprintf(&b, " # %s: %s/%s/%s", headers["eo.operator"], headers["eo.topic"], headers["eo.partition"], headers["eo.offset"])
		}
		b.WriteString("\n")
	}
	if e.topic == "" {
		for _, c := range s.Counts {
			if c.Name != "read" && c.Name != "out" {
				fmt.Fprintf(&b, "%s %s %s/%s: %d\n", c.Operator, c.Name, c.Topic, strconv.Itoa(int(c.Partition)), c.N)
			}
		}
	}
	return sorted(b.String())
}

// sorted is text with its lines in order, without empty ones.
func sorted(text string) string {
	lines := slices.Sorted(strings.Lines(text))
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
	return strings.Join(lines, "")
}
