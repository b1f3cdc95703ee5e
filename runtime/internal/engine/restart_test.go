package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// TestRestartPauses has restarts follow each other. The pauses double from the least to the greatest, half of each is chance; after
// a time that was good for a checkpoint they are short again.
func TestRestartPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		e.Spec.RestartMin, e.Spec.RestartMax = time.Second, 20*time.Second
		var opened []time.Time
		good := map[int]bool{8: true} // this attempt, counted from 1, runs for a while
		e.Open = func(context.Context, int) (Cluster, error) {
			c.set(func() { opened = append(opened, time.Now()) })
			if !good[len(opened)] {
				return nil, errGone
			}
			time.AfterFunc(10*time.Second, func() { c.set(func() { c.failNext["Poll"] = errGone }) })
			feed(c, rand.New(rand.NewPCG(1, 1)), 1, 10)
			return c, nil
		}
		run := start(t, e)
		for n := 0; n < 12; {
			time.Sleep(time.Second)
			c.set(func() { n = len(opened) })
		}
		close(run.stop)
		if err := run.ended(t); failure.KindOf(err) != failure.Deadline || !errors.Is(err, errGone) {
			t.Errorf("ended with %v", err)
		}
		if n := e.Status().Checkpoints; n == 0 {
			t.Fatal("no checkpoint in the good time")
		}
		for i, most := range []int{1, 2, 4, 8, 16, 20, 20, 0, 2, 4, 8} {
			pause := opened[i+1].Sub(opened[i])
			if most == 0 { // ten seconds that were good, and the pause after them
				pause, most = pause-10*time.Second, 1
			}
			if longest := time.Duration(most) * time.Second; pause < longest/2 || pause > longest+20*time.Millisecond {
				t.Errorf("the pause before attempt %d is %v, want from %v to %v", i+2, pause, longest/2, longest)
			}
		}
	})
}

// TestIdleIsRestored stops while one partition is idle and another is not. The next process goes on with just that.
func TestIdleIsRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(2), newFakeStore()
		c.append("in", 0, "k", 10*second)
		c.append("in", 1, "k", 10*second)
		run := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
		for i := range int64(60) { // for a minute only one of them has records
			c.append("in", 0, "k", (20+i)*second)
			time.Sleep(time.Second)
		}
		run.end(t)
		e := newFakeEngine(c, store, 1, checkpoint.Until{})
		run = start(t, e)
		time.Sleep(time.Second)
		s := e.Status()
		if s.Partitions[0].State != Active || s.Partitions[1].State != Idle || s.Partitions[1].Watermark != 10*second-fakeDisorder {
			t.Errorf("restored %+v", s.Partitions)
		}
		c.append("in", 0, "k", 90*second)
		time.Sleep(time.Second)
		if w := e.Status().Operators[0].W; w != 90*second-fakeDisorder {
			t.Errorf("W is %s: the idle partition holds it", eventTime(w))
		}
		run.end(t)
	})
}

// TestCountsGoOn counts over restarts within a process and over processes, without a record twice or not at all.
func TestCountsGoOn(t *testing.T) {
	for parallelism := 1; parallelism <= 2; parallelism++ {
		synctest.Test(t, func(t *testing.T) {
			c, store := newFakeCluster(2), newFakeStore()
			read := int64(0)
			for range 3 {
				e := newFakeEngine(c, store, parallelism, checkpoint.Until{})
				run := start(t, e)
				for range 3 {
					feed(c, rand.New(rand.NewPCG(1, uint64(read))), 2, 100)
					read += 100
					c.set(func() { c.failNext["Poll"] = errGone })
					time.Sleep(5 * time.Second)
					if n := countOf(e.Status().Counts, "aggregated") + countOf(e.Status().Counts, "late"); n != read {
						t.Errorf("%d records are counted after %d restarts, %d were read", n, e.Status().Restarts, read)
					}
				}
				if e.Status().Restarts == 0 {
					t.Error("no restart: the test has shown nothing")
				}
				run.end(t)
			}
		})
	}
}

// failingWorker refuses records with a key, as a pipeline under `on_error fail` does.
type failingWorker struct{ Worker }

func (w failingWorker) Process(p *Partition, records []record.Record) error {
	for _, r := range records {
		if string(r.Key) == "bad" {
			return failure.New(failure.Record, "", nil, "a bad record")
		}
	}
	return w.Worker.Process(p, records)
}

// TestNothingStaysOpen ends a process in each way. None leaves a transaction open, which would hold its readers back; a restart
// need not abort it, since it fences it.
func TestNothingStaysOpen(t *testing.T) {
	for _, how := range []string{"stop", "bad record", "restart"} {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(1)
			e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
			e.Spec.New = func(out Outlet, targets int) Worker { return failingWorker{newFakeWorker(out, targets)} }
			run := start(t, e)
			feed(c, rand.New(rand.NewPCG(1, 1)), 1, 300)
			time.Sleep(time.Second)
			if c.open() != 1 {
				t.Fatalf("%d transactions are open while it runs, want 1", c.open())
			}
			aborts, closes := 0, 1
			switch how {
			case "stop":
				run.end(t)
			case "bad record":
				c.append("in", 0, "bad", 1)
				if err := run.ended(t); failure.KindOf(err) != failure.Record {
					t.Errorf("ended with %v", err)
				}
				aborts, closes = 1, 0
			case "restart":
				c.set(func() { c.failNext["Poll"] = errGone })
				c.append("in", 0, "k", 1)
				time.Sleep(10 * time.Second)
				run.end(t)
				closes = 2
			}
			if c.open() != 0 || c.called("Abort") != aborts || c.called("Close") != closes {
				t.Errorf("%s: %d transactions are open; %d aborts and %d closes, want %d and %d", how, c.open(), c.called("Abort"), c.called("Close"), aborts, closes)
			}
		})
	}
}

// TestTransactionsOverlapByOne has a commit take long. The next transaction is open meanwhile, and no other begins.
func TestTransactionsOverlapByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(1), newFakeStore()
		e := newFakeEngine(c, store, 1, checkpoint.Until{})
		run := start(t, e)
		feed(c, rand.New(rand.NewPCG(1, 1)), 1, 100)
		time.Sleep(time.Second)
		c.set(func() { c.slow = map[string]time.Duration{"Commit": 5 * time.Second}; clear(c.calls) })
		for range 10 {
			feed(c, rand.New(rand.NewPCG(1, 2)), 1, 100)
			time.Sleep(time.Second)
			if ahead := c.called("Begin") - c.called("Commit"); ahead < 0 || ahead > 1 {
				t.Errorf("%d transactions began, %d were committed", c.called("Begin"), c.called("Commit"))
			}
		}
		if n := e.Status().Transactions; n < 3 || c.open() == 0 {
			t.Errorf("%d transactions, %d open", n, c.open())
		}
		c.set(func() { c.slow = nil })
		run.end(t)
		if newest, _, confirmed, _ := store.Load(); !confirmed || newest.Committable == (checkpoint.Committable{}) {
			t.Errorf("the last checkpoint is %+v, confirmed %v", newest, confirmed)
		}
	})
}

// TestLatenessSurvivesADeath kills a program right after a checkpoint whose partitions are far apart, and goes on with one task in the place of four: what
// is late stays late, and nothing else becomes it, though the task now reads the partition that is ahead first.
func TestLatenessSurvivesADeath(t *testing.T) {
	const apart = 15 * second // all of them less than a minute: none has to wait for the others
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(4), newFakeStore()
		at := func(p int) int64 { return int64(4-p) * apart } // partition 0 is ahead of all others
		piece := func(from, to int64) {
			for i := from; i < to; i++ {
				for p := range 4 {
					if i%5 == 0 {
						c.append("in", p, "late", at(p)+i*10-4*fakeWindow) // behind the watermark of its own partition, if that is known
					}
					c.append("in", p, fmt.Sprint("k", i%7), at(p)+i*10)
				}
			}
		}
		piece(100, 200)
		e := newFakeEngine(c, store, 4, checkpoint.Until{})
		ctx, kill := context.WithCancel(t.Context())
		died := make(chan error, 1)
		go func() { died <- e.Run(ctx, nil) }()
		time.Sleep(10 * time.Second)
		saved, _, confirmed, err := store.Load()
		if err != nil || !confirmed || saved.Number == 0 {
			t.Fatalf("checkpoint %+v is confirmed %v, %v", saved, confirmed, err)
		}
		for _, p := range saved.Partitions {
			if want := at(int(p.ID)) + 199*10 - fakeDisorder; p.Watermark != want {
				t.Errorf("the watermark of partition %d is stored as %d, want %d", p.ID, p.Watermark, want)
			}
		}
		store = store.inherit()
		kill()
		<-died

		piece(200, 300)
		run := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
		time.Sleep(10 * time.Second)
		for p := range 4 { // closes every window
			c.append("in", p, "end", 10*apart)
		}
		time.Sleep(2 * time.Minute)
		const want = 4 * (2*20 - 1) // of each partition all but the first record, before which there was no watermark
		if late := countOf(run.Status().Counts, "late"); late != want {
			t.Errorf("%d records are late, want %d", late, want)
		}
		run.end(t)
		closed := func(list []string) []string {
			return slices.DeleteFunc(list, func(r string) bool { return strings.Contains(r, " end ") })
		}
		if got, want := closed(c.committed()), closed(c.expected("in")); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%d results, want %d\ngot  %q\nwant %q", len(got), len(want), got, want)
		}
	})
}
