package engine

import (
	"context"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// QuietCheckpoint is how old the marker of a quiet pipeline may become until a checkpoint renews it. Brokers keep committed offsets for
// seven days by default (offsets.retention.minutes) and for a minute at least.
const QuietCheckpoint = 30 * time.Second

// coordinator does what checkpoint.Coordinator says: it sends barriers, keeps what the tasks hand over, and
// has checkpoints stored, committed and confirmed beside the running tasks.
type coordinator struct {
	*attempt
	acked   []ack
	written []checkpoint.Written // by the transaction in flight
	timeout *time.Timer
	results chan result
	busy    bool      // an action is at work, whose result is to come
	seen    int64     // activity at the last barrier
	took    Durations // of the checkpoint in flight, as far as it is
	lapped  time.Time // when the last part of it ended
	teller  *teller
}

// result is what came of an action that takes time.
type result struct {
	event checkpoint.Event
	err   error
}

// coordinate runs until the final checkpoint is confirmed, or until ctx ends or something fails.
func (a *attempt) coordinate(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &coordinator{attempt: a, results: make(chan result, 1), timeout: time.NewTimer(CheckpointTimeout), teller: newTeller(a.log, a.Spec, a.base.Counts)}
	c.timeout.Stop()
	defer c.timeout.Stop()
	defer func() {
		cancel()
		if e := c.settle(); e != nil {
			err = e
		}
	}()
	var names []string
	for id := range len(a.sources) + len(a.keyed) {
		names = append(names, a.taskName(id))
	}
	a.mu.Lock()
	a.began = time.Now()
	a.machine = checkpoint.NewCoordinator(checkpoint.Plan{Last: a.base.Number, Tasks: names, Exactly: a.exactly()})
	a.mu.Unlock()
	tick := time.NewTicker(a.Options.Checkpoint)
	defer tick.Stop()
	minute := time.NewTicker(sayEvery)
	defer minute.Stop()
	moved := a.tracker.subscribe()
	stop, deadline := a.stop, make(<-chan time.Time)
	for {
		var event checkpoint.Event
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			event = checkpoint.Tick{Active: a.activity.Load() != c.seen, Stale: time.Since(c.began) > QuietCheckpoint}
		case k := <-a.acks:
			c.acked = append(c.acked, k)
			if len(c.acked) == len(a.sources)+len(a.keyed) {
				c.lap(&c.took.Align)
			}
			event = checkpoint.TaskAcked{Number: k.n, Task: k.task}
		case p := <-a.prepares:
			c.written = p.written
			event = checkpoint.Prepared{Number: p.n, Committable: p.committable}
		case r := <-c.results:
			c.busy = false
			if event = r.event; r.err != nil {
				event = checkpoint.Failed{Err: r.err}
			}
		case <-c.timeout.C:
			event = checkpoint.TimedOut{Number: c.machine.Number()}
		case <-stop:
			a.log.Info("stopping: taking the final checkpoint")
			stop, deadline = nil, time.After(StopDeadline)
			event = checkpoint.StopRequested{}
		case <-deadline:
			c.busy = false // the process ends: whatever is at work need not be waited for
			return failure.New(failure.Deadline, "the next start goes on from the last checkpoint", nil,
				"stopping took longer than %s, waiting for %s", StopDeadline, c.machine.Waiting())
		case <-minute.C:
			c.teller.minute(c.board.counts())
			continue
		case <-moved:
			if !a.bounded || !a.tracker.allFinished() {
				continue
			}
			moved = nil
			event = checkpoint.EndReached{}
		}
		done, err := c.handle(ctx, event)
		if done || err != nil {
			return err
		}
	}
}

func (c *coordinator) handle(ctx context.Context, e checkpoint.Event) (done bool, err error) {
	c.note(e)
	c.mu.Lock()
	actions := c.machine.Handle(e)
	c.mu.Unlock()
	for _, action := range actions {
		switch action := action.(type) {
		case checkpoint.InjectBarrier:
			if err := c.inject(ctx, action); err != nil {
				return false, err
			}
		case checkpoint.Store:
			c.timeout.Stop()
			c.lap(&c.took.Flush)
			cp, err := c.assemble(action, c.acked, c.written)
			if err != nil {
				return false, err
			}
			c.last = cp
			c.start(func() result { return c.save(cp) })
		case checkpoint.Commit:
			c.start(func() result { return c.commit(ctx, action.Committable) })
		case checkpoint.Confirm:
			c.start(func() result { return c.confirm(action.Number) })
		case checkpoint.Restart:
			return true, action.Err
		case checkpoint.Stop:
			return true, action.Err
		}
	}
	return false, nil
}

// note does what follows from how far a checkpoint is, whatever comes next.
func (c *coordinator) note(e checkpoint.Event) {
	switch e := e.(type) {
	case checkpoint.Stored:
		c.lap(&c.took.Store)
	case checkpoint.Committed:
		c.lap(&c.took.Commit)
		c.writer.commit(e.Number)
		c.board.committed()
	case checkpoint.Confirmed:
		c.lap(&c.took.Confirm)
		c.writer.commit(e.Number) // without exactly-once nothing is committed before
		c.progress = true
		c.proofs.Add(c.last.Committable)
		c.newest.Store(c.last)
		refusals := c.refusals()
		c.board.confirmed(c.last, c.took, c.keys(), refusals)
		c.teller.confirmed(c.last.Counts)
		c.teller.skipped(refusals)
		c.tellLag(c.last)
		c.log.Debug("checkpoint is complete", "checkpoint", e.Number, "took", c.took.Total().String())
	}
}

// keys are how many keys the open windows of each operator had at the barrier of the checkpoint that was last acknowledged by all.
func (c *coordinator) keys() []int64 {
	sums := make([]int64, len(c.Spec.Operators))
	for _, a := range c.acked {
		for op, n := range a.keys {
			sums[op] += n
		}
	}
	return sums
}

// refusals are those that came with that barrier: of each operator of each task the last one, and the first that were skipped.
func (c *coordinator) refusals() (all []Refusal) {
	for _, a := range c.acked {
		all = append(all, a.refusals...)
	}
	return all
}

// lap ends a part of a checkpoint.
func (c *coordinator) lap(part *time.Duration) {
	now := time.Now()
	*part, c.lapped = now.Sub(c.lapped), now
}

// inject sends a barrier to every source task. At the end of the input W goes to the end of time first, so
// that every window closes before the barrier.
func (c *coordinator) inject(ctx context.Context, b checkpoint.InjectBarrier) error {
	failpoint.Hit(failpoint.BeforeBarrier)
	if b.Final == checkpoint.AtEnd {
		c.tracker.end()
	}
	c.acked, c.seen, c.took, c.lapped = nil, c.activity.Load(), Durations{}, time.Now()
	c.mu.Lock()
	c.began = c.lapped
	c.mu.Unlock()
	c.board.barrier()
	c.timeout.Reset(CheckpointTimeout)
	for _, t := range c.sources {
		select {
		case t.commands <- command{barrier: &barrier{n: b.Number, final: b.Final != checkpoint.NotFinal}}:
		case <-c.timeout.C:
			return failure.New(failure.Transient, "", nil, "checkpoint %d timed out: %s has not even taken the commands before its barrier", b.Number, c.taskName(t.id))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// start does an action beside the coordinator. There is one at a time, so results never fills.
func (c *coordinator) start(do func() result) {
	c.busy = true
	go func() { c.results <- do() }()
}

// settle waits for the action at work. The next attempt begins with what is on disk: a checkpoint that is
// stored behind its back would be one that it knows nothing of. So if the action does not end, the process does.
func (c *coordinator) settle() error {
	if !c.busy {
		return nil
	}
	select {
	case <-c.results:
		return nil
	case <-time.After(CheckpointTimeout):
		return failure.New(failure.Disk, "look at the disk of the state directory", nil, "gave up waiting for %s after %v", c.machine.Waiting(), CheckpointTimeout)
	}
}

func (c *coordinator) save(cp *checkpoint.Checkpoint) result {
	failpoint.Hit(failpoint.BeforeStore)
	err := c.Store.Save(cp)
	failpoint.Hit(failpoint.AfterStore)
	return result{checkpoint.Stored{Number: cp.Number}, err}
}

func (c *coordinator) commit(ctx context.Context, t checkpoint.Committable) result {
	failpoint.Hit(failpoint.BeforeEndTxn)
	err := c.sink.Commit(ctx, t)
	failpoint.Hit(failpoint.AfterEndTxn)
	return result{checkpoint.Committed{Number: t.Checkpoint}, err}
}

func (c *coordinator) confirm(n int64) result {
	failpoint.Hit(failpoint.BeforeConfirm)
	err := c.Store.Confirm(n)
	failpoint.Hit(failpoint.AfterConfirm)
	if s, ok := c.Store.(Sized); ok && err == nil {
		var size int64
		if size, err = s.Size(); err == nil {
			c.board.sized(size)
		}
	}
	return result{checkpoint.Confirmed{Number: n}, err}
}
