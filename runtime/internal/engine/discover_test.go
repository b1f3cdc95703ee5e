package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// TestDiscoveryDeals finds partitions while it runs: each goes to another task, is idle until its first record, and does not hold W.
func TestDiscoveryDeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		c.append("in", 0, "k", 10*second)
		e := newFakeEngine(c, newFakeStore(), 3, checkpoint.Until{})
		seen := observe(e)
		log := listen(e)
		run := start(t, e)
		time.Sleep(time.Second)
		c.set(func() { c.topics["in"].parts = append(c.topics["in"].parts, nil, nil, nil) })
		time.Sleep(2 * discoverEvery)
		log.said(t, 4-1, "found a new partition")
		s := e.Status()
		if len(s.Partitions) != 4 {
			t.Fatalf("%d partitions are read, want 4", len(s.Partitions))
		}
		for _, p := range s.Partitions[1:] {
			if p.State != Idle || p.Next != 0 {
				t.Errorf("before its first record: %+v", p)
			}
		}
		c.append("in", 0, "k", 20*second)
		time.Sleep(time.Second)
		if w := e.Status().Operators[0].W; w != 20*second-fakeDisorder {
			t.Errorf("W is %s: a new partition without records holds it", eventTime(w))
		}
		for p := 1; p < 4; p++ {
			c.append("in", p, "k", 30*second)
		}
		time.Sleep(time.Second)
		s = e.Status()
		for _, p := range s.Partitions[1:] {
			if p.State != Active || p.Next != 1 || p.Lag() != 0 {
				t.Errorf("behind its first record: %+v", p)
			}
		}
		c.append("in", 0, "k", 40*second)
		time.Sleep(time.Second)
		if w := e.Status().Operators[0].W; w != 30*second-fakeDisorder {
			t.Errorf("W is %s: a new partition with records holds it", eventTime(w))
		}
		tasks := map[int]int{}
		for _, task := range seen.by {
			tasks[task]++
		}
		// Four partitions, three tasks: one has two of them, the first and the last.
		if len(tasks) != 3 || tasks[seen.by[0]] != 2 || seen.by[3] != seen.by[0] {
			t.Errorf("partitions are read by the tasks %v", seen.by)
		}
		run.end(t)
	})
}

// TestGrownWhileStopped: what a topic has got while the program was stopped is found before anything is read, so that nothing in a new partition
// is late behind what waits in the others.
func TestGrownWhileStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		c.append("in", 0, "k", 10*second)
		store := newFakeStore()
		run := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
		time.Sleep(2 * time.Second)
		run.end(t)
		c.set(func() { c.topics["in"].parts = append(c.topics["in"].parts, nil) })
		c.append("in", 0, "k", 1000*second)
		c.append("in", 1, "k", 20*second)
		e := newFakeEngine(c, store, 1, checkpoint.Until{})
		log := listen(e)
		run = start(t, e)
		time.Sleep(discoverEvery / 2)
		log.said(t, 1, "found a new partition")
		if w := e.Status().Operators[0].W; w != 20*second-fakeDisorder {
			t.Errorf("W is %s: what waits in the old partition has gone past the new one", eventTime(w))
		}
		run.end(t)
		last, _, _, _ := store.Load()
		if len(last.Partitions) != 2 || last.Partitions[1].Next != 1 {
			t.Errorf("the checkpoint has %+v", last.Partitions)
		}
	})
}

// TestFoundWithRecords finds a partition that has records already: it holds W before they are read.
func TestFoundWithRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		c.append("in", 0, "k", 10*second)
		store := newFakeStore()
		e := newFakeEngine(c, store, 1, checkpoint.Until{})
		run := start(t, e)
		time.Sleep(time.Second)
		c.set(func() {
			c.slow = map[string]time.Duration{"Poll": time.Minute, "LastStable": time.Minute} // nor does the watcher see it
			c.topics["in"].parts = append(c.topics["in"].parts, nil)
		})
		c.append("in", 1, "k", 20*second)
		time.Sleep(2 * discoverEvery)
		if s := e.Status(); len(s.Partitions) != 2 || s.Partitions[1].State != Active || s.Partitions[1].Next != 0 {
			t.Errorf("before it is read: %+v", s.Partitions)
		}
		c.set(func() { c.slow = nil })
		time.Sleep(2 * time.Minute)
		run.end(t)
		last, _, _, _ := store.Load()
		if want := (checkpoint.Partition{Source: "in", Topic: "in", TopicID: c.topics["in"].id, ID: 1, Next: 1, Watermark: 20*second - fakeDisorder, Bound: -1}); last.Partitions[1] != want {
			t.Errorf("the checkpoint has %+v, want %+v", last.Partitions[1], want)
		}
	})
}

// TestFoundIsReadFromItsBeginning: where a source starts holds for the first start. A partition that comes later is read from its beginning, though the
// source starts at the end of what there is: its first records are there before anybody knows of it.
func TestFoundIsReadFromItsBeginning(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(1)
			c.append("in", 0, "old", 10*second)
			store := newFakeStore()
			engine := func() *Engine {
				e := newFakeEngine(c, store, 1, checkpoint.Until{})
				e.Spec.Sources[0].Start = Latest
				return e
			}
			run := start(t, engine())
			time.Sleep(2 * time.Second)
			if stopped {
				run.end(t)
			}
			c.set(func() { c.topics["in"].parts = append(c.topics["in"].parts, nil) })
			const records = 100
			for i := range int64(records) {
				c.append("in", 1, "new", 20*second+i)
			}
			if stopped {
				run = start(t, engine())
			}
			time.Sleep(2 * discoverEvery)
			run.end(t)
			last, _, _, _ := store.Load()
			if len(last.Partitions) != 2 || last.Partitions[0].Next != 1 || last.Partitions[1].Next != records || total(last.Counts, "count", "aggregated")+total(last.Counts, "count", "late") != records {
				t.Errorf("stopped %v: partitions %+v, counts %+v", stopped, last.Partitions, last.Counts)
			}
		})
	}
}
