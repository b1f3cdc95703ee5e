package engine

import (
	"context"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
	"github.com/eoc-lang/eoc/runtime/internal/memory"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// barrier is the border between what belongs to checkpoint n and what comes after it.
type barrier struct {
	n     int64
	final bool // nothing comes after it
}

// ack is what a task hands over at a barrier.
type ack struct {
	task       int
	n          int64
	partitions []checkpoint.Partition // of a source task
	w          []int64                // W of each operator, of a task that keeps windows
	deltas     []checkpoint.Delta
	counts     []checkpoint.Count // since the task began
	refusals   []Refusal          // since the last barrier
	keys       []int64            // in the open windows of each operator, of a task that keeps windows
}

// outlet is where the worker of one task puts what leaves it.
type outlet struct {
	ctx     context.Context
	writer  *writer
	txn     int64    // the transaction that the task's output belongs to
	sender  int      // the task's number in the inboxes
	inboxes []*inbox // of the keyed tasks; none if the task is alone
	memory  *memory.Guard
}

// Slab and Rows ignore what put returns: when it is false the engine is being torn down, the transaction
// will be aborted, and the task notices by itself.

func (o *outlet) Slab(s *record.Slab) *record.Slab {
	sink := s.Sink
	o.writer.put(o.ctx, o.txn, output{slab: s})
	return o.writer.empty(sink)
}

func (o *outlet) Rows(op, target int, rows Rows) {
	o.inboxes[target].put(o.sender, message{op: op, rows: rows})
}

func (o *outlet) Allocate(bytes int64, allocate func()) error {
	if err := o.memory.Allocate(bytes, allocate); err != nil {
		return outgrown(err)
	}
	return nil
}

// broadcast sends a message to every keyed task.
func (o *outlet) broadcast(m message) {
	for _, b := range o.inboxes {
		b.put(o.sender, m)
	}
}

// keyedTask folds rows that source tasks send it into windows, and closes these.
type keyedTask struct {
	id     int
	worker Worker
	out    *outlet
	inbox  *inbox
	w      []int64   // W of each operator
	from   [][]int64 // what each source task has said of W
	acks   chan<- ack
	active func() // a window closed: there is something for a checkpoint
}

func newKeyedTask(id, senders int, w []int64) *keyedTask {
	t := &keyedTask{id: id, inbox: newInbox(senders), w: append([]int64(nil), w...)}
	for range senders {
		t.from = append(t.from, append([]int64(nil), w...))
	}
	return t
}

func (t *keyedTask) run(ctx context.Context) error {
	for {
		sender, m, ok := t.inbox.get()
		switch {
		case !ok:
			return context.Cause(ctx)
		case m.rows != nil:
			if err := t.worker.Accept(m.op, m.rows); err != nil {
				return err
			}
		case m.w != nil:
			if err := t.advance(sender, m.w); err != nil {
				return err
			}
		default:
			if !t.snapshot(ctx, m.barrier) {
				return context.Cause(ctx)
			}
			if m.barrier.final {
				return nil
			}
		}
	}
}

// advance takes the word of one source task. W is the least that any of them has said, since only
// what is behind the words of all has certainly arrived.
func (t *keyedTask) advance(sender int, said []int64) error {
	t.from[sender] = said
	for op := range t.w {
		w := said[op]
		for _, from := range t.from {
			w = min(w, from[op])
		}
		if w <= t.w[op] {
			continue
		}
		t.w[op] = w
		closed, err := t.worker.Advance(op, w)
		if err != nil {
			return err
		}
		if closed > 0 {
			t.active()
		}
	}
	return nil
}

// snapshot hands over the task's part of a checkpoint. It does not wait for the disk.
func (t *keyedTask) snapshot(ctx context.Context, b *barrier) bool {
	t.worker.Flush()
	a := ack{task: t.id, n: b.n, w: append([]int64(nil), t.w...), deltas: t.worker.Snapshot(), counts: t.worker.Counts(nil), refusals: t.worker.Refused(nil), keys: keysIn(t.worker, len(t.w))}
	failpoint.Hit(failpoint.AfterOperatorSnapshot)
	if !t.out.writer.put(ctx, t.out.txn, output{barrier: b}) {
		return false
	}
	t.out.txn = b.n + 1
	select {
	case t.acks <- a:
		return true
	case <-ctx.Done():
		return false
	}
}

// keysIn counts the keys in the open windows of each operator.
func keysIn(w Worker, operators int) []int64 {
	keys := make([]int64, operators)
	w.Held(func(op int, _ int64, n int, _ int64) { keys[op] += int64(n) })
	return keys
}
