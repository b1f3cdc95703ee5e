package runtime

import (
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// worker is a Task as the engine drives it.
type worker struct{ t *Task }

var _ engine.Worker = worker{}

func (w worker) Process(p *engine.Partition, records []record.Record) error {
	t := w.t
	t.origin, t.clock = t.originOf(p), time.Time{}
	for chunk := range slices.Chunk(records, BatchSize) {
		if err := t.sources[p.Source].take(p, chunk); err != nil {
			return err
		}
	}
	t.origin = 0
	for _, op := range t.operators {
		op.send()
	}
	return nil
}

func (w worker) Accept(op int, rows engine.Rows) error { return w.t.operators[op].accept(rows) }

func (w worker) Advance(op int, at int64) (closed int, err error) {
	w.t.clock = time.Time{}
	closed = w.t.operators[op].advance(Time(at))
	return closed, w.t.err
}

func (w worker) Flush() {
	for _, op := range w.t.operators {
		op.send()
	}
	for _, s := range w.t.sinks {
		s.flush()
	}
}

func (w worker) Snapshot() []checkpoint.Delta {
	w.t.deltas = w.t.deltas[:0]
	for _, op := range w.t.operators {
		w.t.deltas = op.snapshot(w.t.deltas)
	}
	return w.t.deltas
}

func (w worker) Restore(d checkpoint.Delta) error {
	op, err := w.t.operatorOf(d.Operator)
	if err != nil {
		return err
	}
	return op.restore(d)
}

func (w worker) Held(yield func(op int, start int64, keys int, bytes int64)) {
	for i, op := range w.t.operators {
		op.held(func(start Time, keys int, bytes int64) { yield(i, int64(start), keys, bytes) })
	}
}

func (w worker) Counts(to []checkpoint.Count) []checkpoint.Count { return w.t.counts(to) }

func (w worker) Refused(to []engine.Refusal) []engine.Refusal { return w.t.refused(to) }
