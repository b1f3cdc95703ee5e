package engine

import (
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

// started is a run of an engine in the background.
type started struct {
	*Engine
	stop chan struct{}
	done chan error
}

func start(t *testing.T, e *Engine) *started {
	s := &started{e, make(chan struct{}), make(chan error, 1)}
	go func() { s.done <- e.Run(t.Context(), s.stop) }()
	return s
}

// ended waits for the end.
func (s *started) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.done:
		return err
	case <-time.After(time.Hour):
		t.Errorf("it does not end; the status is %+v", s.Status())
		close(s.stop)
		return <-s.done
	}
}

// end stops it and waits for the end.
func (s *started) end(t *testing.T) {
	t.Helper()
	close(s.stop)
	if err := <-s.done; err != nil {
		t.Fatal(err)
	}
}

// running says whether an attempt, with all its state, is held.
func (b *board) running() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.attempt != nil
}

// countOf adds the counts of that name up.
func countOf(counts []checkpoint.Count, name string) (n int64) {
	for _, c := range counts {
		if c.Name == name {
			n += c.N
		}
	}
	return n
}

// TestStatus follows a pipeline from before its start to its end.
func TestStatus(t *testing.T) {
	for parallelism := 1; parallelism <= 2; parallelism++ {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(3)
			feed(c, rand.New(rand.NewPCG(1, 1)), 2, 400)
			c.down = failure.New(failure.Transient, "", nil, "Kafka is away")
			e := newFakeEngine(c, newFakeStore(), parallelism, checkpoint.Until{})
			if s := e.Status(); s.Phase != Starting || !s.Since.IsZero() || len(s.Partitions) > 0 || s.Failure != nil || len(s.Sinks) != 1 {
				t.Errorf("before Run: %+v", s)
			}
			run := start(t, e)
			synctest.Wait()
			if s := e.Status(); s.Phase != Restarting || s.Failure == nil || s.Failure.Text != "Kafka is away" || s.Failure.During != Starting || s.Restarts != 1 {
				t.Errorf("without Kafka: %+v, failure %+v", s, s.Failure)
			}
			c.set(func() { c.down = nil })
			time.Sleep(20 * time.Second)

			s := e.Status()
			if s.Phase != Running || s.Tasks != parallelism || time.Since(s.Since) < 18*time.Second || time.Since(s.Looked) > 2*time.Second {
				t.Errorf("running: %+v", s)
			}
			if s.Checkpoint == nil || s.Checkpoint.Number != s.Checkpoints || s.Transactions != s.Checkpoints || s.Checkpoint.Bytes == 0 {
				t.Errorf("%d checkpoints, %d transactions, the last %+v", s.Checkpoints, s.Transactions, s.Checkpoint)
			}
			if len(s.History) != int(s.Checkpoints) || s.History[0].Number != 1 || s.History[len(s.History)-1] != *s.Checkpoint {
				t.Errorf("%d checkpoints, of which the history has %+v", s.Checkpoints, s.History)
			}
			if n := countOf(s.Counts, "aggregated") + countOf(s.Counts, "late"); n != 400 {
				t.Errorf("%d records are counted, 400 were read", n)
			}
			if out := c.committed(); s.Sinks[0].Records != int64(len(out)) || s.Sinks[0].Bytes != int64(len(strings.Join(out, ""))) {
				t.Errorf("%d results were written, the status says %+v", len(out), s.Sinks[0])
			}
			for i, p := range s.Partitions {
				want := PartitionStatus{Source: "in", Topic: "in", ID: int32(i), Bound: -1, Watermark: p.Watermark}
				want.Next = int64(len(c.topics["in"].parts[i]))
				want.End, want.Stable = want.Next, want.Next
				if p != want || p.Lag() != 0 || (p.Watermark == minTime) != (i == 2) {
					t.Errorf("partition %+v, want %+v", p, want)
				}
			}
			if len(s.Partitions) != 3 || len(s.Operators) != 1 || s.Operators[0].ID != "count" || s.Operators[0].W != minTime {
				t.Errorf("%d partitions, operators %+v; an empty partition holds W", len(s.Partitions), s.Operators)
			}

			time.Sleep(30 * time.Second)
			s = e.Status()
			if w := s.Operators[0].W; w == minTime || slices.ContainsFunc(s.Partitions, func(p PartitionStatus) bool { return p.State != Idle }) {
				t.Errorf("all partitions are idle: W is %d, partitions %+v", w, s.Partitions)
			}

			c.set(func() { c.failNext["Poll"] = failure.New(failure.Transient, "", nil, "the broker is gone") })
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
			if s := e.Status(); s.Phase != Restarting || s.Restarts != 2 || s.Failure.During != Running || len(s.Partitions) != 3 || e.board.running() {
				t.Errorf("restarting: %+v, failure %+v; partitions are to be seen still, but the attempt is to be let go", s, s.Failure)
			}
			time.Sleep(time.Minute)
			run.end(t)
			if s := e.Status(); s.Phase != Finished || s.Failure.Text != "the broker is gone" || s.InFlight != nil || countOf(s.Counts, "aggregated")+countOf(s.Counts, "late") != 400 {
				t.Errorf("finished: %+v", s)
			}
			if s := e.Status(); len(s.Failures) != 2 || s.Failures[0].Text != "Kafka is away" || s.Failures[1] != *s.Failure || !s.Failure.Retried {
				t.Errorf("failures %+v", s.Failures)
			}
		})
	}
}

// TestKept: of the past only the newest is kept, in its order.
func TestKept(t *testing.T) {
	var list []int
	for i := range 10 {
		list = kept(list, i, 4)
	}
	if !slices.Equal(list, []int{6, 7, 8, 9}) {
		t.Errorf("kept are %v", list)
	}
}

// TestStatusOfStop shows whom a checkpoint waits for, that a stop is visible at once, and how long each part took.
func TestStatusOfStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		feed(c, rand.New(rand.NewPCG(1, 1)), 1, 100)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		run := start(t, e)
		time.Sleep(time.Second)
		c.set(func() { c.slow = map[string]time.Duration{"Prepare": 2 * time.Second, "Commit": 3 * time.Second} })
		close(run.stop)
		time.Sleep(time.Second)
		s := e.Status()
		if s.Phase != Stopping || time.Since(s.Since) != time.Second || s.InFlight == nil || s.InFlight.Waiting != "sink writer" || time.Since(s.InFlight.Since) != time.Second {
			t.Errorf("stopping: %+v, in flight %+v", s, s.InFlight)
		}
		if err := run.ended(t); err != nil {
			t.Fatal(err)
		}
		s = e.Status()
		if want := (Durations{Flush: 2 * time.Second, Commit: 3 * time.Second}); s.Checkpoint.Took != want || s.Checkpoint.Took.Total() != 5*time.Second || s.InFlight != nil {
			t.Errorf("took %+v, want %+v; in flight %v", s.Checkpoint.Took, want, s.InFlight)
		}
	})
}

// TestStatusWhileRunning takes it again and again while everything moves. The race detector is the judge; that counts and
// offsets never go back is another.
func TestStatusWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(3)
		fed := make(chan struct{})
		go func() {
			defer close(fed)
			feed(c, rand.New(rand.NewPCG(1, 1)), 3, 3000)
		}()
		e := newFakeEngine(c, newFakeStore(), 2, checkpoint.Until{})
		run := start(t, e)
		before := Status{}
		for {
			select {
			case <-fed:
				if before.Checkpoints == 0 {
					t.Error("no checkpoint: the test has shown nothing")
				}
				run.end(t)
				return
			case <-time.After(time.Millisecond):
			}
			s := e.Status()
			if countOf(s.Counts, "aggregated") < countOf(before.Counts, "aggregated") || s.Checkpoints < before.Checkpoints {
				t.Errorf("counts went back from %+v to %+v", before, s)
			}
			for i := range before.Partitions {
				if b, p := before.Partitions[i], s.Partitions[i]; p.Next < b.Next || p.End < b.End || p.End != Unknown && p.End < p.Next {
					t.Errorf("partition went from %+v to %+v", b, p)
				}
			}
			before = s
		}
	})
}

// TestStatusOfCheckpoints counts checkpoints, those that failed on their way aside, and measures their parts.
func TestStatusOfCheckpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		feed(c, rand.New(rand.NewPCG(1, 1)), 1, 100)
		c.slow = map[string]time.Duration{"Prepare": 2 * time.Second, "Commit": 3 * time.Second}
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		e.Spec.Counters = []CounterSpec{{"count", "x.eo:1", "aggregated"}, {"count", "x.eo:1", "late"}, {"count", "x.eo:1", "never"}}
		run := start(t, e)
		time.Sleep(20 * time.Second)
		c.set(func() { c.failNext["Commit"] = failure.New(failure.Transient, "", nil, "the broker is gone") })
		feed(c, rand.New(rand.NewPCG(1, 2)), 1, 100)
		time.Sleep(time.Minute)
		e.board.happened(0, Clamped, 3)
		e.board.happened(0, Lost, 4)
		run.end(t)

		s := e.Status()
		if s.Abandoned != 1 || s.Restarts != 1 || s.Checkpoints < 3 {
			t.Errorf("%d abandoned, %d restarts, %d checkpoints", s.Abandoned, s.Restarts, s.Checkpoints)
		}
		if k := s.Took.Commit; k.Count != s.Checkpoints || k.Sum != time.Duration(k.Count)*3*time.Second || s.Took.Total.Sum < time.Duration(k.Count)*5*time.Second {
			t.Errorf("%d checkpoints took %+v", s.Checkpoints, s.Took)
		}
		for bound, n := range s.Took.Commit.Buckets {
			if want := s.Checkpoints; bound >= 3*time.Second && n != want || bound < 3*time.Second && n != 0 {
				t.Errorf("%d commits took at most %v, want all of %d from 3s on", n, bound, want)
			}
		}
		sum := int64(0)
		for i, total := range s.Totals {
			if total.CounterSpec != e.Spec.Counters[i] || total.N != countOf(s.Counts, total.Name) {
				t.Errorf("%+v", total)
			}
			sum += total.N
		}
		if sum != 200 || len(s.Totals) != 3 || s.Totals[2].N != 0 {
			t.Errorf("totals are %+v, want 200 records and a zero", s.Totals)
		}
		if sink := s.Sinks[0]; sink.Clamped != 3 || sink.Lost != 4 {
			t.Errorf("%+v", sink)
		}
	})
}

// TestStatusHoldsNoData ends a run with a record at fault: its error, which is for the log, quotes it, and the status, which anybody can read, does not. It has
// the place, if that is known to hold no data.
func TestStatusHoldsNoData(t *testing.T) {
	for shown, want := range map[string]string{"": "a record or result is at fault; the log says which, and why", "pay (p.eo:7): no card number": "pay (p.eo:7): no card number; look at it"} {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(1)
			feed(c, rand.New(rand.NewPCG(1, 1)), 1, 10)
			e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
			e.Spec.New = func(out Outlet, targets int) Worker { return refusingWorker{newFakeWorker(out, targets), shown} }
			err := start(t, e).ended(t)
			if failure.KindOf(err) != failure.Record || !strings.Contains(err.Error(), "4711") {
				t.Errorf("ended with %v", err)
			}
			s := e.Status()
			if s.Failure == nil || s.Failure.Kind != failure.Record || s.Failure.Text != want || len(s.Failures) != 1 {
				t.Errorf("the status shows %+v", s.Failure)
			}
		})
	}
}

// refusingWorker takes no record.
type refusingWorker struct {
	Worker
	shown string // what everybody may read of why
}

func (w refusingWorker) Process(*Partition, []record.Record) error {
	return failure.OfRecord("look at it", nil, "pay (p.eo:7): card number 4711 is none", w.shown)
}

// TestKeys: the keys that open windows have are told as of the newest checkpoint, over all tasks, and until there is one nothing is.
func TestKeys(t *testing.T) {
	for parallelism := 1; parallelism <= 3; parallelism++ {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(1)
			e := newFakeEngine(c, newFakeStore(), parallelism, checkpoint.Until{})
			run := start(t, e)
			synctest.Wait()
			if s := e.Status(); s.Phase != Running || s.Operators[0].Keys != Unknown {
				t.Errorf("parallelism %d, before a checkpoint: %+v, %+v", parallelism, s.Phase, s.Operators)
			}
			open := map[fakeKey]bool{}
			for i := range 300 {
				at := int64(i%2)*fakeWindow + 1
				k := fakeKey{at - 1, fmt.Sprint("k", i%30)}
				c.append("in", 0, k.Key, at)
				open[k] = true
			}
			want := func(n int) {
				t.Helper()
				time.Sleep(2 * time.Second) // of synctest's clock: a checkpoint and more
				synctest.Wait()
				if s := e.Status(); s.Operators[0].Keys != int64(n) {
					t.Errorf("parallelism %d: %d keys, want %d; %d checkpoints", parallelism, s.Operators[0].Keys, n, s.Checkpoints)
				}
			}
			want(len(open))
			c.append("in", 0, "k1", fakeWindow+fakeDisorder) // closes the first
			for k := range open {
				if k.Start < fakeWindow {
					delete(open, k)
				}
			}
			want(len(open))
			c.set(func() { c.failNext["Poll"] = failure.New(failure.Transient, "", nil, "the broker is gone") })
			k := fakeKey{fakeWindow, "new"}
			c.append("in", 0, k.Key, k.Start+1)
			open[k] = true
			want(len(open)) // with what was restored
			if s := e.Status(); s.Restarts != 1 {
				t.Errorf("parallelism %d: it has started again %d times, want 1", parallelism, s.Restarts)
			}
			run.end(t)
			want(len(open))
		})
	}
}
