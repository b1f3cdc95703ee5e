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
// retakeEvery leaves the other all of that time. As long as the coordinator does not answer it is not known, and the ids are not taken.
func (e *Engine) heedFence(ctx context.Context, stop <-chan struct{}, sink Sink, err error) error {
	if failure.KindOf(err) != failure.Fenced || sink == nil {
		return err
	}
	patience := overtakenLimit
	if !e.retook.IsZero() {
		patience = max(patience, retakeEvery-time.Since(e.retook))
	}
	e.board.enter(Restarting)
	e.Options.Log.Warn("a transactional id of the pipeline was taken by somebody: if no other copy of it starts, the ids are taken again",
		"error", err, "within", patience.Round(time.Second).String())
	limit := time.After(patience + RestartBudget)
	for began := time.Now(); ; {
		overtaken, unknown := sink.Overtaken(ctx)
		switch {
		case overtaken:
			return err
		case unknown == nil && time.Since(began) >= patience:
			e.retook = time.Now()
			return failure.New(failure.Transient, "", nil, "a transactional id of the pipeline was taken, but no other copy of it has started: the ids are taken again")
		}
		select {
		case <-time.After(overtakenEvery):
		case <-limit:
			return failure.New(failure.Fenced, "make sure that no other copy of it runs, and start it again", unknown,
				"a transactional id of the pipeline was taken, and whether another copy of it has started is not known")
		case <-stop:
			return failure.New(failure.Transient, "", unknown, "a transactional id of the pipeline was taken, and by whom was not known yet")
		case <-ctx.Done():
			return err
		}
	}
}
