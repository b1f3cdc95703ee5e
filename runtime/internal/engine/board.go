package engine

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// board keeps what Status shows. Run and the coordinator write on it, a few times for each checkpoint, the sink writer
// once for each slab, and tasks never: what they know is asked of the attempt when somebody wants to see it.
type board struct {
	mu      sync.Mutex
	s       Status        // but for what the attempt knows
	attempt *attempt      // that runs; nil between two
	left    attemptStatus // what the one before has left
	open    bool          // a checkpoint was begun and is not confirmed
	sinks   []sinkTally
	// pondered is what an attempt was doing of which it is not known yet why it has ended, see heedFence.
	pondered *Phase
	keys     []int64 // in the open windows of each operator, at the barrier of the newest confirmed checkpoint; nil before
}

// attemptStatus is the part of Status that an attempt knows.
type attemptStatus struct {
	tasks      int
	looked     time.Time
	inFlight   *InFlight
	operators  []OperatorStatus
	partitions []PartitionStatus
}

// sinkTally counts what is sent to a sink.
type sinkTally struct{ records, bytes, clamped, lost atomic.Int64 }

// reach is how far a partition goes, and whether it is paused. Its task and the watcher both learn of it.
type reach struct {
	end, stable atomic.Int64 // -1 before the first
	paused      atomic.Bool
}

func newReach() *reach {
	r := &reach{}
	r.end.Store(Unknown)
	r.stable.Store(Unknown)
	return r
}

// saw notes how far the broker said that the partition goes. Of two answers that overtake each other the greater counts.
func (r *reach) saw(end, stable int64) {
	raise(&r.end, end)
	raise(&r.stable, stable)
}

func raise(to *atomic.Int64, n int64) {
	for old := to.Load(); n > old && !to.CompareAndSwap(old, n); old = to.Load() {
	}
}

// begin is the start of Run.
func (b *board) begin(spec *Spec) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Phase, b.s.Since = Starting, time.Now()
	if b.sinks == nil {
		b.sinks = make([]sinkTally, len(spec.Sinks))
	}
}

// enter begins a phase. Whatever happens while it stops, a pipeline is stopping until it has finished.
func (b *board) enter(p Phase) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.move(p)
}

func (b *board) move(p Phase) {
	if p > b.s.Phase || b.s.Phase == Restarting && p == Running {
		b.s.Phase, b.s.Since = p, time.Now()
	}
}

// ponder says that an attempt has ended, before it is known whether there will be another one.
func (b *board) ponder() {
	b.mu.Lock()
	defer b.mu.Unlock()
	during := b.s.Phase
	b.pondered = &during
	b.move(Restarting)
}

// failed notes why an attempt has ended.
func (b *board) failed(err error, next Phase) {
	b.mu.Lock()
	defer b.mu.Unlock()
	during := b.s.Phase
	if b.pondered != nil {
		during, b.pondered = *b.pondered, nil
	}
	b.s.Failure = &Failure{Text: failure.Shown(err), Kind: failure.KindOf(err), At: time.Now(), During: during, Retried: next == Restarting}
	b.s.Failures = kept(b.s.Failures, *b.s.Failure, KeptFailures)
	if next == Restarting {
		b.s.Restarts++
	}
	b.move(next)
}

// show makes the attempt's partitions visible: it is running.
func (b *board) show(a *attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attempt = a
	b.move(Running)
}

// hide keeps what the attempt has left, and lets go of it and its state.
func (b *board) hide(a *attempt) {
	left := a.status()
	left.inFlight = nil
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		b.open = false
		b.s.Abandoned++
	}
	b.attempt, b.left = nil, left
	b.s.Held = nil // nobody looks any more; the next attempt finds it again
}

// loaded shows the counts of the checkpoint that a start goes on from. A fresh start has none.
func (b *board) loaded(c *checkpoint.Checkpoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Counts = c.Counts
}

// held shows output that stays invisible.
func (b *board) held(all []Held) {
	slices.SortFunc(all, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Held = all
}

// counts are those of the newest confirmed checkpoint.
func (b *board) counts() []checkpoint.Count {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.s.Counts
}

// barrier begins a checkpoint.
func (b *board) barrier() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = true
}

// happened counts for a sink what is no reason to end.
func (b *board) happened(sink int, what Occasion, records int64) {
	switch what {
	case Clamped:
		b.sinks[sink].clamped.Add(records)
	case Lost:
		b.sinks[sink].lost.Add(records)
	}
}

// committed counts a transaction.
func (b *board) committed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Transactions++
}

// sized shows how large the store is.
func (b *board) sized(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.StateBytes = bytes
}

// confirmed shows a checkpoint that is complete.
func (b *board) confirmed(c *checkpoint.Checkpoint, took Durations, keys []int64, refusals []Refusal) {
	s := &CheckpointStatus{Number: c.Number, At: time.Now(), Took: took}
	for _, d := range c.Deltas {
		s.Bytes += int64(len(d.Data))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Checkpoint, b.s.Counts, b.keys = s, c.Counts, keys
	b.open = false
	b.s.History = kept(b.s.History, *s, KeptCheckpoints)
	b.s.Checkpoints++
	b.s.Took.add(took)
	if len(refusals) > 0 {
		b.s.Refusals = lastRefusals(b.s.Refusals, refusals)
	}
}

// kept appends to a list of which only the last ones are kept.
func kept[T any](list []T, item T, limit int) []T {
	if len(list) == limit {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, item)
}

func (b *board) status(spec *Spec, interval time.Duration) Status {
	b.mu.Lock()
	s, a, now, sinks, keys := b.s, b.attempt, b.left, b.sinks, b.keys
	s.History, s.Failures = slices.Clone(s.History), slices.Clone(s.Failures)
	b.mu.Unlock()
	if a != nil {
		now = a.status()
	}
	s.Pipeline, s.Interval, s.Tasks, s.Looked, s.InFlight = spec.Name, interval, now.tasks, now.looked, now.inFlight
	s.Operators, s.Partitions = slices.Clone(now.operators), slices.Clone(now.partitions)
	for i := range s.Operators {
		if s.Operators[i].Keys = Unknown; keys != nil {
			s.Operators[i].Keys = keys[i]
		}
	}
	s.Counts = slices.Clone(s.Counts)
	for i, sink := range spec.Sinks {
		t := SinkStatus{Name: sink.Name, Topic: sink.Topic, Place: sink.Place}
		if i < len(sinks) {
			tally := &sinks[i]
			t.Records, t.Bytes, t.Clamped, t.Lost = tally.records.Load(), tally.bytes.Load(), tally.clamped.Load(), tally.lost.Load()
		}
		s.Sinks = append(s.Sinks, t)
	}
	s.Refusals = refused(s.Refusals, s.Counts)
	s.Totals = totals(spec.Counters, s.Counts)
	return s
}

// totals adds up counts over partitions for each counter. A state may hold counts of operators that the program has no more.
func totals(counters []CounterSpec, counts []checkpoint.Count) []Total {
	type key struct{ operator, name string }
	sums := map[key]int64{}
	for _, c := range counts {
		sums[key{c.Operator, c.Name}] += c.N
	}
	out := make([]Total, len(counters))
	for i, c := range counters {
		out[i] = Total{c, sums[key{c.Operator, c.Name}]}
	}
	return out
}
