package engine

import (
	"context"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

const (
	overtakenLimit = 5 * time.Second        // for a copy that has taken the transactional ids to start
	overtakenEvery = 250 * time.Millisecond // how often it is asked whether it has
	retakeEvery    = time.Minute            // how often the ids are taken again, lest two copies do so in turn
)

// heedFence finds out why a producer was fenced. If another copy of the pipeline has started, this one ends with err. If nobody has, a request of a process that
// is dead was carried out late, or a start was refused: then the ids are taken again, by a start as any other, which looks at the marker. A
// copy that is starting gets some time to do so; if it is slower, each fences the other, and the one that has taken them again within
// retakeEvery leaves the other all of that time. As long as no coordinator tells who has started, the ids are not taken, and they are asked.
func (e *Engine) heedFence(ctx context.Context, stop <-chan struct{}, sink Sink, err error) error {
	if failure.KindOf(err) != failure.Fenced || sink == nil {
		return err
	}
	patience := overtakenLimit
	if !e.retook.IsZero() {
		patience = max(patience, retakeEvery-time.Since(e.retook))
	}
	e.board.ponder()
	e.Options.Log.Warn("a transactional id of the pipeline was taken by somebody: if no other copy of it starts, the ids are taken again",
		"error", err, "within", patience.Round(time.Second).String())
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a coordinator that is silent does not hold up a stop
		select {
		case <-stop:
			cancel()
		case <-asking.Done():
		}
	}()
	said := false
	for began := time.Now(); ; {
		overtaken, unknown := sink.Overtaken(asking)
		switch {
		case overtaken:
			return err
		case unknown == nil && time.Since(began) >= patience:
			e.retook = time.Now()
			return failure.New(failure.Transient, "", nil, "a transactional id of the pipeline was taken, but no other copy of it has started: the ids are taken again")
		case unknown != nil && asking.Err() == nil && !said:
			said = true
			e.Options.Log.Warn("whether another copy of the pipeline has started is not known: the coordinators of its transactional ids are asked until one tells", "error", unknown)
		}
		select {
		case <-time.After(overtakenEvery):
		case <-stop:
			return failure.New(failure.Transient, "", unknown, "a transactional id of the pipeline was taken, and by whom was not known yet")
		case <-ctx.Done():
			return err
		}
	}
}
