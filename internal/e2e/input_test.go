//go:build unix

package e2e

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// Event times of the input. The last records stand behind all others, in the past all the same, since
// brokers refuse records of the future.
var (
	firstEvent = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	lastEvent  = firstEvent.AddDate(0, 1, 0)
)

const (
	eventStep = 50 * time.Millisecond // so that 200,000 records fill some hundred windows
	edgeOneIn = 1_000_000             // behind an event at the edge of skew an hour of records is late: hardly ever,
	edgeLeast = 2 * time.Hour         // and only in an input that is longer, in which the other partitions can follow
)

// load is what a run is fed, and what it has to answer.
type load struct {
	seed  uint64
	input reference.Input
	last  reference.Input // moves every partition's watermark beyond the windows of input
	want  *reference.Result
}

// makeLoad makes random records for all sources of a graph, together as many as asked, for each partition a last one, and the answer.
func makeLoad(g *planner.Graph, seed uint64, records int) *load {
	l := newLoad(g, seed, records, eventStep)
	l.answer(g)
	return l
}

// newLoad is makeLoad without the answer, with a mean time from one event to the next.
func newLoad(g *planner.Graph, seed uint64, records int, step time.Duration) *load {
	sources := 0
	for _, n := range g.Nodes {
		if _, ok := n.Op.(*planner.Source); ok {
			sources++
		}
	}
	gen := reference.Gen{Records: records / sources, Partitions: inPartitions, Start: firstEvent, Step: step, EdgeOneIn: edgeOneIn}
	if time.Duration(gen.Records)*step < edgeLeast {
		gen.EdgeOneIn = math.MaxInt
	}
	l := &load{seed: seed, input: gen.Input(seed, g), last: reference.Input{}}
	for _, n := range g.Nodes {
		if s, ok := n.Op.(*planner.Source); ok {
			for _, records := range l.input[s.Name] {
				end := reference.Record{Value: plain(n.Row, s.Time, lastEvent), Time: lastEvent.UnixMicro(), Offset: int64(len(records))}
				l.last[s.Name] = append(l.last[s.Name], []reference.Record{end})
			}
		}
	}
	return l
}

// allLead makes every click lead to a result: one without a value does not.
func allLead(g *planner.Graph, l *load) *load {
	for _, records := range l.input["clicks"] {
		for i := range records {
			if rec := &records[i]; rec.Value == nil {
				rec.Value = click("u", rec.Offset).Value
			}
		}
	}
	l.answer(g)
	return l
}

// answer asks the reference what a pipeline has to make of the load while it runs on.
func (l *load) answer(g *planner.Graph) {
	all := reference.Input{}
	for source, partitions := range l.input {
		for id, records := range partitions {
			all[source] = append(all[source], slices.Concat(records, l.last[source][id]))
		}
	}
	l.want = reference.RunOn(g, all)
}

// reread takes what the topics hold for the input, and its answer for the results: a producer that loses its broker may write a piece twice.
func (r *run) reread(t testing.TB) {
	t.Helper()
	for written, topic := range r.topics {
		source := r.source(written)
		if source == nil {
			continue
		}
		partitions := make([][]reference.Record, len(r.input[source.Name]))
		for _, rec := range r.upstream.ReadCommitted(t, topic) {
			in := reference.Record{Key: rec.Key, Value: rec.Value, Offset: rec.Offset, Time: rec.Time.UnixMicro()}
			for _, h := range rec.Headers {
				in.Headers = append(in.Headers, reference.Header{Key: h.Key, Value: h.Value})
			}
			partitions[rec.Partition] = append(partitions[rec.Partition], in)
		}
		r.input[source.Name], r.last[source.Name] = partitions, make([][]reference.Record, len(partitions))
	}
	r.answer(r.graph)
}

// plain is a record with the given event time and in all other fields what is nothing in particular.
func plain(row ir.Row, when ir.Expr, at time.Time) []byte {
	value := map[string]any{}
	for i, f := range row {
		switch f.Type.Kind {
		case ir.Bool:
			value[f.Name] = false
		case ir.String:
			value[f.Name] = "nobody"
		case ir.Duration:
			value[f.Name] = "0s"
		case ir.Timestamp:
			value[f.Name] = moment(f.Type.Unit, at)
		default:
			value[f.Name] = 0
		}
		if c, ok := when.(*ir.Column); f.Type.Null && (!ok || c.Index != i) {
			value[f.Name] = nil
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the values above are JSON
	}
	return text
}

// moment writes a time as a type with the unit does.
func moment(unit ir.Unit, at time.Time) any {
	switch unit {
	case ir.Seconds:
		return at.Unix()
	case ir.Millis:
		return at.UnixMilli()
	case ir.Micros:
		return at.UnixMicro()
	case ir.Nanos:
		return at.UnixNano()
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// TestLastRecordsCloseWindows holds the last records against the reference: they are good ones, and stand behind most windows.
func TestLastRecordsCloseWindows(t *testing.T) {
	p := declare(t, "orders", example(t, "orders"), nil)
	l := makeLoad(p.graph, 1, 10_000)
	before, after := reference.Run(p.graph, l.input), l.want
	if got, want := len(after.DeadLetters), len(before.DeadLetters); got != want {
		t.Errorf("%d dead letters with the last records, %d without", got, want)
	}
	for sink, outputs := range before.Sinks {
		if got := len(after.Sinks[sink]); got < len(outputs)*9/10 || got > len(outputs) {
			t.Errorf("sink %s: %d records when the last windows are closed, %d with them", sink, got, len(outputs))
		}
	}
}
