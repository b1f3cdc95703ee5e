package engine

import (
	"context"
	"errors"
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
// copy that is starting gets some time to do so; if it is slower, each fences the other, and the one that does so again within
// retakeEvery ends. As long as the coordinator does not answer it is not known, and the ids are not taken.
func (e *Engine) heedFence(ctx context.Context, sink Sink, err error) error {
	if failure.KindOf(err) != failure.Fenced || sink == nil || !e.retook.IsZero() && time.Since(e.retook) < retakeEvery {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, RestartBudget)
	defer cancel()
	for began := time.Now(); ; {
		overtaken, unknown := sink.Overtaken(ctx)
		if overtaken {
			return err
		}
		if unknown == nil && time.Since(began) >= overtakenLimit {
			break
		}
		select {
		case <-time.After(overtakenEvery):
		case <-ctx.Done():
			return err
		}
	}
	e.retook = time.Now()
	return failure.New(failure.Transient, "", errors.Unwrap(err), "a transactional id of the pipeline was taken, but no other copy of it has started: the ids are taken again")
}
