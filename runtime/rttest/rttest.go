// Package rttest runs a pipeline in memory, for tests: no broker, no disk, no clock, and the same answer
// each time.
//
//	func TestTotals(t *testing.T) {
//		p := rttest.Start(t, orders.Pipeline())
//		p.Send("orders",
//			`{"user_id":"u1","amount":10.00,"at":"2026-01-01T00:00:05Z"}`,
//			`{"user_id":"u1","amount":2.25,"at":"2026-01-01T00:00:40Z"}`)
//		p.End()
//		p.Expect("user-totals",
//			`{"user_id":"u1","window_start":"2026-01-01T00:00:00Z","window_end":"2026-01-01T00:01:00Z","total":12.25,"orders":2}`)
//	}
//
// Topics are called as they are in Kafka; if two sources read topics of one name, in two clusters, each is SOURCE:TOPIC. Time is what the records say: windows close when later records
// have come from every partition, or at End. Late records are in the topic that `late to` leads to, dead letters in that
// of `on_error dlq(…)`. Checkpoint and Crash show what a reader of committed records sees when the program dies.
//
// A Test fails the test that it belongs to. Below it is a Run, which returns errors, and takes records in
// portions and interleavings as the caller says. Both belong to one goroutine.
package rttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// Record is a record of a topic, with the fields
//
//	Key, Value []byte // nil is a Kafka null
//	Headers    []Header
//	Offset     int64
//	Time       int64  // Kafka timestamp in microseconds since 1970, or NoTime
//
// The offset of a record that is fed need not be given: it gets the next one.
type Record = record.Record

// Header is a record header: a Key (string) and a Value ([]byte).
type Header = record.Header

// NoTime is the Time of a record without a timestamp.
const NoTime = record.NoTime

// Count says what became of N records of a partition (Topic, Partition) in an operator (Operator: the id that
// `eoc plan` shows). Name is read, null, rejected, ahead, filtered, late, aggregated or out. Partition is -1 for results of windows.
type Count = checkpoint.Count

// Config is how a pipeline is run.
type Config struct {
	// Parallelism is the number of tasks that read and of tasks that keep windows. Up to 1: one task does both.
	Parallelism int
	// Partitions of each topic that is read; 1 unless given here.
	Partitions map[string]int
	// Env is the environment that settings are looked up in.
	Env map[string]string
	// Rand, if given, decides how long rows and watermarks stay on their way between tasks, and when
	// deltas are merged. Without it they arrive at once.
	Rand *rand.Rand
}

// Run is a pipeline in memory that is led step by step. It panics if a topic or partition is none of the pipeline's.
type Run struct {
	cfg   Config
	spec  engine.Spec
	parts []*partition // of all sources
	tasks *tasks
	saved saved // the last checkpoint

	written   [][]Record // by sink, since the last checkpoint
	committed [][]Record // by sink, before it
	counted   []Count    // before the tasks began
	ended     bool       // no more is read
}

// partition is the contents of a partition and how far it was read.
type partition struct {
	engine.Partition
	name   string // of its topic in a test
	log    []Record
	next   int // index of the record to read next
	active bool
}

// saved is what a checkpoint holds.
type saved struct {
	parts  []partition
	w      []int64            // W of each operator
	deltas []checkpoint.Delta // all since the beginning, oldest first
	counts []Count
}

// New makes a run of p that has read nothing.
func New(p rt.Pipeline, cfg Config) (*Run, error) {
	spec, err := p.Spec(func(name string) (string, bool) { v, ok := cfg.Env[name]; return v, ok })
	if err != nil {
		return nil, err
	}
	r := &Run{cfg: cfg, spec: spec}
	r.written, r.committed = make([][]Record, len(spec.Sinks)), make([][]Record, len(spec.Sinks))
	r.saved.w = slices.Repeat([]int64{math.MinInt64}, len(spec.Operators))
	for i, s := range spec.Sources {
		name := nameOf(spec.Sources, s)
		for id := range max(1, cfg.Partitions[name]) {
			p := &partition{name: name, active: true, Partition: engine.Partition{
				Source: i, Topic: s.Topic, ID: int32(id), Slot: len(r.parts),
				Watermark: math.MinInt64, Floor: slices.Clone(r.saved.w),
			}}
			r.parts = append(r.parts, p)
			r.saved.parts = append(r.saved.parts, *p)
		}
	}
	r.tasks = newTasks(r)
	return r, nil
}

// nameOf is what the topic of a source is called. Two sources may read topics of one name, each in another cluster.
func nameOf(all []engine.SourceSpec, s engine.SourceSpec) string {
	if slices.ContainsFunc(all, func(other engine.SourceSpec) bool { return other.Topic == s.Topic && other.Name != s.Name }) {
		return s.Name + ":" + s.Topic
	}
	return s.Topic
}

// Append adds records to a partition. One with an offset not beyond those before it gets the next one.
func (r *Run) Append(topic string, partition int, records ...Record) {
	p := r.partition(topic, partition)
	for _, rec := range records {
		if n := len(p.log); n > 0 && rec.Offset <= p.log[n-1].Offset {
			rec.Offset = p.log[n-1].Offset + 1
		}
		p.log = append(p.log, rec)
	}
}

// Feed adds records to a partition and reads them.
func (r *Run) Feed(topic string, partition int, records ...Record) error {
	r.Append(topic, partition, records...)
	return r.Read(topic, partition, r.Unread(topic, partition))
}

// Unread is the number of records of a partition that have not been read.
func (r *Run) Unread(topic string, partition int) int {
	p := r.partition(topic, partition)
	return len(p.log) - p.next
}

// Read takes up to n records of a partition through the pipeline.
func (r *Run) Read(topic string, partition, n int) error {
	p := r.partition(topic, partition)
	records := p.log[p.next:min(p.next+n, len(p.log))]
	if len(records) == 0 {
		return nil
	}
	if r.ended {
		return fmt.Errorf("topic %s, partition %d: nothing is read behind End, which has closed all windows", topic, partition)
	}
	if !p.active {
		p.active = true
		p.Floor = slices.Clone(r.tasks.w)
	}
	if err := r.tasks.read(p, records); err != nil {
		return err
	}
	p.next += len(records)
	return r.tasks.advance()
}

// Idle says that a partition has had nothing new for so long that it no longer holds windows open.
func (r *Run) Idle(topic string, partition int) error {
	r.partition(topic, partition).active = false
	return r.tasks.advance()
}

// Checkpoint makes a checkpoint: what was written so far is committed.
func (r *Run) Checkpoint() error {
	if err := r.tasks.drain(); err != nil {
		return err
	}
	r.tasks.flush()
	r.saved.w = slices.Clone(r.tasks.w)
	r.saved.deltas = append(r.saved.deltas, r.tasks.snapshot()...)
	r.saved.counts = r.Counts()
	for i, p := range r.parts {
		r.saved.parts[i] = *p
		r.saved.parts[i].Floor = slices.Clone(p.Floor)
	}
	for i := range r.written {
		r.committed[i] = append(r.committed[i], r.written[i]...)
		r.written[i] = nil
	}
	return nil
}

// Crash loses everything since the last checkpoint and starts from there, with the given number of tasks.
func (r *Run) Crash(parallelism int) error {
	r.cfg.Parallelism = parallelism
	r.counted = r.saved.counts
	clear(r.written)
	for i, p := range r.saved.parts {
		log := r.parts[i].log
		*r.parts[i] = p
		r.parts[i].log, r.parts[i].Floor = log, slices.Clone(p.Floor)
	}
	r.tasks = newTasks(r)
	return r.tasks.restore(r.saved)
}

// End reads what is left, a record of each partition in turn, and ends the input: every window closes.
func (r *Run) End() error {
	for left := true; left; {
		left = false
		for _, p := range r.parts {
			if err := r.Read(p.name, int(p.ID), 1); err != nil {
				return err
			}
			left = left || p.next < len(p.log)
		}
	}
	if err := r.tasks.end(); err != nil {
		return err
	}
	r.ended = true
	return r.Checkpoint()
}

// Output is what was written to a topic, checkpoints or not, dead letters included.
func (r *Run) Output(topic string) []Record {
	r.tasks.flush()
	var out []Record
	known := false
	for i, s := range r.spec.Sinks {
		if s.Topic == topic {
			out = slices.Concat(out, r.committed[i], r.written[i])
			known = true
		}
	}
	if !known {
		panic(fmt.Sprintf("rttest: %s has no sink for topic %s", r.spec.File, topic))
	}
	return out
}

// Committed is the part of Output that the last checkpoint has committed, which is what a reader of committed
// records sees.
func (r *Run) Committed(topic string) []Record {
	var out []Record
	for i, s := range r.spec.Sinks {
		if s.Topic == topic {
			out = append(out, r.committed[i]...)
		}
	}
	return out
}

// Counts is what has been counted since New, sorted by operator, name, topic and partition.
func (r *Run) Counts() []Count {
	return sumCounts(append(slices.Clone(r.counted), r.tasks.counts()...))
}

func (r *Run) partition(topic string, id int) *partition {
	for _, p := range r.parts {
		if p.name == topic && int(p.ID) == id {
			return p
		}
	}
	panic(fmt.Sprintf("rttest: %s reads no partition %d of topic %s", r.spec.File, id, topic))
}
