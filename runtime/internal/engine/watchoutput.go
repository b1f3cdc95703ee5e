package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// outputWatch notices output that stays invisible while the pipeline runs.
type outputWatch struct {
	*attempt
	seen    map[outPlace]*stuck
	missing int // looks in a row that have missed a topic
}

// stuck is a partition whose last stable offset does not move.
type stuck struct {
	stable int64
	since  time.Time
	asked  limiter
	held   *Held // what was found out; nil: nothing yet, or it is as it should be
}

// outPlace names a partition of a sink.
type outPlace struct {
	topic string
	id    int32
}

// watchOutput looks at the topics of the exactly-once sinks and their partitions until ctx ends.
func (a *attempt) watchOutput(ctx context.Context) error {
	w := &outputWatch{attempt: a, seen: map[outPlace]*stuck{}}
	tick := time.NewTicker(outputEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case now := <-tick.C:
			topics, err := a.clusters.job().Topics(ctx, a.Spec.Outputs())
			if err == nil {
				_, another := a.outputsAre(topics) // what is in doubt, the next look decides
				if gone := cmp.Or(another, w.missed(topics)); gone != nil {
					return gone
				}
				err = w.look(ctx, now)
			}
			if err != nil && ctx.Err() == nil {
				a.log.Debug("the broker does not say which output can be seen", "error", err)
			}
		}
	}
}

// look asks once how far the output can be seen, and who holds it back where that has not moved for a while. A transaction that is open holds
// readers back too, so only one that its coordinator has ended is a fault, and one of which the cluster does not tell when it lasts.
func (w *outputWatch) look(ctx context.Context, now time.Time) error {
	all, err := Behind(ctx, w.clusters.job(), w.Spec.Outputs())
	if err != nil {
		return err
	}
	seen := map[outPlace]*stuck{}
	var ask []Held
	for _, h := range all {
		k := outPlace{h.Topic, h.Partition}
		p := w.seen[k]
		if p == nil || p.stable != h.Stable {
			p = &stuck{stable: h.Stable, since: now}
		}
		seen[k] = p
		if now.Sub(p.since) >= heldAfter && p.asked.open(now) {
			ask = append(ask, h)
		}
	}
	w.seen = seen
	lost, unknown, err := Own(checkpoint.Setup{IDs: w.IDs(), Newest: w.newest.Load(), Confirmed: true}).lost(ctx, w.clusters.job(), ask)
	if err != nil {
		return err // it is asked again at the next look
	}
	for _, h := range ask {
		p := seen[outPlace{h.Topic, h.Partition}]
		p.asked.last, p.held = now, nil
	}
	for _, h := range slices.Concat(lost, unknown) {
		p := seen[outPlace{h.Topic, h.Partition}]
		if h.Denied != nil && now.Sub(p.since) < 2*w.Options.Checkpoint+CheckpointTimeout+CommitTimeout {
			continue // the open transaction of a checkpoint looks the same
		}
		p.held = &h
		w.report(h, now.Sub(p.since))
	}
	var held []Held
	for _, p := range seen {
		if p.held != nil {
			held = append(held, *p.held)
		}
	}
	w.board.held(held)
	return nil
}

func (w *outputWatch) report(h Held, since time.Duration) {
	fields := []any{"topic", h.Topic, "partition", h.Partition, "stable", h.Stable, "records", h.End - h.Stable, "for", since.Round(time.Second).String(), "do", RepairHelp}
	if h.Denied != nil {
		w.log.Warn("a sink's partition is held back from readers of committed records, and the cluster does not tell by whom", append(fields, "error", h.Denied)...)
		return
	}
	x := h.Holds[0]
	fate := map[checkpoint.Decision]string{checkpoint.ItIsCommitted: "committed", checkpoint.ItIsAborted: "aborted", checkpoint.NoDecision: "not known any more"}
	fields = append(fields, "producer_id", x.Producer, "producer_epoch", x.Epoch, "first", x.First, "fate", fate[w.fate(x)])
	switch {
	case !x.After.IsZero():
		fields = append(fields, "written_after", x.After.UTC())
	case !x.Last.IsZero():
		fields = append(fields, "last_timestamp", x.Last.UTC())
	}
	w.log.Warn("output of an ended transaction of this pipeline stays invisible to readers of committed records: a broker has lost its end marker", fields...)
}

// fate is what the newest checkpoint proves of a transaction.
func (w *outputWatch) fate(h Hold) checkpoint.Decision {
	return w.newest.Load().Fate(true, h.Producer, h.Epoch)
}
