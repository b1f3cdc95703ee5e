package codegen_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// script and outcome are what testdata/runner reads and writes.
type script struct {
	Pipeline   string
	Config     rttest.Config
	Seed       uint64
	Steps      []step
	SinkTopics []string
}

type step struct {
	Do        string
	Topic     string          `json:",omitempty"`
	Partition int             `json:",omitempty"`
	Records   []rttest.Record `json:",omitempty"`
	N         int             `json:",omitempty"`
}

type outcome struct {
	Error string
	state
	Shown []state
}

type state struct {
	Sinks  map[string][]rttest.Record
	Counts []rttest.Count
}

// play runs a script with the binary of a module's runner.
func play(t testing.TB, runner string, s script) outcome {
	t.Helper()
	in, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(runner)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", s.Pipeline, err, stderr.String())
	}
	var out outcome
	if err := json.Unmarshal(stdout, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// topicOf is a topic without environment.
func topicOf(s planner.Setting) string { return s.Text }

// sinkTopics are all topics that the pipeline of g writes, dead letters included.
func sinkTopics(g *planner.Graph) []string {
	var topics []string
	for _, n := range g.Nodes {
		switch op := n.Op.(type) {
		case *planner.Sink:
			topics = append(topics, topicOf(op.Topic))
		case *planner.DeadLetter:
			topics = append(topics, topicOf(op.Topic))
		}
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// sources are the sources of g by their names.
func sources(g *planner.Graph) map[string]*planner.Source {
	list := map[string]*planner.Source{}
	for _, n := range g.Nodes {
		if s, ok := n.Op.(*planner.Source); ok {
			list[n.ID] = s
		}
	}
	return list
}

// result is an outcome as the reference writes its own.
func result(t testing.TB, g *planner.Graph, out outcome) *reference.Result {
	t.Helper()
	r := &reference.Result{Sinks: map[string][]reference.Output{}, Counts: map[reference.Counter]int64{}}
	for _, n := range g.Nodes {
		switch op := n.Op.(type) {
		case *planner.Sink:
			for _, rec := range out.Sinks[topicOf(op.Topic)] {
				r.Sinks[n.ID] = append(r.Sinks[n.ID], reference.Output{Key: rec.Key, Value: rec.Value, Time: outputTime(rec.Time)})
			}
		case *planner.DeadLetter:
			for _, rec := range out.Sinks[topicOf(op.Topic)] {
				r.DeadLetters = append(r.DeadLetters, deadLetter(t, n.ID, rec))
			}
		}
	}
	for _, c := range out.Counts {
		r.Counts[reference.Counter{Operator: c.Operator, Name: c.Name, Topic: c.Topic, Partition: c.Partition}] += c.N
	}
	if out.Error != "" {
		r.Failures = []reference.Refusal{failure(t, out.Error)}
	}
	return r
}

// outputTime is a time as the sink writer would send it: in milliseconds, not before 1970.
func outputTime(us int64) int64 {
	if us == rttest.NoTime {
		return reference.NoTime
	}
	return max(0, us) / 1000
}

// deadLetter reads the headers that the runtime has put behind those of the record.
func deadLetter(t testing.TB, topic string, rec rttest.Record) reference.DeadLetter {
	t.Helper()
	d := reference.DeadLetter{Topic: topic, Key: rec.Key, Value: rec.Value}
	d.Partition, d.Offset = -1, -1
	for _, h := range rec.Headers {
		v := string(h.Value)
		switch h.Key {
		case "eo.reason":
			d.Reason = v
		case "eo.topic":
			d.Refusal.Topic = v
		case "eo.partition":
			d.Partition = int32(atoi(t, v))
		case "eo.offset":
			d.Offset = int64(atoi(t, v))
		case "eo.operator":
			d.Operator, _, _ = strings.Cut(v, " (")
		case "eo.window_start", "eo.window_end":
		default:
			d.Headers = append(d.Headers, reference.Header{Key: h.Key, Value: h.Value})
		}
	}
	return d
}

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var failedRecord = regexp.MustCompile(`record of topic (\S+), partition (\d+), offset (\d+)`)

// failure reads the position from the error that stops a program.
func failure(t testing.TB, text string) reference.Refusal {
	t.Helper()
	f := reference.Refusal{Partition: -1, Offset: -1, Reason: text}
	if m := failedRecord.FindStringSubmatch(text); m != nil {
		f.Topic, f.Partition, f.Offset = m[1], int32(atoi(t, m[2])), int64(atoi(t, m[3]))
	} else if !strings.Contains(text, "result of window") {
		t.Fatalf("an error that is none of a record: %s", text)
	}
	return f
}

// appendInput is the steps that put the input of the reference into the partitions.
func appendInput(g *planner.Graph, input reference.Input) []step {
	var steps []step
	for _, n := range g.Nodes {
		s, ok := n.Op.(*planner.Source)
		if !ok {
			continue
		}
		for p, records := range input[n.ID] {
			st := step{Do: "append", Topic: topicOf(s.Topic), Partition: p}
			for _, r := range records {
				rec := rttest.Record{Key: r.Key, Value: r.Value, Offset: r.Offset, Time: r.Time}
				for _, h := range r.Headers {
					rec.Headers = append(rec.Headers, rttest.Header{Key: h.Key, Value: h.Value})
				}
				st.Records = append(st.Records, rec)
			}
			steps = append(steps, st)
		}
	}
	return steps
}

// partitionsOf is the number of partitions of each topic of input.
func partitionsOf(g *planner.Graph, input reference.Input) map[string]int {
	n := map[string]int{}
	for name, s := range sources(g) {
		n[topicOf(s.Topic)] = len(input[name])
	}
	return n
}
