package engine

import (
	"context"
	"slices"
	"time"
)

// Intervals of the watcher, and how long an open transaction may hold a partition before that is said.
const (
	lookEvery = time.Second
	passEvery = 100 * time.Millisecond
	heldAfter = 10 * time.Second
)

// watcher asks the broker how far each partition goes. From that follow which partitions are idle, and which are
// held back by somebody's open transaction.
type watcher struct {
	*attempt
	seen map[int]*watched // by slot

	said    []notices // by operator
	doubted []bool    // by source
	noticed time.Time // when that was last thought about
}

// watched is what the watcher has seen of a partition.
type watched struct {
	next   int64
	since  time.Time // nothing was read beyond next
	quiet  time.Time // and there was nothing to read; zero if there was
	warned bool
}

// watch runs until ctx ends.
func (a *attempt) watch(ctx context.Context) error {
	w := &watcher{attempt: a, seen: map[int]*watched{}, said: make([]notices, len(a.Spec.Operators)), doubted: make([]bool, len(a.Spec.Sources))}
	a.looked.Store(&time.Time{})
	every := lookEvery
	for _, s := range a.Spec.Sources {
		if s.Idle > 0 {
			every = max(10*time.Millisecond, min(every, s.Idle/4))
		}
	}
	look, pass := time.NewTicker(every), time.NewTicker(passEvery)
	defer look.Stop()
	defer pass.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case now := <-pass.C:
			// Time passes for idle partitions only while the broker says that they are: not while it does not answer, nor for
			// as long as this process was held up.
			if now.Sub(*w.looked.Load()) < 2*every+passEvery {
				a.tracker.pass(min(now.Sub(last), 2*passEvery))
			}
			last = now
		case <-look.C:
			all := true
			for i := range a.Spec.Sources {
				if err := w.look(ctx, i); err != nil {
					all = false
					a.log.Debug("the broker does not say how far a topic goes: nothing becomes idle", "source", a.Spec.Sources[i].Name, "error", err)
				}
			}
			if all {
				now := time.Now()
				a.looked.Store(&now)
				w.notice(now)
			}
		}
	}
}

// look asks about the partitions of a source. When the broker does not answer, nothing is idle: it is
// not known that there is nothing new.
func (w *watcher) look(ctx context.Context, source int) error {
	var ids []int32
	slots := slices.DeleteFunc(w.slots(), func(s slot) bool { return s.source != source })
	for _, s := range slots {
		ids = append(ids, s.id)
	}
	topic, cluster := w.Spec.Sources[source].Topic, w.clusters.of(w.Spec.Sources[source])
	asked := time.Now()
	stable, err := cluster.Offsets(ctx, topic, ids, OffsetAt{Kind: LastStable})
	if err != nil {
		return err
	}
	end, err := cluster.Offsets(ctx, topic, ids, OffsetAt{Kind: End})
	if err != nil {
		return err
	}
	for i, id := range ids {
		slots[i].reach.saw(end[id], stable[id])
		w.judge(ctx, source, slots[i].slot, id, asked, stable[id], end[id])
	}
	return nil
}

// judge compares how far a partition was read with how far it goes. Idle is one of which everything is read that the broker has. One
// that is fenced off by an open transaction is not: what is behind its last stable offset may be for us.
func (w *watcher) judge(ctx context.Context, source, slot int, id int32, asked time.Time, stable, end int64) {
	s := &w.Spec.Sources[source]
	next, active, finished := w.tracker.state(slot)
	p := w.seen[slot]
	if p == nil || p.next != next {
		p = &watched{next: next, since: asked}
		w.seen[slot] = p
	}
	switch {
	case finished:
	case next < end && next >= stable && !s.ReadUncommitted:
		p.quiet = time.Time{}
		w.tracker.wake(slot)
		if held := asked.Sub(p.since); held >= heldAfter && !p.warned {
			p.warned = true
			w.log.Warn("an open transaction of another producer holds a partition back; it is read on when that ends, or times out",
				append([]any{"source", s.Name, "place", s.Place, "topic", s.Topic, "partition", id, "stable", stable, "records", end - stable,
					"for", held.Round(time.Second).String()}, w.blocker(ctx, s, id, stable)...)...)
		}
	case next < end:
		p.quiet = time.Time{}
		w.tracker.wake(slot)
	case p.quiet.IsZero():
		p.quiet = asked
	case s.Idle > 0 && active && asked.Sub(p.quiet) >= s.Idle && w.tracker.idle(slot, next):
		w.log.Info("partition is idle: it no longer holds the watermark", "source", s.Name, "place", s.Place, "topic", s.Topic, "partition", id, "offset", next)
	}
}
