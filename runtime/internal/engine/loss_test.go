package engine

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// cut lets the first records of a partition go.
func (c *fakeCluster) cut(partition int32, first int64) {
	c.set(func() { c.topics["in"].first = map[int32]int64{partition: first} })
}

var errGone = failure.New(failure.Transient, "", nil, "the broker is gone")

// TestLossIsAcceptedOnce starts over input that is gone with AcceptLoss. What goes later, while the same process restarts, was not
// accepted; but a restart before the first checkpoint meets the accepted loss once more, and goes on.
func TestLossIsAcceptedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(2), newFakeStore()
		feed(c, rand.New(rand.NewPCG(1, 1)), 2, 100)
		run := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
		time.Sleep(time.Second)
		run.end(t)
		feed(c, rand.New(rand.NewPCG(1, 2)), 2, 100)
		next := int64(len(c.topics["in"].parts[0]))

		c.cut(0, next-1)
		refused := newFakeEngine(c, store, 1, checkpoint.Until{}).Run(t.Context(), nil)
		if failure.KindOf(refused) != failure.Lost {
			t.Fatalf("without AcceptLoss it ended with %v", refused)
		}
		e := newFakeEngine(c, store, 1, checkpoint.Until{})
		e.Options.AcceptLoss, e.Options.Checkpoint = true, time.Hour // no checkpoint of the new positions
		run = start(t, e)
		time.Sleep(time.Second)
		c.set(func() { c.failNext["Poll"] = errGone })
		feed(c, rand.New(rand.NewPCG(1, 3)), 2, 10)
		time.Sleep(10 * time.Second)
		if s := e.Status(); s.Phase != Running || s.Restarts != 1 || s.Checkpoints != 0 || s.Partitions[0].Next < next {
			t.Fatalf("after a restart before the first checkpoint: %+v, failure %+v", s, s.Failure)
		}
		c.cut(0, next+1)
		c.set(func() { c.failNext["Poll"] = errGone })
		feed(c, rand.New(rand.NewPCG(1, 4)), 2, 10)
		if err := run.ended(t); failure.KindOf(err) != failure.Lost {
			t.Errorf("new loss at a restart: it ended with %v", err)
		}
	})
}

// TestFreshOnce shows that a restart of the process does not begin anew once more.
func TestFreshOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(1), newFakeStore()
		feed(c, rand.New(rand.NewPCG(1, 1)), 1, 500)
		run := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
		time.Sleep(time.Second)
		run.end(t)
		old, _, _, _ := store.Load()
		before := c.committed()

		e := newFakeEngine(c, store, 1, checkpoint.Until{})
		e.Options.Fresh = true
		run = start(t, e)
		time.Sleep(time.Second)
		fresh, _, _, _ := store.Load()
		if fresh.Incarnation == old.Incarnation {
			t.Error("the incarnation is the old one")
		}
		if all := c.committed(); len(all) != 2*len(before) || len(before) == 0 {
			t.Errorf("%d results, then %d: everything is made once more", len(before), len(all))
		}
		c.set(func() { c.failNext["Poll"] = errGone })
		time.Sleep(10 * time.Second)
		run.end(t)
		last, _, _, _ := store.Load()
		if s := e.Status(); s.Restarts != 1 || last.Incarnation != fresh.Incarnation {
			t.Errorf("%d restarts, incarnation %v, then %v", s.Restarts, fresh.Incarnation, last.Incarnation)
		}
		if all := c.committed(); len(all) != 2*len(before) {
			t.Errorf("%d results after a restart, want %d", len(all), 2*len(before))
		}
	})
}

// TestTopicIsGone goes on without a partition that is gone, and without a topic not at all.
func TestTopicIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(3), newFakeStore()
		feed(c, rand.New(rand.NewPCG(1, 1)), 3, 100)
		run := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
		time.Sleep(time.Second)
		run.end(t)
		c.set(func() { c.topics["in"].parts = c.topics["in"].parts[:2] })
		err := newFakeEngine(c, store, 1, checkpoint.Until{}).Run(t.Context(), nil)
		if failure.KindOf(err) != failure.Lost || !strings.Contains(err.Error(), "has 2 partitions, but the state has read partition 2") {
			t.Errorf("ended with %v", err)
		}
		e := newFakeEngine(c, store, 1, checkpoint.Until{})
		e.Options.AcceptLoss = true
		run = start(t, e)
		time.Sleep(time.Second)
		if n := len(e.Status().Partitions); n != 2 {
			t.Errorf("%d partitions are read, want 2", n)
		}
		run.end(t)
	})
}

// TestStartAsksOncePerTopic counts what a start asks for, with few partitions and with many.
func TestStartAsksOncePerTopic(t *testing.T) {
	for _, partitions := range []int{1, 100} {
		synctest.Test(t, func(t *testing.T) {
			c, store := newFakeCluster(partitions), newFakeStore()
			feed(c, rand.New(rand.NewPCG(1, 1)), partitions, 200)
			run := start(t, newFakeEngine(c, store, 1, checkpoint.Until{Latest: true}))
			if err := run.ended(t); err != nil {
				t.Fatal(err)
			}
			// Where to start and where to end; then what is there: for the marker of checkpoint 0 and for reading. No look of the
			// watcher comes within the moment that this takes.
			if c.called("First") != 3 || c.called("End") != 3 {
				t.Errorf("%d partitions: asked %d times for the first offsets and %d times for the end", partitions, c.called("First"), c.called("End"))
			}
			clear(c.calls)
			if err := newFakeEngine(c, store, 1, checkpoint.Until{Latest: true}).Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if c.called("First") != 1 || c.called("End") != 1 {
				t.Errorf("%d partitions, finished: asked %d times for the first offsets and %d times for the end", partitions, c.called("First"), c.called("End"))
			}
		})
	}
}
