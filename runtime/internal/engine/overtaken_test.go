package engine

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// TestFencedByNobody takes one of the ids of a running pipeline, as a request does that a dead process has sent. No copy has started, so that the
// pipeline goes on, from its last checkpoint, and nothing is lost or doubled. Soon afterwards it leaves a copy more time: two must not take the ids from
// each other in turn.
func TestFencedByNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		e := newFakeEngine(c, newFakeStore(), 2, checkpoint.Until{})
		run := start(t, e)
		feed(c, rand.New(rand.NewPCG(1, 1)), 2, 500)
		at := int64(0)
		take := func(id int) {
			c.set(func() { c.init(e.IDs()[id]) })
			at += 300 * second // further than what idle partitions let time close
			c.append("in", 0, "k", at)
			c.append("in", 1, "k", at)
			time.Sleep(overtakenLimit + 5*time.Second)
		}
		for n := range 4 {
			take(n % 2)
			if s := e.Status(); s.Restarts != int64(n+1) {
				t.Fatalf("%d restarts after an id was taken %d times", s.Restarts, n+1)
			}
			time.Sleep(retakeEvery)
		}
		check(t, c)
		take(0)
		take(1)
		if s := e.Status(); s.Restarts != 5 || s.Phase != Restarting {
			t.Errorf("taken twice within %v: %d restarts, %v", retakeEvery, s.Restarts, s.Phase)
		}
		time.Sleep(retakeEvery)
		if s := e.Status(); s.Restarts != 6 || s.Phase != Running {
			t.Errorf("behind that: %d restarts, %v", s.Restarts, s.Phase)
		}
		time.Sleep(time.Minute) // partitions become idle, and time closes the last window
		run.end(t)
		check(t, c)
	})
}

// TestFencedByWhomIsNotKnown asks coordinators that do not answer. The pipeline does not take the ids, for as long as that lasts, and can be stopped.
func TestFencedByWhomIsNotKnown(t *testing.T) {
	fenced := func(t *testing.T) (*fakeCluster, *started) {
		c := newFakeCluster(1)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		feed(c, rand.New(rand.NewPCG(1, 1)), 1, 100)
		run := start(t, e)
		time.Sleep(time.Minute)
		c.set(func() { c.init(e.IDs()[0]); c.init(e.IDs()[1]) })
		c.append("in", 0, "k", 3600*second)
		time.Sleep(overtakenLimit / 2)
		return c, run
	}
	synctest.Test(t, func(t *testing.T) {
		c, run := fenced(t)
		c.set(func() { c.down = errGone })
		time.Sleep(time.Hour)
		if s := run.Status(); s.Phase != Restarting || s.Restarts != 0 {
			t.Errorf("as long as nobody tells: %v, %d restarts", s.Phase, s.Restarts)
		}
		c.set(func() { c.down = nil })
		time.Sleep(time.Minute)
		if s := run.Status(); s.Phase != Running || s.Restarts != 1 || s.Failure.During != Running {
			t.Errorf("when it is known that nobody has: %v, %d restarts, failed while %v", s.Phase, s.Restarts, s.Failure.During)
		}
		run.end(t)
		check(t, c)
	})
	synctest.Test(t, func(t *testing.T) {
		c, run := fenced(t)
		c.set(func() { c.silent = true })
		time.Sleep(time.Minute)
		asked := time.Now()
		close(run.stop)
		if err := <-run.done; failure.KindOf(err) != failure.Deadline || time.Since(asked) > time.Second {
			t.Errorf("asked to stop it ended after %v with %v", time.Since(asked), err)
		}
	})
}

// TestFencedByACopy starts a copy of a running pipeline on a copy of its state. The first ends, though the copy has not committed anything.
func TestFencedByACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(1), newFakeStore()
		feed(c, rand.New(rand.NewPCG(1, 1)), 1, 100)
		first := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
		time.Sleep(time.Minute)
		second := start(t, newFakeEngine(c, store.inherit(), 1, checkpoint.Until{}))
		time.Sleep(time.Second)
		c.append("in", 0, "k", 1)
		if err := first.ended(t); failure.KindOf(err) != failure.Fenced {
			t.Errorf("the first ended with %v", err)
		}
		if n := c.called("NewSink"); n != 2 {
			t.Errorf("the ids were taken by %d starts", n)
		}
		time.Sleep(time.Minute) // the partition becomes idle, and time closes the last windows
		second.end(t)
		check(t, c) // what the first had open is not there
	})
}

// TestFencedByACopyOfOtherIDs is TestFencedByACopy with a copy whose ids are others, or that has none: nothing fences the two against each other any more,
// so the first must not go on. The copy has nothing to commit, and the coordinator does not answer at first.
func TestFencedByACopyOfOtherIDs(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"other prefix":  func(s *Spec) { s.TxnPrefix = "other" },
		"at least once": func(s *Spec) { s.Sinks = []SinkSpec{{Name: "out", Topic: "out", Deliver: AtLeastOnce}} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, store := newFakeCluster(1), newFakeStore()
				feed(c, rand.New(rand.NewPCG(1, 1)), 1, 100)
				first := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
				time.Sleep(time.Minute)
				copied := newFakeEngine(c, store.inherit(), 1, checkpoint.Until{})
				change(copied.Spec)
				second := start(t, copied)
				time.Sleep(time.Second)
				c.set(func() { c.failNext["Overtaken"] = errGone })
				if err := first.ended(t); failure.KindOf(err) != failure.Fenced {
					t.Errorf("the first ended with %v", err)
				}
				second.end(t)
			})
		})
	}
}
