package runtime

import (
	"iter"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Tumbling is a keyed tumbling window. S is what it keeps for one key in one
// window, V what one row adds. Neither may hold a pointer: the garbage collector
// shall not look into state.
//
// A row comes in with Add, waits for others in front of the exchange, and meets its
// state in the loop of Pending, in this task or in the one that owns its key.
type Tumbling[S, V any] struct {
	task  *Task
	spec  TumblingSpec[S, V]
	grid  grid
	err   error // of folding when there is nobody to give it to
	late  *counter
	added *counter

	// In front of the exchange.
	exchange[V]
	last  span // the window of the last row
	floor Time // windows up to here are closed for the batch

	// Behind it.
	windows[S]
	folding *rowBatch[V]
	at      [BatchSize]*Pane[S] // where the rows of folding belong
	touched uint64
}

// TumblingSpec declares a tumbling window.
type TumblingSpec[S, V any] struct {
	Name, Place string
	Sources     []*Source // all whose records reach it

	// A window [start, end) has start = Offset + n × Size, and is closed when W reaches end + Grace.
	Size, Offset, Grace Time

	// Fold is a loop over Pending. It is called for each batch of rows.
	Fold func()
	// Close is called for each closed window, the oldest first. After it the window's memory is used
	// again.
	Close func(*Pane[S])

	// Append and Read are the codec of S for checkpoints. Read returns what
	// follows in b, or nil if b is damaged.
	Append func(b []byte, s *S) []byte
	Read   func(b []byte, s *S) []byte
}

// NewTumbling declares a window.
func NewTumbling[S, V any](t *Task, spec TumblingSpec[S, V]) *Tumbling[S, V] {
	w := &Tumbling[S, V]{
		task: t, spec: spec, grid: newGrid(spec.Size, spec.Offset, spec.Grace), last: noSpan,
		late:     t.counter(spec.Name, spec.Place, countLate),
		added:    t.counter(spec.Name, spec.Place, countAggregated),
		exchange: newExchange[V](t.targets),
		windows:  newWindows[S](t.allocate),
	}
	t.operators = append(t.operators, w)
	return w
}

// Add takes the row of the current record of in, with its key and event time. It returns false if
// the row is late: the partition's own watermark has passed the window, or the window was closed when
// the partition became active.
func (w *Tumbling[S, V]) Add(in *Batch, key []byte, at Time, val V) bool {
	if at < w.last.start || at >= w.last.end {
		w.last = w.grid.span(at)
	}
	if w.last.closeAt <= max(in.watermark, w.floor) {
		w.late.n[in.origin]++
		return false
	}
	w.added.n[in.origin]++
	if target, full := w.put(key, w.last.start, val); full {
		w.pass(target)
	}
	return true
}

// pass folds the rows that wait for a target, or hands them over.
func (w *Tumbling[S, V]) pass(target int) {
	if w.task.targets > 0 {
		w.task.out.Rows(w.index(), target, w.take(target))
		return
	}
	if err := w.fold(w.waiting[target]); w.err == nil {
		w.err = err
	}
	w.waiting[target].reset()
}

// Pending yields each row at hand with its state, to be changed in place. A new
// state is zero.
func (w *Tumbling[S, V]) Pending() iter.Seq2[*S, V] {
	return func(yield func(*S, V) bool) {
		rows := w.folding.rows()
		for i := range rows {
			r := &rows[i]
			if !yield(w.at[i].state(&r.key, w.folding.long, w.epoch), r.val) {
				return
			}
		}
		w.folding = nil
	}
}

// fold lets the rows meet their state.
func (w *Tumbling[S, V]) fold(b *rowBatch[V]) error {
	if err := w.touch(b.rows()); err != nil {
		return err
	}
	w.folding = b
	w.spec.Fold()
	if w.folding != nil {
		return w.bug("Fold has not taken all rows")
	}
	return w.room.err
}

// touch finds the window of each row and touches the row's slot. The reads do not depend on each other, so
// their cache misses overlap; one by one they would cost more than all the rest.
func (w *Tumbling[S, V]) touch(rows []row[V]) error {
	var sum uint64
	p := w.current
	for i := range rows {
		r := &rows[i]
		if r.start != p.Start {
			if p = w.open(w.grid.span(r.start)); p == nil {
				return w.bug("a row for the window at %s, although W is at %s", AppendTime(nil, r.start), AppendTime(nil, w.closed))
			}
		}
		w.at[i] = p
		sum += p.touch(r.key.hash)
	}
	w.touched = sum
	return nil
}

func (w *Tumbling[S, V]) bug(what string, args ...any) error {
	return failure.New(failure.Internal, "this is a bug of eoc: please report it", nil, w.spec.Name+" ("+w.spec.Place+"): "+what, args...)
}

// RejectResult does what the strictest on_error of the sources says with a result of window p that
// fails in clause c. json is the result as a row.
func (w *Tumbling[S, V]) RejectResult(c *Clause, p *Pane[S], f Fault, json []byte) {
	w.task.refuseResult(c, w.spec.Sources, p.Start, p.End, f, json)
}

// index is the number of w among the task's operators.
func (w *Tumbling[S, V]) index() int {
	for i, op := range w.task.operators {
		if op == operator(w) {
			return i
		}
	}
	panic("unreachable")
}

func (w *Tumbling[S, V]) declaration() engine.OperatorSpec {
	d := engine.OperatorSpec{ID: w.spec.Name, Place: w.spec.Place, Size: int64(w.grid.size)}
	for _, s := range w.spec.Sources {
		d.Sources = append(d.Sources, s.index)
	}
	return d
}

func (w *Tumbling[S, V]) begin(floor Time) { w.floor = floor }

func (w *Tumbling[S, V]) end() error {
	if w.task.targets == 0 && w.waiting[0].n > 0 {
		w.pass(0)
	}
	return w.err
}

func (w *Tumbling[S, V]) send() {
	for target, b := range w.waiting {
		if b.n > 0 {
			w.pass(target)
		}
	}
}

func (w *Tumbling[S, V]) accept(rows engine.Rows) error {
	b := rows.(*rowBatch[V])
	err := w.fold(b)
	b.giveBack()
	return err
}

func (w *Tumbling[S, V]) advance(at Time) (closed int) {
	for p := range w.closeUpTo(at) {
		w.spec.Close(p)
		w.task.freeScratch()
		closed++
	}
	return closed
}
