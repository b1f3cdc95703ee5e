package runtime

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// counting is a pipeline of one window that counts records by their Kafka timestamp, which is their event time; the key
// is the record's value.
type counting struct {
	source SourceSpec
	window TumblingSpec[int64, struct{}]

	closed []string // `start..end key=n` of each result, in order
}

// countingTask is a task of it.
type countingTask struct {
	worker
	w *Tumbling[int64, struct{}]
}

func (c *counting) build(t *Task) *Tumbling[int64, struct{}] {
	source := c.source
	source.Name, source.Place, source.HasWatermark = "src", "test.eo:1", true
	var w *Tumbling[int64, struct{}]
	s := t.Source(source, func(in *Batch) {
		for in.Next() {
			if in.ObserveTimestamp() {
				w.Add(in, in.Value(), in.At(), struct{}{})
			}
		}
	})
	spec := c.window
	spec.Name, spec.Place, spec.Sources = "s/window", "test.eo:2", []*Source{s}
	spec.Fold = func() {
		for n := range w.Pending() {
			*n++
		}
	}
	spec.Close = func(p *Pane[int64]) {
		for key, n := range p.All() {
			c.closed = append(c.closed, string(AppendDuration(nil, p.Start))+string(AppendDuration(nil, p.End))+string(key)+"="+string(AppendInt(nil, *n)))
		}
	}
	spec.Append = func(b []byte, s *int64) []byte { return AppendStateInt(b, *s) }
	spec.Read = func(b []byte, s *int64) []byte { *s, b = ReadStateInt(b); return b }
	w = NewTumbling(t, spec)
	return w
}

// task makes a task of c.
func (c *counting) task(t testing.TB, out engine.Outlet, targets int) countingTask {
	t.Helper()
	var w *Tumbling[int64, struct{}]
	p := Pipeline{Build: func(t *Task) { w = c.build(t) }}
	task, err := newTask(p, os.LookupEnv, out, targets)
	if err != nil {
		t.Fatal(err)
	}
	return countingTask{worker{task}, w}
}

func newPartition(slot int) *engine.Partition {
	return &engine.Partition{Topic: "src", ID: int32(slot), Slot: slot, Watermark: math.MinInt64, Floor: []int64{math.MinInt64}}
}

func at(t Time, key string) record.Record {
	return record.Record{Value: []byte(key), Time: int64(t)}
}

func (c countingTask) process(t testing.TB, p *engine.Partition, records ...record.Record) {
	t.Helper()
	if err := c.Process(p, records); err != nil {
		t.Fatal(err)
	}
}

func (c countingTask) advance(t testing.TB, w Time) int {
	t.Helper()
	closed, err := c.Advance(0, int64(w))
	if err != nil {
		t.Fatal(err)
	}
	return closed
}

// count is one count of a worker, over all partitions.
func count(w engine.Worker, operator, name string) (n int64) {
	for _, c := range w.Counts(nil) {
		if c.Operator == operator && c.Name == name {
			n += c.N
		}
	}
	return n
}

// TestGrid compares with exact arithmetic.
func TestGrid(t *testing.T) {
	r := seeded(t)
	lengths := []Time{1, Millisecond, 7, Second, Minute, Day, 1000 * 365 * Day}
	for range rounds {
		size := lengths[r.IntN(len(lengths))]
		offset := Time(r.Int64N(int64(3*size))) - size
		grace := Time(r.Int64N(int64(2 * size)))
		at := firstTime + Time(r.Int64N(int64(longerThanTime)))
		if r.IntN(2) == 0 {
			at = Time(r.IntN(100)) - 50
		}
		g := newGrid(size, offset, grace)
		got := g.span(at)
		into := new(big.Int).Mod(big.NewInt(int64(at-offset)), big.NewInt(int64(size))) // Euclidean
		if want := at - Time(into.Int64()); got.start != want || got.end != want+size || got.closeAt != want+size+grace {
			t.Fatalf("%d in windows of %d from %d, grace %d: %+v, want %d", at, size, offset, grace, got, want)
		}
	}
}

// TestOverflow shows that no length of time is too much for any event time: a first
// record is in time, and its window closes at the end.
func TestOverflow(t *testing.T) {
	lengths := []Time{1, Minute, 1000 * 365 * Day, longerThanTime, MaxTime}
	for _, when := range []Time{firstTime, -1, 0, lastTime} {
		for i := range 5 * 5 * 5 * 5 {
			c := &counting{
				source: SourceSpec{Watermark: lengths[i%5]},
				window: TumblingSpec[int64, struct{}]{Size: lengths[i/5%5], Grace: lengths[i/25%5], Offset: lengths[i/125] - 1},
			}
			task := c.task(t, nil, 0)
			p := newPartition(0)
			task.process(t, p, at(when, "k"))
			task.advance(t, Time(p.Watermark))
			if len(task.w.panes) != 1 || count(task, "s/window", countAggregated) != 1 || Time(p.Watermark) > when-1 {
				t.Fatalf("%d: %+v: %d open windows, watermark %d", when, c, len(task.w.panes), p.Watermark)
			}
			if task.advance(t, MaxTime) != 1 || len(c.closed) != 1 {
				t.Fatalf("%d: %+v: not closed once: %q", when, c, c.closed)
			}
		}
	}
}

// TestLate walks along the border between in time and late.
func TestLate(t *testing.T) {
	c := &counting{
		source: SourceSpec{Watermark: 5 * Second},
		window: TumblingSpec[int64, struct{}]{Size: Minute, Grace: 10 * Second, Offset: 20 * Second},
	}
	task := c.task(t, nil, 0)
	p := newPartition(0)
	for _, x := range []struct {
		at          Time
		watermark   Time
		added, late int64
	}{
		{0, -5 * Second, 1, 0},                        // window -40s to 20s
		{35*Second - 1, 30*Second - 1, 2, 0},          // 20s to 80s
		{19 * Second, 30*Second - 1, 3, 0},            // 20s + 10s > 30s - 1us
		{35 * Second, 30 * Second, 4, 0},              //
		{20*Second - 1, 30 * Second, 4, 1},            // the first window is over
		{20 * Second, 30 * Second, 5, 1},              //
		{Hour, Hour - 5*Second, 6, 1},                 //
		{-Hour, Hour - 5*Second, 6, 2},                //
		{Hour - 15*Second + 1, Hour - 5*Second, 7, 2}, // the window that contains the watermark
	} {
		task.process(t, p, at(x.at, "k"))
		if added, late := count(task, "s/window", countAggregated), count(task, "s/window", countLate); Time(p.Watermark) != x.watermark || added != x.added || late != x.late {
			t.Fatalf("%+v: watermark %d, added %d, late %d", x, p.Watermark, added, late)
		}
	}
	// Nothing has closed yet: W does. The oldest first, each once.
	if n := task.advance(t, 30*Second-1); n != 0 {
		t.Errorf("%d closed", n)
	}
	if n := task.advance(t, 30*Second); n != 1 {
		t.Errorf("%d closed", n)
	}
	if n := task.advance(t, 30*Second); n != 0 {
		t.Errorf("%d closed again", n)
	}
	task.advance(t, MaxTime)
	want := []string{`"-40s""20s"k=2`, `"20s""1m20s"k=3`, `"59m20s""1h20s"k=2`}
	if !slices.Equal(c.closed, want) {
		t.Errorf("got %q, want %q", c.closed, want)
	}
}

// TestFloor shows that a partition that was idle finds the windows closed that closed without it.
func TestFloor(t *testing.T) {
	c := &counting{window: TumblingSpec[int64, struct{}]{Size: Minute}}
	task := c.task(t, nil, 0)
	p := newPartition(0)
	p.Floor[0] = int64(5 * Minute)
	for _, x := range []struct{ at, added, late Time }{{4 * Minute, 0, 1}, {5 * Minute, 1, 1}, {5*Minute - 1, 1, 2}, {6 * Minute, 2, 2}, {5 * Minute, 2, 3}} {
		task.process(t, p, at(x.at, "k"))
		if added, late := count(task, "s/window", countAggregated), count(task, "s/window", countLate); added != int64(x.added) || late != int64(x.late) {
			t.Fatalf("%+v: added %d, late %d", x, added, late)
		}
	}
}

// TestOvertaken shows that a row for a closed window stops the program: it never vanishes.
func TestOvertaken(t *testing.T) {
	c := &counting{window: TumblingSpec[int64, struct{}]{Size: Minute}}
	task := c.task(t, nil, 0)
	task.advance(t, Hour)
	err := task.Process(newPartition(0), []record.Record{at(Minute, "k")})
	if failure.KindOf(err) != failure.Internal || err == nil || !strings.Contains(err.Error(), `s/window (test.eo:2)`) {
		t.Errorf("alone: %v", err)
	}

	reader := c.task(t, &wire{}, 2)
	keeper := c.task(t, nil, 2)
	out := reader.t.out.(*wire)
	reader.process(t, newPartition(0), at(Minute, "k"))
	keeper.advance(t, Hour)
	if err := keeper.Accept(0, out.rows[0].rows); failure.KindOf(err) != failure.Internal || err == nil {
		t.Errorf("behind an exchange: %v", err)
	}
}

// wire keeps what a worker sends.
type wire struct{ rows []sentRows }

type sentRows struct {
	op, target int
	rows       engine.Rows
}

func (w *wire) Slab(s *record.Slab) *record.Slab { s.Reset(); return s }
func (w *wire) Allocate(_ int64, take func()) error {
	take()
	return nil
}
func (w *wire) Rows(op, target int, rows engine.Rows) {
	w.rows = append(w.rows, sentRows{op, target, rows})
}

// TestExchange shows that rows come to the owners of their keys' groups, in batches, and that these come back.
func TestExchange(t *testing.T) {
	const targets = 3
	c := &counting{source: SourceSpec{Watermark: Hour}, window: TumblingSpec[int64, struct{}]{Size: Minute}}
	out := &wire{}
	reader := c.task(t, out, targets)
	var keepers []countingTask
	for range targets {
		keepers = append(keepers, c.task(t, nil, targets))
	}
	var records []record.Record
	for i := range 5000 {
		records = append(records, at(Time(i%3)*Minute, strings.Repeat("key", i%20)+string(rune('a'+i%26))))
	}
	for round := range 3 {
		out.rows = nil
		reader.process(t, newPartition(0), records...)
		total, partial := 0, 0
		for _, s := range out.rows {
			b := s.rows.(*rowBatch[struct{}])
			total += b.n
			if b.n < BatchSize {
				partial++
			}
			for _, r := range b.rows() {
				if owner := groupOf(r.key.hash) * targets / checkpoint.Groups; owner != s.target {
					t.Fatalf("a row of target %d went to %d", owner, s.target)
				}
			}
			if err := keepers[s.target].Accept(s.op, s.rows); err != nil {
				t.Fatal(err)
			}
		}
		if total != len(records) || partial > targets {
			t.Fatalf("round %d: %d rows, %d batches not full", round, total, partial)
		}
	}
	if n := len(reader.w.home); n == 0 {
		t.Error("no batch came back")
	}
	for _, k := range keepers {
		k.advance(t, MaxTime)
	}
	alone := &counting{source: c.source, window: c.window}
	task := alone.task(t, nil, 0)
	for range 3 {
		task.process(t, newPartition(0), records...)
	}
	task.advance(t, MaxTime)
	slices.Sort(c.closed)
	slices.Sort(alone.closed)
	if !slices.Equal(c.closed, alone.closed) {
		t.Errorf("got %d results, want the %d of a task that is alone", len(c.closed), len(alone.closed))
	}
}

// TestExchangeOfLongKeys shows that a batch is full by the bytes of its keys, too: no batch has more of them than the limit and one key.
func TestExchangeOfLongKeys(t *testing.T) {
	c := &counting{source: SourceSpec{Watermark: Hour}, window: TumblingSpec[int64, struct{}]{Size: Minute}}
	const records = 1000
	for _, size := range []int{17, 100, 2000, fullLong - 1, fullLong, 5 * fullLong} {
		out := &wire{}
		reader, keeper := c.task(t, out, 1), c.task(t, nil, 1)
		key := strings.Repeat("k", size)
		var input []record.Record
		for range records {
			input = append(input, at(0, key))
		}
		reader.process(t, newPartition(0), input...)
		full, total := min(BatchSize, (fullLong+size-1)/size), 0
		for i, s := range out.rows {
			b := s.rows.(*rowBatch[struct{}])
			total += b.n
			if b.Bytes() != b.n*size || b.n != full && i < len(out.rows)-1 {
				t.Fatalf("keys of %d bytes: batch %d of %d has %d rows and %d bytes, want %d rows", size, i+1, len(out.rows), b.n, b.Bytes(), full)
			}
			if err := keeper.Accept(s.op, s.rows); err != nil {
				t.Fatal(err)
			}
		}
		c.closed = nil
		keeper.advance(t, MaxTime)
		if len(c.closed) != 1 || !strings.HasSuffix(c.closed[0], fmt.Sprintf("=%d", records)) || total != records {
			t.Errorf("keys of %d bytes: %d rows have passed, and there are %d results, want one of all", size, total, len(c.closed))
		}
	}
}

// TestManyRows is about a record that gives a window more rows than a batch holds.
func TestManyRows(t *testing.T) {
	c := &counting{window: TumblingSpec[int64, struct{}]{Size: Minute}}
	task := c.task(t, nil, 0)
	p := newPartition(0)
	FoldBatch(task.worker, p, func(in *Batch) {
		for range 3*BatchSize + 1 {
			task.w.Add(in, nil, 0, struct{}{})
		}
	})
	task.advance(t, MaxTime)
	if want := []string{`"0s""1m"=769`}; !slices.Equal(c.closed, want) {
		t.Errorf("got %q, want %q", c.closed, want)
	}
}

// TestFoldTakesAll shows that a fold that leaves rows is noticed.
func TestFoldTakesAll(t *testing.T) {
	c := &counting{window: TumblingSpec[int64, struct{}]{Size: Minute}}
	task := c.task(t, nil, 0)
	task.w.spec.Fold = func() {
		for range task.w.Pending() {
			break
		}
	}
	err := task.Process(newPartition(0), []record.Record{at(0, "a"), at(0, "b")})
	if err == nil || failure.KindOf(err) != failure.Internal {
		t.Errorf("got %v", err)
	}
}

// TestAhead is the rule of skew.
func TestAhead(t *testing.T) {
	var events []Time
	task, err := newTask(Pipeline{Build: func(t *Task) {
		t.Source(SourceSpec{Name: "src", HasWatermark: true, Watermark: Second, Skew: Hour}, func(b *Batch) {
			for b.Next() {
				b.Observe(events[0])
				events = events[1:]
			}
		})
	}}, os.LookupEnv, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := newPartition(0)
	for _, x := range []struct {
		kafka     int64
		at        Time
		ahead     int64
		watermark Time
	}{
		{0, Hour, 0, Hour - Second},
		{0, Hour + 1, 1, Hour - Second},
		{1, Hour + 1, 1, Hour + 1 - Second},
		{record.NoTime, lastTime, 1, lastTime - Second},
		{math.MinInt64 + 1, lastTime, 2, lastTime - Second},
		{0, firstTime, 2, lastTime - Second},
	} {
		events = append(events, x.at)
		if err := (worker{task}).Process(p, []record.Record{{Value: []byte("v"), Time: x.kafka}}); err != nil {
			t.Fatal(err)
		}
		if n := count(worker{task}, "src", countAhead); n != x.ahead || Time(p.Watermark) != x.watermark {
			t.Errorf("%+v: ahead %d, watermark %d", x, n, p.Watermark)
		}
	}
}

// TestTimestamps is about Kafka timestamps that are no event time.
func TestTimestamps(t *testing.T) {
	c := &counting{source: SourceSpec{OnError: Skip()}, window: TumblingSpec[int64, struct{}]{Size: Minute}}
	task := c.task(t, nil, 0)
	task.process(t, newPartition(0), at(0, "k"), at(Time(record.NoTime), "k"), at(lastTime+1, "k"), at(firstTime-1, "k"), at(lastTime, "k"))
	if rejected, added := count(task, "src", countRejected), count(task, "s/window", countAggregated); rejected != 3 || added != 2 {
		t.Errorf("rejected %d, added %d", rejected, added)
	}
}
