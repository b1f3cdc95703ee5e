package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Status is a pipeline as it stands at one moment: what metrics, health checks and pages about it are made
// of. Engine.Status takes one from any goroutine at any time. Each field says how fresh it is; none costs the records anything.
type Status struct {
	Pipeline string
	Tasks    int           // source tasks; 0 before the first attempt runs
	Interval time.Duration // between two checkpoints, if there is something new

	// Phase and Since are exact. A pipeline is ready when it is Running: it has its state, its transactional ids and its
	// partitions. It is alive in every phase but Finished.
	Phase Phase
	Since time.Time // when the phase began; zero before Run

	Restarts int64    // within this process, each after a transient failure
	Failure  *Failure // the last one; nil if there was none
	// StateBytes is how large the state is on the disk, as of the last checkpoint; 0 before the first of this process, and in memory.
	StateBytes int64
	// Failures are the last KeptFailures of this process, oldest first.
	Failures []Failure

	// Checkpoint is the newest that is confirmed in this process; nil before the first.
	Checkpoint *CheckpointStatus
	// History is the last KeptCheckpoints that were confirmed in this process, oldest first.
	History []CheckpointStatus
	// InFlight is the one at work; nil if there is none.
	InFlight     *InFlight
	Checkpoints  int64 // confirmed in this process
	Transactions int64 // committed in this process, those aside that a start has finished for a dead one

	// Operators and Partitions are as the source tasks have last told, once for each step of at most 1024 records. While the
	// pipeline is restarting they are as the failed attempt left them; they are empty before the first attempt runs.
	Operators  []OperatorStatus
	Partitions []PartitionStatus // sorted by source, as declared, then id
	// Looked is when the brokers have last said how far all partitions go; zero: not yet. They are asked every second or more often.
	Looked time.Time

	// Took is how long all those checkpoints took, by part.
	Took Histograms
	// Abandoned is how many checkpoints were begun in this process and not confirmed: what they held was read again.
	Abandoned int64

	// Counts are those of the newest confirmed checkpoint: exactly once, like the results, so they never go back, and go on over
	// starts. Names are those of the final log line.
	Counts []checkpoint.Count
	// Totals are the sums of Counts over partitions, for everything that the pipeline counts, zeros included, as declared.
	Totals []Total
	Sinks  []SinkStatus // as declared, dead-letter topics included
	// Refusals are what operators have refused last in this process, as of the newest checkpoint: of each one refusal, and the KeptRefusals newest, the newest first.
	// One that has ended the pipeline, under `on_error fail`, is a Failure.
	Refusals []Refusal
	// Held is output that readers of committed records do not see although its transaction has ended, or has lasted too long, sorted by topic and partition.
	Held []Held
}

// KeptCheckpoints and KeptFailures are how many of the past Status shows.
const (
	KeptCheckpoints = 100
	KeptFailures    = 20
)

// Phase is a part of the life of Run.
type Phase uint8

const (
	Starting   Phase = iota // up to the moment when the tasks run, or the first failure
	Running                 // the tasks run
	Restarting              // a transient failure: it pauses, then starts up again from the last checkpoint
	Stopping                // asked to stop: it takes the final checkpoint
	Finished                // Run has returned; if with an error, it is the last failure
)

func (p Phase) String() string {
	return [...]string{"starting", "running", "restarting", "stopping", "finished"}[p]
}

// Failure is why an attempt to run ended.
type Failure struct {
	Text   string       // without contents of records
	Kind   failure.Kind // Transient: it was tried again
	At     time.Time
	During Phase // in which it happened
	// Retried says that another attempt followed, or will.
	Retried bool
}

// CheckpointStatus is a confirmed checkpoint.
type CheckpointStatus struct {
	Number int64
	At     time.Time // when it was confirmed
	Bytes  int64     // of changed state that were saved
	Took   Durations
}

// Durations are how long the parts of a checkpoint took, one after the other.
type Durations struct {
	Align   time.Duration // from the barrier until every task had handed over its state
	Flush   time.Duration // until every record of the transaction was acknowledged, and its marker; 0 if that was sooner
	Store   time.Duration // until the checkpoint was on disk
	Commit  time.Duration // until the transaction was committed; 0 without exactly-once
	Confirm time.Duration // until the confirmation was on disk
}

// Total is from the barrier to the confirmation.
func (d Durations) Total() time.Duration { return d.Align + d.Flush + d.Store + d.Commit + d.Confirm }

// Histograms are how long checkpoints took: each part, and the whole.
type Histograms struct{ Align, Flush, Store, Commit, Confirm, Total Histogram }

func (h *Histograms) add(d Durations) {
	h.Align.add(d.Align)
	h.Flush.add(d.Flush)
	h.Store.add(d.Store)
	h.Commit.add(d.Commit)
	h.Confirm.add(d.Confirm)
	h.Total.add(d.Total())
}

// InFlight is a checkpoint between its barrier and its confirmation.
type InFlight struct {
	Number  int64
	Since   time.Time // of the barrier
	Waiting string    // for whom, such as `source task 2, sink writer`
}

// OperatorStatus is an operator with windows.
type OperatorStatus struct {
	ID, Place string
	W         int64 // its watermark in microseconds of event time; math.MinInt64: none yet, math.MaxInt64: the end
	// Keys are those in its open windows, each once for each window, at the barrier of the newest checkpoint that is confirmed in this process; Unknown before the first.
	Keys int64
}

// PartitionStatus is a partition of a source.
type PartitionStatus struct {
	Source string
	Topic  string
	ID     int32
	State  PartitionState

	Next      int64 // offset of the record to read next
	Bound     int64 // offset at which a bounded run ends; -1: none
	Watermark int64 // in microseconds of event time; math.MinInt64: none yet

	// End (the high watermark) and Stable (the last stable offset) are the greatest that were seen, with records or by
	// asking; -1 before the first. See Status.Looked.
	End    int64
	Stable int64
}

// Unknown is what Lag and StableLag are before the broker has said how far the partition goes, and Keys before they were counted.
const Unknown = -1

// Lag is how many offsets were not read yet; aborted records and markers of transactions have offsets too.
func (p PartitionStatus) Lag() int64 { return lag(p.Next, p.End) }

// StableLag is how many of them can be read: those behind the last stable offset wait for an open transaction.
func (p PartitionStatus) StableLag() int64 { return lag(p.Next, p.Stable) }

func lag(next, end int64) int64 {
	if end < 0 {
		return Unknown
	}
	return max(0, end-next)
}

// PartitionState says whether a partition is read, and whether it holds W.
type PartitionState uint8

const (
	Active  PartitionState = iota // read, and holds W
	Idle                          // nothing new for a while: does not hold W
	Paused                        // so far ahead of W that it is not read, until W follows
	AtBound                       // a bounded run has read it
)

func (s PartitionState) String() string {
	return [...]string{"active", "idle", "paused", "at-bound"}[s]
}

// SinkStatus is what was given to the producer for a sink in this process, as of the last slab. What a restart has thrown away and
// made again is in it twice; the count `out` has what was committed.
type SinkStatus struct {
	Name, Topic string
	Place       string // of a dead-letter topic that of its source
	Records     int64
	Bytes       int64 // of keys, values and values of headers, before compression
	Clamped     int64 // of the records, those whose timestamp was moved into what brokers take
	Lost        int64 // of the records, those of delivery none that did not arrive
}

// Total is what an operator has counted under a name, over all partitions.
type Total struct {
	CounterSpec
	N int64
}

// Status is the pipeline as it stands. It may be called at any time, before Run and after it too.
func (e *Engine) Status() Status { return e.board.status(e.Spec, e.Options.Checkpoint) }

// status is what the attempt knows of partitions and operators.
func (a *attempt) status() attemptStatus {
	out := attemptStatus{tasks: len(a.sources)}
	if at := a.looked.Load(); at != nil {
		out.looked = *at
	}
	a.mu.Lock()
	assigned := slices.Clone(a.assigned)
	if a.machine != nil && a.machine.InFlight() {
		out.inFlight = &InFlight{Number: a.machine.Number(), Since: a.began, Waiting: a.machine.Waiting()}
	}
	a.mu.Unlock()
	w, parts := a.tracker.view()
	for i, op := range a.Spec.Operators {
		out.operators = append(out.operators, OperatorStatus{ID: op.ID, Place: op.Place, W: w[i]})
	}
	slices.SortFunc(assigned, func(a, b slot) int { return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.id, b.id)) })
	for _, s := range assigned {
		p, source := parts[s.slot], a.Spec.Sources[s.source]
		out.partitions = append(out.partitions, PartitionStatus{
			Source: source.Name, Topic: source.Topic, ID: s.id, State: stateOf(p, s.reach), Next: p.next, Bound: s.bound, Watermark: p.watermark,
			End: s.reach.end.Load(), Stable: s.reach.stable.Load(),
		})
	}
	return out
}

func stateOf(p partTrack, r *reach) PartitionState {
	switch {
	case p.finished:
		return AtBound
	case r.paused.Load():
		return Paused
	case !p.active:
		return Idle
	}
	return Active
}
