package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// sayEvery is how often at most one thing that goes on is said again.
const sayEvery = time.Minute

// limiter lets the first of its kind through, and then one each sayEvery.
type limiter struct{ last time.Time }

// due says that it is time to speak, and notes that it is done.
func (l *limiter) due(now time.Time) bool {
	if !l.open(now) {
		return false
	}
	l.last = now
	return true
}

// open says that it is time to speak.
func (l *limiter) open(now time.Time) bool { return l.last.IsZero() || now.Sub(l.last) >= sayEvery }

// notices limits what the watcher says of an operator.
type notices struct{ paused, held limiter }

// notice says who holds W of an operator back, if that keeps partitions from being read, or windows from ever closing.
func (w *watcher) notice(now time.Time) {
	if now.Sub(w.noticed) < lookEvery {
		return
	}
	w.noticed = now
	_, parts := w.tracker.view()
	slots := w.slots()
	w.doubt(slots, parts)
	for i, op := range w.Spec.Operators {
		mine := slices.DeleteFunc(slices.Clone(slots), func(s slot) bool { return !slices.Contains(op.Sources, s.source) })
		held, ok := holder(mine, parts, i)
		if !ok {
			continue
		}
		h, source := parts[held.slot], w.Spec.Sources[held.source]
		by := slog.Group("waits_for", "source", source.Name, "place", source.Place, "topic", source.Topic, "partition", held.id, "offset", h.next, "watermark", eventTime(h.watermark))
		quiet := w.seen[held.slot]
		if h.watermark == minTime && source.Idle == 0 && quiet != nil && !quiet.quiet.IsZero() && now.Sub(quiet.quiet) >= heldAfter {
			others := slices.ContainsFunc(mine, func(s slot) bool { return parts[s.slot].watermark != minTime })
			if others && w.said[i].held.due(now) {
				w.log.Warn("no window closes: a partition has no records yet, and its source, which says `idle never`, waits for the first", "operator", op.ID, "operator_place", op.Place, by)
			}
			continue
		}
		n := waiting(mine, parts)
		if n >= 0 && w.said[i].paused.due(now) {
			p := mine[n]
			w.log.Info("a partition has run ahead of the watermark, and is not read until that has followed", "source", w.Spec.Sources[p.source].Name, "topic", w.Spec.Sources[p.source].Topic,
				"partition", p.id, "offset", parts[p.slot].next, "watermark", eventTime(parts[p.slot].watermark), "operator", op.ID, by)
		}
	}
}

// plausible is 2000-01-01T00:00:00Z: few pipelines are about what was before.
const plausible = 946_684_800_000_000

// doubt says once of a source that its times are strange. What lies ahead is counted and said elsewhere, see countAhead.
func (w *watcher) doubt(slots []slot, parts []partTrack) {
	for _, s := range slots {
		if at := parts[s.slot].watermark; at != minTime && at < plausible && !w.doubted[s.source] {
			w.doubted[s.source] = true
			source := w.Spec.Sources[s.source]
			w.log.Warn("event times are before the year 2000; if that is not so, their unit is another one: seconds in a field of type timestamp(ms) look like this",
				"source", source.Name, "place", source.Place, "topic", source.Topic, "partition", s.id, "offset", parts[s.slot].next, "watermark", eventTime(at))
		}
	}
}

// holder is the partition that holds W of an operator back; ok is false if none does.
func holder(slots []slot, parts []partTrack, op int) (held slot, ok bool) {
	for _, s := range slots {
		if p := parts[s.slot]; p.active && !p.finished && (!ok || p.level(op) < parts[held.slot].level(op)) {
			held, ok = s, true
		}
	}
	return held, ok
}

// waiting is the index of a partition that is not read because it has run ahead, -1 if there is none. What is at its end has nothing to be read.
func waiting(slots []slot, parts []partTrack) int {
	return slices.IndexFunc(slots, func(s slot) bool { return s.reach.paused.Load() && !parts[s.slot].finished })
}

// eventTime is an event time for the log.
func eventTime(at int64) string {
	switch at {
	case minTime:
		return "none"
	case maxTime:
		return "end"
	}
	return time.UnixMicro(at).UTC().Format(time.RFC3339Nano)
}

// countAhead is the name of the count of records that were too far ahead of their Kafka timestamp to move the watermark.
const countAhead = "ahead"

// teller says what counts say, as they are confirmed.
type teller struct {
	log     *slog.Logger
	spec    *Spec
	said    []checkpoint.Count // in the last periodic line
	ahead   map[string]int64   // by source: said in the last warning
	limited map[string]*limiter
	skips   map[string]int // by operator: what was said of records that were skipped
}

func newTeller(log *slog.Logger, spec *Spec, counts []checkpoint.Count) *teller {
	t := &teller{log: log, spec: spec, said: counts, ahead: map[string]int64{}, limited: map[string]*limiter{}, skips: map[string]int{}}
	for _, s := range spec.Sources {
		t.ahead[s.Name], t.limited[s.Name] = total(counts, s.Name, countAhead), &limiter{}
	}
	return t
}

// confirmed warns of what a count means that few look at before they wonder.
func (t *teller) confirmed(counts []checkpoint.Count) {
	for _, s := range t.spec.Sources {
		n := total(counts, s.Name, countAhead)
		if more := n - t.ahead[s.Name]; more > 0 && t.limited[s.Name].due(time.Now()) {
			t.log.Warn("records are so far ahead of their own Kafka timestamp that they do not move the watermark; if that goes on, clocks are wrong and windows close late",
				"source", s.Name, "place", s.Place, "topic", s.Topic, "records", more, "in_all", n)
			t.ahead[s.Name] = n
		}
	}
}

// skipped says which were the first that each operator has skipped, and why: nothing else does, and who wrote on_error skip may have meant others.
func (t *teller) skipped(refusals []Refusal) {
	for _, r := range refusals {
		if !r.Skipped || t.skips[r.Operator] == FirstSkipped {
			continue
		}
		t.skips[r.Operator]++
		what := []any{"operator", r.Operator, "place", r.Place, "reason", r.Reason}
		if t.skips[r.Operator] == FirstSkipped {
			what = append(what, "others", "are counted")
		}
		if r.Topic != "" {
			t.log.Info("on_error has skipped a record", append(what, "topic", r.Topic, "partition", r.Partition, "offset", r.Offset)...)
		} else {
			t.log.Info("on_error has skipped a result", append(what, "window_start", eventTime(r.WindowStart), "window_end", eventTime(r.WindowEnd))...)
		}
	}
}

// minute says all counts, if they have changed.
func (t *teller) minute(counts []checkpoint.Count) {
	if !slices.Equal(counts, t.said) {
		t.said = counts
		t.log.Info("counts", slog.Group("counts", sums(counts)...))
	}
}

// total is what a count of an operator says, over all partitions.
func total(counts []checkpoint.Count, operator, name string) (n int64) {
	for _, c := range counts {
		if c.Operator == operator && c.Name == name {
			n += c.N
		}
	}
	return n
}

// sums are the counts over all partitions, for the log.
func sums(counts []checkpoint.Count) []any {
	var out []any
	for at := 0; at < len(counts); {
		c, n := counts[at], int64(0)
		for ; at < len(counts) && cmp.Or(cmp.Compare(counts[at].Operator, c.Operator), cmp.Compare(counts[at].Name, c.Name)) == 0; at++ {
			n += counts[at].N
		}
		out = append(out, slog.Int64(c.Operator+" "+c.Name, n))
	}
	return out
}

// report logs what became of all records, once the pipeline has ended.
func (e *Engine) report(c *checkpoint.Checkpoint) {
	message := "stopped"
	if c.Ended {
		message = "finished"
	}
	counts := make([]any, 0, len(c.Counts))
	for _, n := range c.Counts {
		counts = append(counts, slog.Int64(fmt.Sprintf("%s %s %s/%d", n.Operator, n.Name, n.Topic, n.Partition), n.N))
	}
	e.Options.Log.Info(message, "checkpoint", c.Number, slog.Group("counts", counts...))
}
