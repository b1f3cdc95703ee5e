//go:build unix

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/judge"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// judgeResults holds what is committed against the reference.
func (r *run) judgeResults(t testing.TB) {
	t.Helper()
	r.broker.AwaitSettled(t, r.outputs()...)
	if d := r.compare(t); d != "" {
		t.Errorf("what is committed is not what the reference says: %s", d)
	}
}

// judge holds what a stopped run has left behind against the reference.
func (r *run) judge(t testing.TB, last *program.Process) {
	t.Helper()
	r.judgeResults(t)
	r.judgeOrder(t)
	r.judgePositions(t)
	got := r.counted(t, last)
	if d := reference.Compare(&reference.Result{Counts: got}, &reference.Result{Counts: r.want.Counts}); d != "" {
		t.Errorf("what the program has counted is not what the reference says: %s", d)
	}
}

// wanted is how many records each topic has in the end.
func (r *run) wanted() map[string]int {
	n := map[string]int{}
	for sink, outputs := range r.want.Sinks {
		n[r.topicOf(sink)] += len(outputs)
	}
	for _, d := range r.want.DeadLetters {
		n[r.topicOf(d.Topic)]++
	}
	return n
}

// topicOf is the topic on the broker of a sink or dead-letter topic of the graph.
func (p *pipeline) topicOf(id string) string {
	for _, n := range p.graph.Nodes {
		if n.ID != id {
			continue
		}
		switch op := n.Op.(type) {
		case *planner.Sink:
			return p.topics[op.Topic.Text]
		case *planner.DeadLetter:
			return p.topics[op.Topic.Text]
		}
	}
	return "no topic of " + id
}

// compare tells the first difference between what is committed and the reference.
func (r *run) compare(t testing.TB) string {
	t.Helper()
	got, err := r.committed(t)
	if err != nil {
		return err.Error()
	}
	return reference.Compare(got, r.want)
}

// committed is what a read_committed reader sees in the topics that the program writes.
func (r *run) committed(t testing.TB) (*reference.Result, error) {
	t.Helper()
	got := &reference.Result{Sinks: map[string][]reference.Output{}}
	for _, n := range r.graph.Nodes {
		switch n.Op.(type) {
		case *planner.Sink:
			for _, rec := range r.broker.ReadCommitted(t, r.topicOf(n.ID)) {
				got.Sinks[n.ID] = append(got.Sinks[n.ID], seen(rec).Output())
			}
		case *planner.DeadLetter:
			for _, rec := range r.broker.ReadCommitted(t, r.topicOf(n.ID)) {
				d, err := judge.DeadLetter(n.ID, seen(rec), r.written)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", r.topicOf(n.ID), err)
				}
				if err := r.checkSource(rec, d); err != nil {
					return nil, err
				}
				got.DeadLetters = append(got.DeadLetters, d)
			}
		}
	}
	return got, nil
}

// checkSource says whether a dead letter names its source as it should: if that has brokers of its own.
func (r *run) checkSource(rec kafkatest.Record, d reference.DeadLetter) error {
	named := slices.ContainsFunc(rec.Headers, func(h kafkatest.Header) bool { return h.Key == "eo.source" })
	if elsewhere := r.upstream != r.broker && d.Offset >= 0; elsewhere != named {
		return fmt.Errorf("dead letter at offset %d of partition %d names its source: %v; that it is on another cluster is %v", rec.Offset, rec.Partition, named, elsewhere)
	}
	return nil
}

// seen is a record as the judge has it.
func seen(rec kafkatest.Record) judge.Record {
	out := judge.Record{Partition: rec.Partition, Offset: rec.Offset, Key: rec.Key, Value: rec.Value, Time: rec.Time}
	for _, h := range rec.Headers {
		out.Headers = append(out.Headers, reference.Header{Key: h.Key, Value: h.Value})
	}
	return out
}

// written is the topic of the .eo file that stands for a topic on the broker.
func (p *pipeline) written(topic string) string {
	for written, t := range p.topics {
		if t == topic {
			return written
		}
	}
	return topic
}

// judgeOrder checks that the records of a key stand in the order of their windows, within the partition of the key, where they have to.
func (r *run) judgeOrder(t testing.TB) {
	t.Helper()
	for _, n := range r.graph.Nodes {
		if _, ok := n.Op.(*planner.Sink); !ok || !judge.Ordered(n) {
			continue
		}
		var records []judge.Record
		for _, rec := range r.broker.ReadCommitted(t, r.topicOf(n.ID)) {
			records = append(records, seen(rec))
		}
		if d := judge.Order(records); d != "" {
			t.Errorf("%s: %s", r.topicOf(n.ID), d)
			return
		}
	}
}

// judgePositions checks that the group names the ends of all partitions that were read, and that none is pending: by the markers, or, where
// sources are on another cluster, by the offsets that are for tools alone.
func (r *run) judgePositions(t testing.TB) {
	t.Helper()
	for written, topic := range r.topics {
		if r.source(written) == nil {
			continue
		}
		ends, read := r.upstream.EndOffsets(t, topic), r.upstream.GroupOffsets(t, r.group(), topic)
		if !maps.Equal(ends, read) {
			t.Errorf("%s was read up to %v, and ends at %v", topic, read, ends)
		}
	}
}

// counted is what the program says at its end of what became of the records.
func (r *run) counted(t testing.TB, p *program.Process) map[reference.Counter]int64 {
	t.Helper()
	counts, ok, err := judge.Counts(p.Log(), r.written)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Fatalf("the program has not said what it counted; the end of its log:\n%s", p.Tail(20))
	}
	return counts
}
