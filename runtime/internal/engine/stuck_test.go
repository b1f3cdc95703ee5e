package engine

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// stuckWorker waits where the test wants it to.
type stuckWorker struct {
	Worker
	process, accept func()
}

func (w stuckWorker) Process(p *Partition, records []record.Record) error {
	w.process()
	return w.Worker.Process(p, records)
}

func (w stuckWorker) Accept(op int, rows Rows) error {
	w.accept()
	return w.Worker.Accept(op, rows)
}

// stick makes the engine's workers call process before they process and accept before they accept.
func stick(e *Engine, process, accept func()) {
	e.Spec.New = func(out Outlet, targets int) Worker { return stuckWorker{newFakeWorker(out, targets), process, accept} }
}

// TestCheckpointTimesOut has something take longer than a checkpoint may, once. The pipeline says what it was, and goes on from the
// checkpoint before.
func TestCheckpointTimesOut(t *testing.T) {
	const long = CheckpointTimeout + 5*time.Second
	for _, who := range []string{"source task", "window task", "sink writer"} {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(1)
			feed(c, rand.New(rand.NewPCG(1, 1)), 1, 300)
			e := newFakeEngine(c, newFakeStore(), 2, checkpoint.Until{})
			var calls atomic.Int64
			nap := func() {
				if calls.Add(1) == 2 { // the first is done: there is something for a checkpoint
					<-time.After(long)
				}
			}
			none := func() {}
			switch who {
			case "source task":
				stick(e, nap, none)
			case "window task":
				stick(e, none, nap)
			default:
				time.AfterFunc(e.Options.Checkpoint/2, func() { c.set(func() { c.slow = map[string]time.Duration{"Prepare": long} }) })
				time.AfterFunc(long, func() { c.set(func() { c.slow = nil }) })
			}
			run := start(t, e)
			time.Sleep(2 * long)
			s := e.Status()
			if s.Restarts != 1 || s.Failure.Kind != failure.Transient || !strings.HasPrefix(s.Failure.Text, "checkpoint 1 timed out waiting for ") || !strings.Contains(s.Failure.Text, who) {
				t.Errorf("%s: %d restarts, failure %+v", who, s.Restarts, s.Failure)
			}
			time.Sleep(2 * time.Minute)
			run.end(t)
			check(t, c)
		})
	}
}

// TestStuckTask has a task that does nothing any more: neither does it take its barrier, nor does it end. The process ends,
// and says for whom it waited, even if the way to the task is full.
func TestStuckTask(t *testing.T) {
	for _, full := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(1)
			free := make(chan struct{})
			e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
			stick(e, func() { <-free }, func() {})
			feed(c, rand.New(rand.NewPCG(1, 1)), 1, 100)
			run := start(t, e)
			want := "timed out waiting for source task 0, sink writer"
			time.Sleep(time.Second)
			if full {
				c.set(func() {
					c.topics["in"].parts = append(c.topics["in"].parts, make([][]record.Record, 2*commandDepth)...)
				})
				want = "source task 0 has not even taken the commands before its barrier"
			}
			err := run.ended(t)
			if failure.KindOf(err) != failure.Internal || !strings.Contains(err.Error(), "waited 10s for the end of source task 0") || !strings.Contains(err.Error(), want) {
				t.Errorf("full %v: ended with %v; want %q", full, err, want)
			}
			close(free)
		})
	}
}
