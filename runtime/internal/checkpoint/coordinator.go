package checkpoint

import (
	"fmt"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Plan is what the coordinator of a running pipeline has to know.
type Plan struct {
	Last    int64    // the confirmed checkpoint that the run began from
	Tasks   []string // names of the tasks that snapshot at a barrier, by number; the sink writer is not one of them
	Exactly bool     // a transaction belongs to each checkpoint
}

// Coordinator takes a running pipeline from checkpoint to checkpoint. It is fed events and answers with actions, to be
// done in order. What it cannot finish ends in Restart or Stop; from then on it answers nothing.
//
//	idle ──Tick──▶ aligning ──all acked and prepared──▶ storing ──Stored──▶ committing ──Committed──▶ confirming ──Confirmed──▶ idle
//
// One barrier is on its way at a time, and the next one is not sent before the last checkpoint is confirmed. Hence N+1 is never stored before N is confirmed (I5), and
// of two transactions at most one is prepared. Commit follows Stored and nothing else (I2).
type Coordinator struct {
	plan      Plan
	phase     phase
	number    int64 // of the newest checkpoint begun
	acked     []bool
	waiting   int // tasks that have not acknowledged
	prepared  bool
	committed Committable
	wanted    Final // the final checkpoint that is asked for
	final     Final // of the checkpoint in flight
}

type phase uint8

const (
	idle phase = iota
	aligning
	storing
	committing
	confirming
	over
)

// Final says that no checkpoint follows, and why.
type Final uint8

const (
	NotFinal Final = iota
	AtStop         // the process was asked to stop: windows stay open, in the state
	AtEnd          // the bounded input is read: every window closes before the barrier
)

// NewCoordinator begins behind a start.
func NewCoordinator(plan Plan) *Coordinator {
	return &Coordinator{plan: plan, number: plan.Last, acked: make([]bool, len(plan.Tasks))}
}

// Event is what happened.
type Event interface{ event() }

type (
	// Tick: the checkpoint interval is over. Active: a record was read or state changed since the last barrier.
	// Stale: the marker is so old that it must be written again, before it expires.
	Tick struct{ Active, Stale bool }
	// TaskAcked: the task has handed over its snapshot at barrier Number.
	TaskAcked struct {
		Number int64
		Task   int
	}
	// Prepared: the sink writer has every record of the transaction and its marker acknowledged. Without exactly-once:
	// every record is acknowledged, and Committable is zero.
	Prepared struct {
		Number      int64
		Committable Committable
	}
	// Stored: the checkpoint is durable.
	Stored struct{ Number int64 }
	// Committed: EndTxn was answered with "no error".
	Committed struct{ Number int64 }
	// Confirmed: the confirmation is durable.
	Confirmed struct{ Number int64 }
	// TimedOut: the checkpoint timeout has passed since the barrier.
	TimedOut struct{ Number int64 }
	// StopRequested: the process was asked to end.
	StopRequested struct{}
	// EndReached: every source has read its bounded input.
	EndReached struct{}
	// Failed: a part of the pipeline cannot go on.
	Failed struct{ Err error }
)

func (Tick) event()          {}
func (TaskAcked) event()     {}
func (Prepared) event()      {}
func (Stored) event()        {}
func (Committed) event()     {}
func (Confirmed) event()     {}
func (TimedOut) event()      {}
func (StopRequested) event() {}
func (EndReached) event()    {}
func (Failed) event()        {}

// Action is what to do next.
type Action interface{ action() }

type (
	// InjectBarrier starts checkpoint Number: every source sends the barrier. With AtEnd all windows close before it.
	InjectBarrier struct {
		Number int64
		Final  Final
	}
	// Store writes the checkpoint with what the tasks have handed over. Answered by Stored.
	Store struct {
		Number      int64
		Committable Committable
		Ended       bool
	}
	// Commit ends the transaction. Answered by Committed.
	Commit struct{ Committable Committable }
	// Restart tears the pipeline down and goes through start-up again.
	Restart struct{ Err error }
	// Stop ends the process. With Err it exits with the code of its kind; else everything is committed and confirmed.
	Stop struct {
		Final Final
		Err   error
	}
)

func (InjectBarrier) action() {}
func (Store) action()         {}
func (Commit) action()        {}
func (Confirm) action()       {}
func (Restart) action()       {}
func (Stop) action()          {}

// Handle takes an event and returns what to do. An event that is out of turn is a bug of the driver and stops the pipeline.
func (c *Coordinator) Handle(e Event) []Action {
	if c.phase == over {
		return nil
	}
	switch e := e.(type) {
	case Tick:
		if c.phase == idle && (e.Active || e.Stale) {
			return c.begin()
		}
	case TaskAcked:
		return c.ack(e)
	case Prepared:
		return c.prepare(e)
	case Stored:
		return c.stored(e)
	case Committed:
		if !c.turn(committing, e.Number) {
			return c.confused(e)
		}
		c.phase = confirming
		return []Action{Confirm{Number: c.number}}
	case Confirmed:
		return c.confirmed(e)
	case TimedOut:
		return c.timedOut(e)
	case StopRequested:
		return c.finish(AtStop)
	case EndReached:
		return c.finish(AtEnd)
	case Failed:
		return c.fail(e.Err)
	}
	return nil
}

// begin starts the next checkpoint.
func (c *Coordinator) begin() []Action {
	c.number++
	c.phase, c.final = aligning, c.wanted
	clear(c.acked)
	c.waiting, c.prepared, c.committed = len(c.acked), false, Committable{}
	return []Action{InjectBarrier{Number: c.number, Final: c.final}}
}

func (c *Coordinator) ack(e TaskAcked) []Action {
	if !c.turn(aligning, e.Number) || e.Task < 0 || e.Task >= len(c.acked) || c.acked[e.Task] {
		return c.confused(e)
	}
	c.acked[e.Task] = true
	c.waiting--
	return c.storeIfComplete()
}

func (c *Coordinator) prepare(e Prepared) []Action {
	if !c.turn(aligning, e.Number) || c.prepared {
		return c.confused(e)
	}
	if named := e.Committable.TransactionalID != ""; named != c.plan.Exactly || named && e.Committable.Checkpoint != e.Number {
		return c.confused(e)
	}
	c.prepared, c.committed = true, e.Committable
	return c.storeIfComplete()
}

func (c *Coordinator) storeIfComplete() []Action {
	if c.waiting > 0 || !c.prepared {
		return nil
	}
	c.phase = storing
	return []Action{Store{Number: c.number, Committable: c.committed, Ended: c.final == AtEnd}}
}

func (c *Coordinator) stored(e Stored) []Action {
	if !c.turn(storing, e.Number) {
		return c.confused(e)
	}
	if !c.plan.Exactly { // there is nothing to go back from
		c.phase = confirming
		return []Action{Confirm{Number: c.number}}
	}
	c.phase = committing
	return []Action{Commit{Committable: c.committed}}
}

func (c *Coordinator) confirmed(e Confirmed) []Action {
	if !c.turn(confirming, e.Number) {
		return c.confused(e)
	}
	if c.final != NotFinal {
		c.phase = over
		return []Action{Stop{Final: c.final}}
	}
	c.phase = idle
	if c.wanted != NotFinal {
		return c.begin()
	}
	return nil
}

// finish asks for the final checkpoint. It is made even if nothing happened since the last one: its marker is young, and the
// pipeline may rest for as long as offsets are kept. The end of the input outranks a stop that has not begun its checkpoint.
func (c *Coordinator) finish(f Final) []Action {
	c.wanted = max(c.wanted, f)
	if c.phase == idle {
		return c.begin()
	}
	return nil
}

// timedOut abandons a checkpoint that hangs between barrier and store. Later it is complete, and going back would gain
// nothing: the disk must answer, and the commit has its own deadline.
func (c *Coordinator) timedOut(e TimedOut) []Action {
	if c.phase != aligning || e.Number != c.number {
		return nil
	}
	return c.fail(failure.New(failure.Transient, "", nil, "checkpoint %d timed out waiting for %s", c.number, c.Waiting()))
}

// fail ends the run. What can be tried again goes through start-up, which decides what became of an unconfirmed transaction.
func (c *Coordinator) fail(err error) []Action {
	c.phase = over
	if failure.KindOf(err) == failure.Transient {
		return []Action{Restart{Err: err}}
	}
	return []Action{Stop{Err: err}}
}

// turn says whether an answer about checkpoint n is due in this phase.
func (c *Coordinator) turn(p phase, n int64) bool { return c.phase == p && c.number == n }

func (c *Coordinator) confused(e Event) []Action {
	return c.fail(failure.New(failure.Internal, "", nil, "the coordinator got %T%+v while checkpoint %d waits for %s", e, e, c.number, c.Waiting()))
}

// Number is that of the newest checkpoint begun.
func (c *Coordinator) Number() int64 { return c.number }

// InFlight says whether a checkpoint is between its barrier and its confirmation.
func (c *Coordinator) InFlight() bool { return c.phase != idle && c.phase != over }

// Waiting says what the checkpoint in flight waits for.
func (c *Coordinator) Waiting() string {
	switch c.phase {
	case aligning:
		var parts []string
		for i, name := range c.plan.Tasks {
			if !c.acked[i] {
				parts = append(parts, name)
			}
		}
		if !c.prepared {
			parts = append(parts, "sink writer")
		}
		return strings.Join(parts, ", ")
	case storing:
		return "the state store"
	case committing:
		return fmt.Sprintf("EndTxn of %s", c.committed.TransactionalID)
	case confirming:
		return "the confirmation in the state store"
	}
	return "nothing"
}
