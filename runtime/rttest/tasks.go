package rttest

import (
	"cmp"
	"math"
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// tasks is the workers of a run: those that read, and those that keep windows. One that is alone does both.
type tasks struct {
	run     *Run
	readers []engine.Worker
	keepers []engine.Worker
	w       []int64     // W of each operator
	ways    [][]*way    // ways[i][j] leads from reader i to keeper j
	reached [][][]int64 // reached[j][op][i]: W as keeper j heard it from reader i
	sent    int         // messages under way
}

// way is what is on its way from one task to another, in order.
type way struct{ messages []message }

// message is rows, or where W stands.
type message struct {
	op   int
	rows engine.Rows
	w    int64
}

// outlet takes what leaves a worker.
type outlet struct {
	tasks *tasks
	from  int
}

func newTasks(r *Run) *tasks {
	n := r.cfg.Parallelism
	t := &tasks{run: r, w: slices.Clone(r.saved.w)}
	if n <= 1 {
		alone := r.spec.New(outlet{t, 0}, 0)
		t.readers, t.keepers = []engine.Worker{alone}, []engine.Worker{alone}
		n = 1
	} else {
		for i := range n {
			t.readers = append(t.readers, r.spec.New(outlet{t, i}, n))
			t.keepers = append(t.keepers, r.spec.New(outlet{t, -1}, n))
		}
	}
	for range n {
		ways, reached := make([]*way, n), make([][]int64, len(t.w))
		for i := range ways {
			ways[i] = new(way)
		}
		for op := range reached {
			reached[op] = slices.Repeat([]int64{t.w[op]}, n)
		}
		t.ways, t.reached = append(t.ways, ways), append(t.reached, reached)
	}
	return t
}

// Slab keeps the records of a slab and gives it back.
func (o outlet) Slab(s *record.Slab) *record.Slab {
	written := &o.tasks.run.written[s.Sink]
	for _, span := range s.Records {
		r := Record{Time: span.Time, Offset: int64(len(*written)), Value: bytesOf(s.Data[span.KeyEnd:span.End])}
		if span.HasKey {
			r.Key = bytesOf(s.Data[span.Start:span.KeyEnd])
		}
		for _, h := range s.Headers[span.Headers:span.HeaderEnd] {
			r.Headers = append(r.Headers, Header{Key: h.Key, Value: bytesOf(s.HeaderText[h.Start:h.End])})
		}
		*written = append(*written, r)
	}
	s.Reset()
	return s
}

// bytesOf is a copy of b that is not nil.
func bytesOf(b []byte) []byte { return append([]byte{}, b...) }

// Rows sends rows on their way.
func (o outlet) Rows(op, target int, rows engine.Rows) {
	o.tasks.send(o.from, target, message{op: op, rows: rows})
}

// Allocate always has room: a test has what the machine has.
func (o outlet) Allocate(_ int64, allocate func()) error {
	allocate()
	return nil
}

func (t *tasks) send(from, to int, m message) {
	way := t.ways[from][to]
	way.messages = append(way.messages, m)
	t.sent++
}

// read lets the task that owns the partition read. The bytes of the records are overwritten afterwards, as those of a
// fetch buffer are.
func (t *tasks) read(p *partition, records []Record) error {
	buf := new(buffer)
	err := t.readers[p.Slot%len(t.readers)].Process(&p.Partition, buf.copies(records))
	buf.overwrite()
	if err != nil {
		return err
	}
	return t.deliver()
}

// advance tells all tasks of each operator where W stands: at the least watermark of its active partitions. Without one
// it stays.
func (t *tasks) advance() error {
	for op, spec := range t.run.spec.Operators {
		w, active := int64(math.MaxInt64), false
		for _, p := range t.run.parts {
			if p.active && slices.Contains(spec.Sources, p.Source) {
				w, active = min(w, max(p.Watermark, p.Floor[op])), true
			}
		}
		if active {
			t.moveTo(op, w)
		}
	}
	return t.deliver()
}

// moveTo sends W behind the rows that every reader has sent before.
func (t *tasks) moveTo(op int, w int64) {
	if w <= t.w[op] {
		return
	}
	t.w[op] = w
	for from := range t.readers {
		for to := range t.keepers {
			t.send(from, to, message{op: op, w: w})
		}
	}
}

// end moves W to the end of time.
func (t *tasks) end() error {
	for op := range t.w {
		t.moveTo(op, math.MaxInt64)
	}
	return t.drain()
}

// deliver lets arrive what is on its way, or with Rand a part of it.
func (t *tasks) deliver() error {
	r := t.run.cfg.Rand
	if r == nil {
		return t.drain()
	}
	for n := r.IntN(2*t.sent + 1); n > 0; n-- {
		if err := t.arrive(r.IntN(len(t.readers)), r.IntN(len(t.keepers))); err != nil {
			return err
		}
	}
	return nil
}

// drain lets everything arrive.
func (t *tasks) drain() error {
	for from := range t.readers {
		for to := range t.keepers {
			for len(t.ways[from][to].messages) > 0 {
				if err := t.arrive(from, to); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// arrive takes the first message of a way, if there is one.
func (t *tasks) arrive(from, to int) error {
	way := t.ways[from][to]
	if len(way.messages) == 0 {
		return nil
	}
	m := way.messages[0]
	way.messages = way.messages[1:]
	t.sent--
	if m.rows != nil {
		return t.keepers[to].Accept(m.op, m.rows)
	}
	heard := t.reached[to][m.op]
	before := slices.Min(heard)
	heard[from] = m.w
	if w := slices.Min(heard); w > before {
		_, err := t.keepers[to].Advance(m.op, w)
		return err
	}
	return nil
}

// all yields each worker once.
func (t *tasks) all() []engine.Worker {
	if len(t.readers) == 1 {
		return t.readers
	}
	return slices.Concat(t.readers, t.keepers)
}

func (t *tasks) flush() {
	for _, w := range t.all() {
		w.Flush()
	}
}

func (t *tasks) snapshot() (deltas []checkpoint.Delta) {
	for _, w := range t.all() {
		for _, d := range w.Snapshot() {
			d.Data = slices.Clone(d.Data)
			deltas = append(deltas, d)
		}
	}
	return deltas
}

func (t *tasks) counts() (counts []Count) {
	for _, w := range t.all() {
		counts = w.Counts(counts)
	}
	return counts
}

// restore gives the keepers the state of a checkpoint.
func (t *tasks) restore(s saved) error {
	for op, w := range s.w {
		for _, k := range t.keepers {
			if _, err := k.Advance(op, w); err != nil {
				return err
			}
		}
	}
	for _, d := range t.merged(s) {
		owner := checkpoint.Owner(d.Group, len(t.keepers))
		if err := t.keepers[owner].Restore(d); err != nil {
			return err
		}
	}
	return nil
}

// merged is the deltas of a checkpoint, of which Rand merges some as a store does: a number of the oldest of a
// group and operator.
func (t *tasks) merged(s saved) (deltas []checkpoint.Delta) {
	type id struct {
		op    string
		group int
	}
	byID := map[id][][]byte{}
	for _, d := range s.deltas {
		i := id{d.Operator, d.Group}
		byID[i] = append(byID[i], d.Data)
	}
	for op, spec := range t.run.spec.Operators {
		for g := range checkpoint.Groups {
			list := byID[id{spec.ID, g}]
			if r := t.run.cfg.Rand; r != nil && len(list) > 1 {
				n := 1 + r.IntN(len(list))
				base, err := t.run.spec.Merge(spec.ID, g, list[:n], s.w[op])
				if err != nil {
					panic(err) // these deltas have just been made
				}
				list = append([][]byte{base}, list[n:]...)
			}
			for _, data := range list {
				deltas = append(deltas, checkpoint.Delta{Operator: spec.ID, Group: g, Data: data})
			}
		}
	}
	return deltas
}

// sumCounts adds up counts of the same thing and sorts them.
func sumCounts(counts []Count) []Count {
	slices.SortFunc(counts, func(x, y Count) int {
		return cmp.Or(cmp.Compare(x.Operator, y.Operator), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Partition, y.Partition))
	})
	var sums []Count
	for _, c := range counts {
		if n := len(sums); n > 0 && sums[n-1].Operator == c.Operator && sums[n-1].Name == c.Name &&
			sums[n-1].Topic == c.Topic && sums[n-1].Partition == c.Partition {
			sums[n-1].N += c.N
			continue
		}
		sums = append(sums, c)
	}
	return sums
}
