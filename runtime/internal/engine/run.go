package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/memory"
)

// Options is how one run of a pipeline is to be, beyond what it declares.
type Options struct {
	Parallelism  int
	Checkpoint   time.Duration // interval between two checkpoints
	Until        checkpoint.Until
	CreateTopics bool
	Fresh        bool                // begin a new incarnation, at the first start of the process only
	AcceptLoss   bool                // go on although input is gone, at the first start of the process only
	Decision     checkpoint.Decision // of a person, for Decide and Foresee
	Memory       *memory.Guard
	Log          *slog.Logger
}

// Limits of the protocol, see docs/checkpoint.md.
const (
	CheckpointTimeout = 30 * time.Second // a checkpoint that is not complete by then is abandoned
	CommitTimeout     = 60 * time.Second // a commit that the broker has not answered by then is undecided, and a start decides it
	TeardownTimeout   = 10 * time.Second // a task that has not ended by then, when all are to, ends the process
	RestartBudget     = 60 * time.Second // what a restart may take before the broker aborts a prepared transaction
	StopDeadline      = 25 * time.Second // a stop that takes longer ends the process; the next start goes on from there
)

// Engine runs one pipeline.
type Engine struct {
	Spec    *Spec
	Options Options
	// Store keeps the checkpoints. If it is nil, Run opens it with OpenStore, and gives it to Store: a disk that does not
	// answer then holds up the end of a run no longer than anything else.
	Store     Store
	OpenStore func() (Store, error)
	// Open makes contact with the cluster of a connection; see Clusters. It is called for each attempt, so that nothing of a broken one is left.
	Open func(ctx context.Context, connection int) (Cluster, error)

	board board // behind Status

	outputs map[string]Topic         // topics of exactly-once sinks, as the process knows them
	others  map[string]checkpoint.ID // those that have another id in the last look

	// What is left of the options that hold for the first start of the process.
	fresh, acceptLoss bool
	accepted          map[place]accepted

	holdings  []holding // what held the memory when that was too little
	uncounted bool      // it could not be counted
	built     bool      // state was in memory in this process, or began to be

	settled bool // what the last attempt or process has left is finished, and nothing was begun since

	retook  time.Time // when the transactional ids were last taken again from nobody
	endless bool      // it has been said that --until changes nothing
}

// Run runs the pipeline until stop is closed, its bounded input has ended or something fails that
// trying again does not mend. After a fault of network or broker it tears down and begins again from
// the last checkpoint in the same process, for ever, with pauses from RestartMin to RestartMax.
func (e *Engine) Run(ctx context.Context, stop <-chan struct{}) error {
	e.fresh, e.acceptLoss = e.Options.Fresh, e.Options.AcceptLoss
	e.board.begin(e.Spec)
	err := e.withHoldings(e.run(ctx, stop))
	if err != nil {
		e.board.failed(err, Finished)
	}
	e.board.enter(Finished)
	return err
}

func (e *Engine) run(ctx context.Context, stop <-chan struct{}) error {
	log := e.Options.Log
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go e.expire(ctx, stop, cancel)
	go e.watchMemory(ctx, cancel)
	if err := e.openStore(ctx); err != nil {
		return err
	}
	pause := e.Spec.RestartMin
	for {
		progress, err := e.attempt(ctx, stop)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx) // what failed, failed because of it
		}
		if err == nil || failure.KindOf(err) != failure.Transient {
			return err
		}
		e.board.failed(err, Restarting)
		if progress {
			pause = e.Spec.RestartMin
		}
		// Half of the pause is chance, so that pipelines that lost the same broker do not come back as one.
		wait := pause/2 + rand.N(pause/2+1)
		log.Warn("the pipeline cannot run; it goes on from its last checkpoint as soon as it can", "error", err, "retry", wait.Round(time.Millisecond).String())
		select {
		case <-time.After(wait):
		case <-stop:
			return failure.New(failure.Deadline, "nothing is lost: the next start goes on from the last checkpoint", err, "stopped without a final checkpoint")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause = min(2*pause, e.Spec.RestartMax)
	}
}

// expire ends everything when stopping takes too long, whatever the pipeline is doing. The coordinator has the same deadline and can
// say what it waits for, so it gets a moment to do so.
func (e *Engine) expire(ctx context.Context, stop <-chan struct{}, cancel context.CancelCauseFunc) {
	select {
	case <-stop:
		e.board.enter(Stopping)
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(StopDeadline + time.Second):
		cancel(failure.New(failure.Deadline, "nothing is lost: the next start goes on from the last checkpoint", nil, "stopping took longer than %s", StopDeadline))
	case <-ctx.Done():
	}
}

// openStore opens the store, if it is not open yet. One that is opened too late is closed again.
func (e *Engine) openStore(ctx context.Context) error {
	if e.Store != nil {
		return nil
	}
	var s Store
	late, err := bounded(ctx, func() (err error) {
		s, err = e.OpenStore()
		return err
	})
	if late != nil {
		go func() {
			if err := <-late; err == nil {
				_ = s.Close() // it has not been written to
			}
		}()
		return err
	}
	if err == nil {
		e.Store = s
	}
	return err
}

// bounded does what waits for a disk, for as long as ctx lets it: nothing ends a call to a disk that does not answer. If ctx is done
// first, the call goes on behind it, and its result comes through late.
func bounded(ctx context.Context, do func() error) (late <-chan error, err error) {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return nil, err
	case <-ctx.Done():
		return done, context.Cause(ctx)
	}
}

// attempt runs the pipeline once. progress says whether a checkpoint was confirmed.
func (e *Engine) attempt(ctx context.Context, stop <-chan struct{}) (progress bool, err error) {
	clusters, err := e.open(ctx)
	defer clusters.close()
	if err != nil {
		return false, e.settle(ctx, clusters, err)
	}
	a := &attempt{Engine: e, clusters: clusters, log: e.Options.Log, stop: stop, writer: newWriter(e.board.sinks), lag: make(chan []Position, 1)}
	inputs, err := a.topics(ctx)
	if err != nil {
		return false, e.settle(ctx, clusters, err)
	}
	if e.exactly() {
		if err := clusters.job().CheckTxnTimeout(ctx, e.Spec.TxnTimeout); err != nil {
			return false, err
		}
	}
	e.settled = false
	s := &startup{Engine: e, clusters: clusters, inputs: inputs, anchorage: a.anchorage}
	a.base, err = s.run(ctx, a.writer)
	if s.sink != nil {
		defer func() { e.leave(ctx, s.sink, err) }()
	}
	if err != nil {
		return false, e.heedFence(ctx, stop, s.sink, err)
	}
	a.last, a.sink, a.writer.sink = a.base, s.sink, s.sink
	a.proofs = checkpoint.ProofsFrom(a.base)
	a.newest.Store(a.base)
	e.board.loaded(a.base)
	if a.base.Ended {
		return false, s.finished(ctx, a.base)
	}
	if a.base.Partitions, err = s.available(ctx, a.base.Partitions); err != nil {
		return false, err
	}
	a.grown(ctx, inputs)
	e.acceptLoss = false // what was gone is known now; what goes from here on is another loss
	defer a.close()
	e.built = true
	if err := a.build(ctx); err != nil {
		a.noteHoldings(err)
		return false, err
	}
	e.Options.Log.Info("running", "checkpoint", a.base.Number, "partitions", len(a.base.Partitions), "parallelism", len(a.sources))
	if e.Options.Until.Bounded() && !a.bounded && !e.endless {
		e.endless = true
		e.Options.Log.Warn(Endless, "until", e.Options.Until.String())
	}
	e.board.show(a)
	err = a.run(ctx)
	a.noteHoldings(err)
	e.board.hide(a)
	if err != nil {
		return a.progress, e.heedFence(ctx, stop, a.sink, err)
	}
	e.report(a.last)
	return a.progress, nil
}

// leave closes the sink. If the process is about to end with an error, the open transaction is given up first, so that it
// does not hold back who reads its topics until the broker's patience ends. A restart fences it anyway.
func (e *Engine) leave(ctx context.Context, sink Sink, err error) {
	if err == nil || failure.KindOf(err) == failure.Transient {
		sink.Close()
		return
	}
	// The context may be done, after a stop that took too long. Abort has a limit of its own.
	if err := sink.Abort(context.WithoutCancel(ctx)); err != nil {
		e.Options.Log.Warn("the open transaction could not be aborted; the broker does it in time", "error", err)
	}
}

// finished answers a start behind the end of a bounded run: there is nothing to do, unless there is new input.
func (s *startup) finished(ctx context.Context, c *checkpoint.Checkpoint) error {
	extents, err := s.extents(ctx, c.Partitions)
	if err != nil {
		return err
	}
	for _, p := range c.Partitions {
		if to, ok := extents[place{p.Source, p.ID}]; ok && to.end > p.Bound {
			return failure.New(failure.State, "the windows of a finished run are closed for good: start with --fresh to read everything anew", nil,
				"the run has finished at offset %d of %s/%d, which goes on to offset %d", p.Bound, p.Topic, p.ID, to.end)
		}
	}
	s.Options.Log.Info("finished", "checkpoint", c.Number)
	return nil
}
