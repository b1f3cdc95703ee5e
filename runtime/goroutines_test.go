package runtime_test

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// pipe is what leads to the keepers of TestGoroutines, bounded as the engine's inboxes are.
type pipe struct {
	inboxes []chan engine.Rows
	mu      sync.Mutex
	values  []string // of the slabs
}

func (p *pipe) Rows(_, target int, rows engine.Rows) { p.inboxes[target] <- rows }

func (p *pipe) Allocate(_ int64, take func()) error {
	take()
	return nil
}

func (p *pipe) Slab(s *record.Slab) *record.Slab {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range s.Records {
		p.values = append(p.values, string(s.Data[r.KeyEnd:r.End]))
	}
	s.Reset()
	return s
}

// TestGoroutines lets readers and keepers run at the same time, as the engine does: batches of rows go to and fro
// between goroutines. It is for the race detector.
func TestGoroutines(t *testing.T) {
	const tasks = 3
	r := newRand(t)
	parts := randomPartitions(r, 10_000, tasks, start)
	spec, err := ordersPipeline().Spec(environment())
	if err != nil {
		t.Fatal(err)
	}
	out := &pipe{}
	for range tasks {
		out.inboxes = append(out.inboxes, make(chan engine.Rows, 4))
	}
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	var reading, keeping sync.WaitGroup
	for i := range tasks {
		keeping.Go(func() {
			w := spec.New(out, tasks)
			for rows := range out.inboxes[i] {
				check(w.Accept(0, rows))
			}
			_, err := w.Advance(0, math.MaxInt64)
			check(err)
			w.Flush()
		})
		reading.Go(func() {
			w := spec.New(out, tasks)
			p := engine.Partition{Topic: "orders", ID: int32(i), Slot: i, Watermark: math.MinInt64, Floor: []int64{math.MinInt64}}
			for records := range slices.Chunk(parts[i], 700) {
				check(w.Process(&p, records))
			}
			w.Flush()
		})
	}
	reading.Wait()
	for _, inbox := range out.inboxes {
		close(inbox)
	}
	keeping.Wait()

	alone := newRun(t, ordersPipeline(), rttest.Config{Partitions: map[string]int{"orders": tasks}})
	for i, records := range parts {
		alone.Append("orders", i, records...)
	}
	if err := alone.End(); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range spec.Sinks {
		for _, rec := range alone.Output(s.Topic) {
			want = append(want, string(rec.Value))
		}
	}
	same(t, "records of all topics", out.values, want)
}
