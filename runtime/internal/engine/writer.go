package engine

import (
	"context"
	"sync"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// Limits of the way from tasks to the sink: slabs that may wait for the writer, empty slabs kept for each sink, and how large one
// of these is: a slab is as large as the largest record that it ever held.
const (
	writerDepth = 8
	freeSlabs   = 64 // about what the limit of bytes on their way leaves room for: a slab that is not kept has to grow again
	keptBytes   = 256 << 10
)

// writer is the one place that produces. Tasks send it slabs and barriers; between the barrier N-1
// and the barrier N of all tasks lies transaction N.
type writer struct {
	sink  Sink
	tasks int // that send a barrier
	in    chan output
	free  []chan *record.Slab // by sink
	sent  []sinkTally         // by sink
	anchorage

	mu        sync.Mutex
	changed   sync.Cond
	prepared  int64 // the last transaction whose records are all acknowledged
	committed int64 // the last transaction that is committed
	closed    bool
}

// output is what a task sends to the writer: a slab, or its barrier with the positions of its partitions.
type output struct {
	slab      *record.Slab
	barrier   *barrier
	positions []Position
}

// prepare is what the writer tells the coordinator: that a transaction is prepared.
type prepare struct {
	n           int64
	committable checkpoint.Committable
	written     []checkpoint.Written
}

func newWriter(sinks []sinkTally) *writer {
	w := &writer{in: make(chan output, writerDepth), sent: sinks}
	w.changed.L = &w.mu
	for range sinks {
		w.free = append(w.free, make(chan *record.Slab, freeSlabs))
	}
	return w
}

// begin says how many tasks there are, and which transaction is the last that is committed.
func (w *writer) begin(tasks int, last int64) { w.tasks, w.prepared, w.committed = tasks, last, last }

// recycle takes a slab back whose records are all acknowledged.
func (w *writer) recycle(s *record.Slab) {
	s.Reset()
	if cap(s.Data)+cap(s.HeaderText)+record.SlabHeaderSize*cap(s.Headers) > keptBytes {
		return
	}
	select {
	case w.free[s.Sink] <- s:
	default: // enough are kept; this one is the garbage collector's
	}
}

// empty returns a slab for the sink.
func (w *writer) empty(sink int) *record.Slab {
	select {
	case s := <-w.free[sink]:
		return s
	default:
		return &record.Slab{Sink: sink}
	}
}

// run writes one transaction after the other, until the final barrier or ctx ends.
func (w *writer) run(ctx context.Context, done chan<- prepare) error {
	for n := w.prepared + 1; ; n++ {
		// Two producers are used in turn: the one for n is free when n-2 is committed.
		if !w.await(&w.committed, n-2) {
			return context.Cause(ctx)
		}
		if err := w.sink.Begin(ctx, n); err != nil {
			return err
		}
		w.reach(&w.prepared, n-1)
		final, p, err := w.transaction(ctx, n)
		if err != nil {
			return err
		}
		select {
		case done <- p:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if final {
			return nil
		}
	}
}

// transaction takes the output of transaction n up to the barrier of all tasks and prepares it.
func (w *writer) transaction(ctx context.Context, n int64) (final bool, p prepare, err error) {
	var positions []Position
	for missing := w.tasks; missing > 0; {
		select {
		case <-ctx.Done():
			return false, p, context.Cause(ctx)
		case o := <-w.in:
			if o.slab != nil {
				w.count(o.slab)
				if err := w.sink.Write(ctx, o.slab); err != nil {
					return false, p, err
				}
				continue
			}
			if o.barrier.n != n {
				return false, p, failure.New(failure.Internal, "", nil, "barrier %d came in transaction %d", o.barrier.n, n)
			}
			positions = append(positions, o.positions...)
			final = o.barrier.final
			missing--
		}
	}
	p.n = n
	p.committable, p.written, err = w.sink.Prepare(ctx, n, w.at(n, positions))
	return final, p, err
}

// count tells what is sent. The sink may give the slab back at once, so it comes first.
func (w *writer) count(s *record.Slab) {
	w.sent[s.Sink].records.Add(int64(len(s.Records)))
	w.sent[s.Sink].bytes.Add(int64(len(s.Data) + len(s.HeaderText)))
}

// put sends what a task has for transaction n. It waits until n-1 is prepared: a record
// that lands in n before one of n-1 for the same key would turn their order round.
func (w *writer) put(ctx context.Context, n int64, o output) bool {
	if !w.await(&w.prepared, n-1) {
		return false
	}
	select {
	case w.in <- o:
		return true
	case <-ctx.Done():
		return false
	}
}

// commit says that the transaction n is committed.
func (w *writer) commit(n int64) { w.reach(&w.committed, n) }

func (w *writer) await(level *int64, n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for *level < n && !w.closed {
		w.changed.Wait()
	}
	return !w.closed
}

func (w *writer) reach(level *int64, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*level = max(*level, n)
	w.changed.Broadcast()
}

// close makes everybody who waits for the writer give up.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.changed.Broadcast()
}
