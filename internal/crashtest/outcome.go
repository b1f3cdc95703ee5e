package crashtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/judge"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// output is a topic that the program writes.
type output struct {
	topic   string
	id      string // of the sink or dead-letter topic in the graph
	deliver dsl.Delivery
	dead    bool     // its records are dead letters
	ordered bool     // the records of a key stand in the order of their windows
	inexact []string // fields of float sums, whose last digits depend on the order of rows
}

func (o output) exactly() bool { return o.deliver == planner.DeliverExactlyOnce }

// outcome is what a run has left behind.
type outcome struct {
	records map[string][]judge.Record // by topic, sorted by partition and offset
	counts  map[reference.Counter]int64
	open    []string // transactions under way, and what they hide
	read    bool     // the group's marker names the ends of all inputs
}

// read reads what is committed.
func (r *run) read(ctx context.Context) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, brokerLimit)
	defer cancel()
	if err := r.broker.Pace(0); err != nil {
		return nil, err
	}
	names := make([]string, len(r.outputs))
	for i, o := range r.outputs {
		names[i] = o.topic
	}
	left := &outcome{records: map[string][]judge.Record{}}
	ids, err := r.client.OpenTransactions(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		left.open = append(left.open, "the transaction of "+id)
	}
	hidden, err := r.client.Hidden(ctx, names...)
	if err != nil {
		return nil, err
	}
	left.open = append(left.open, hidden...)
	watcher, err := devkafka.Watch(r.broker.Addr, names...)
	if err != nil {
		return nil, err
	}
	defer watcher.Close()
	records, err := watcher.Rest(ctx)
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		left.records[rec.Topic] = append(left.records[rec.Topic], seen(rec))
	}
	for _, list := range left.records {
		byPlace(list)
	}
	if left.read, err = r.client.CaughtUp(ctx, "eo-"+r.Graph.Job.Name, r.inputs()...); err != nil {
		return nil, err
	}
	return left, r.count(left)
}

func seen(rec devkafka.Record) judge.Record {
	out := judge.Record{Partition: rec.Partition, Offset: rec.Offset, Key: rec.Key, Value: rec.Value, Time: rec.Time}
	for _, h := range rec.Headers {
		out.Headers = append(out.Headers, reference.Header{Key: h.Key, Value: h.Value})
	}
	return out
}

// asIs: the graph names topics as the broker does, see nameTopics.
func asIs(topic string) string { return topic }

// count reads what the program has counted. A life that finds everything done says nothing of it, the one before does, unless it
// was killed before it could.
func (r *run) count(left *outcome) error {
	for _, log := range slices.Backward(r.logs) {
		text, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		counts, ok, err := judge.Counts(string(text), asIs)
		if err != nil {
			return err
		}
		if ok {
			left.counts = counts
			return nil
		}
	}
	return nil
}

// judge notes what is not as it should be: as without a crash (base; nil if this is that run), and as the reference says.
func (r *run) judge(left, base *outcome) {
	for _, text := range left.open {
		r.fault("still open at the end: %s", text)
	}
	if r.exactly() && !left.read {
		r.fault("the offsets of group eo-%s are not the ends of the topics that were read", r.Graph.Job.Name)
	}
	for _, o := range r.outputs {
		want := r.expected(o)
		if o.exactly() && base != nil {
			want = base.records[o.topic]
		}
		if base != nil || !o.exactly() {
			if d := compare(o, left.records[o.topic], want, r.began); d != nil {
				r.Faults = append(r.Faults, Fault{Text: d.String(), Difference: d})
			}
		}
		if o.ordered {
			if d := judge.Order(left.records[o.topic]); d != "" {
				r.fault("%s: %s", o.topic, d)
			}
		}
	}
	r.consult(left)
}

// expected are keys and values of the records that the reference says for a topic.
func (t *test) expected(o output) []judge.Record {
	var out []judge.Record
	for _, r := range t.want.Sinks[o.id] {
		out = append(out, judge.Record{Key: r.Key, Value: r.Value, Time: time.UnixMilli(r.Time)})
	}
	for _, d := range t.want.DeadLetters {
		if o.dead && d.Topic == o.id {
			out = append(out, judge.Record{Key: d.Key, Value: d.Value})
		}
	}
	return out
}

// consult compares with the reference: records of the sinks that are exactly once, and what was counted.
func (r *run) consult(left *outcome) {
	got := &reference.Result{Sinks: map[string][]reference.Output{}, Counts: left.counts}
	want := &reference.Result{Sinks: map[string][]reference.Output{}, Inexact: r.want.Inexact, Counts: r.want.Counts}
	for _, o := range r.outputs {
		if !o.exactly() {
			continue
		}
		for _, rec := range left.records[o.topic] {
			if !o.dead {
				got.Sinks[o.id] = append(got.Sinks[o.id], rec.Output())
				continue
			}
			d, err := judge.DeadLetter(o.id, rec, asIs)
			if err != nil {
				r.fault("%s: %v", o.topic, err)
				return
			}
			got.DeadLetters = append(got.DeadLetters, d)
		}
		want.Sinks[o.id] = r.want.Sinks[o.id]
		for _, d := range r.want.DeadLetters {
			if d.Topic == o.id && o.dead {
				want.DeadLetters = append(want.DeadLetters, d)
			}
		}
	}
	if d := reference.Compare(got, want); d != "" {
		r.fault("it differs from the interpreter of plans: %s", d)
	}
}

// keep writes the records that were read beside the logs.
func (r *run) keep(left *outcome) error {
	for topic, records := range left.records {
		var b strings.Builder
		for _, rec := range records {
			fmt.Fprintf(&b, "%d\t%d\t%s\t%s\t%s\n", rec.Partition, rec.Offset, rec.Time.UTC().Format(time.RFC3339Nano), keyText(rec.Key), printable(rec.Value))
		}
		if err := os.WriteFile(filepath.Join(r.Dir, fileName(topic)+".tsv"), []byte(b.String()), 0o666); err != nil {
			return err
		}
	}
	return nil
}
