package engine

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// readers notes which offsets of which partitions workers have processed, and by which task.
type readers struct {
	mu   sync.Mutex
	read map[int32][]int64
	by   map[int32]int // the number of the worker
	made int
}

type readingWorker struct {
	Worker
	notes  *readers
	number int
}

func (w readingWorker) Process(p *Partition, records []record.Record) error {
	w.notes.mu.Lock()
	for _, r := range records {
		w.notes.read[p.ID] = append(w.notes.read[p.ID], r.Offset)
	}
	w.notes.by[p.ID] = w.number
	w.notes.mu.Unlock()
	return w.Worker.Process(p, records)
}

// observe notes what the engine's workers read.
func observe(e *Engine) *readers {
	n := &readers{read: map[int32][]int64{}, by: map[int32]int{}}
	e.Spec.New = func(out Outlet, targets int) Worker {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.made++
		return readingWorker{newFakeWorker(out, targets), n, n.made}
	}
	return n
}

// offsets are those from first to before end.
func offsets(first, end int64) (out []int64) {
	for ; first < end; first++ {
		out = append(out, first)
	}
	return out
}

// at fills both partitions of a cluster with records whose Kafka timestamps are 0 s, 1 s, 2 s … after the epoch.
func at(c *fakeCluster, records int) {
	for i := range records {
		for p := range 2 {
			c.append("in", p, "k", int64(i)*second)
		}
	}
}

// TestStartsAndBounds starts at each place and ends at each, and shows that exactly the records between were read, though
// each fetch brings more.
func TestStartsAndBounds(t *testing.T) {
	const records = 50
	for _, test := range []struct {
		name   string
		source SourceSpec
		until  checkpoint.Until
		want   map[int32][]int64
	}{
		{"all", SourceSpec{}, checkpoint.Until{Latest: true}, map[int32][]int64{0: offsets(0, records), 1: offsets(0, records)}},
		{"from a time", SourceSpec{Start: AtTime, StartTime: time.Unix(20, 1000)}, checkpoint.Until{Latest: true}, map[int32][]int64{0: offsets(21, records), 1: offsets(21, records)}},
		{"from behind all times", SourceSpec{Start: AtTime, StartTime: time.Unix(1000, 0)}, checkpoint.Until{Latest: true}, map[int32][]int64{}},
		{"from a group", SourceSpec{Start: AtGroup, StartGroup: "old"}, checkpoint.Until{Latest: true}, map[int32][]int64{0: offsets(7, records), 1: offsets(0, records)}},
		{"from the end", SourceSpec{Start: Latest}, checkpoint.Until{Latest: true}, map[int32][]int64{}},
		{"to a time", SourceSpec{}, checkpoint.Until{Time: time.Unix(30, 0)}, map[int32][]int64{0: offsets(0, 30), 1: offsets(0, 30)}},
		{"to before the start", SourceSpec{Start: AtTime, StartTime: time.Unix(20, 0)}, checkpoint.Until{Time: time.Unix(10, 0)}, map[int32][]int64{}},
		{"between times", SourceSpec{Start: AtTime, StartTime: time.Unix(20, 0)}, checkpoint.Until{Time: time.Unix(30, 0)}, map[int32][]int64{0: offsets(20, 30), 1: offsets(20, 30)}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, store := newFakeCluster(2), newFakeStore()
			c.groups = map[string]map[int32]int64{"old": {0: 7}}
			at(c, records)
			e := newFakeEngine(c, store, 1, test.until)
			e.Spec.Sources[0].Start, e.Spec.Sources[0].StartTime, e.Spec.Sources[0].StartGroup = test.source.Start, test.source.StartTime, test.source.StartGroup
			seen, said := observe(e), listen(e)
			// What comes after the start is beyond every bound but that of a time, which these records are behind.
			c.started = func() { at(c, 20) }
			if err := start(t, e).ended(t); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			said.said(t, 0, "--until changes nothing")
			if !maps.EqualFunc(seen.read, test.want, slices.Equal) {
				t.Errorf("%s: read %v, want %v", test.name, seen.read, test.want)
			}
			last, _, confirmed, _ := store.Load()
			for _, p := range last.Partitions {
				if p.Next != p.Bound || !last.Ended || !confirmed {
					t.Errorf("%s: ended %v, confirmed %v at %+v", test.name, last.Ended, confirmed, p)
				}
			}
		})
	}
}

// TestEndlessStateGetsNoEnd gives an end to a state that was begun without one: the program says that it has none, and runs on.
func TestEndlessStateGetsNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(2), newFakeStore()
		at(c, 10)
		run := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
		time.Sleep(time.Second)
		run.end(t)
		e := newFakeEngine(c, store, 1, checkpoint.Until{Latest: true})
		said, seen := listen(e), observe(e)
		run = start(t, e)
		time.Sleep(time.Second)
		at(c, 3)
		time.Sleep(time.Second)
		run.end(t)
		said.said(t, 1, "--until changes nothing", "until=latest")
		if want := map[int32][]int64{0: offsets(10, 13), 1: offsets(10, 13)}; !maps.EqualFunc(seen.read, want, slices.Equal) {
			t.Errorf("read %v, want %v", seen.read, want)
		}
	})
}

// TestLatestReadsWhatComes starts at the end without a bound.
func TestLatestReadsWhatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		at(c, 10)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		e.Spec.Sources[0].Start = Latest
		seen := observe(e)
		run := start(t, e)
		time.Sleep(time.Second)
		at(c, 3)
		time.Sleep(time.Second)
		run.end(t)
		if want := map[int32][]int64{0: offsets(10, 13), 1: offsets(10, 13)}; !maps.EqualFunc(seen.read, want, slices.Equal) {
			t.Errorf("read %v, want %v", seen.read, want)
		}
	})
}

// TestBoundIsKept starts a bounded run once more before its end, with another bound. It ends where it was to end at first.
func TestBoundIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(2), newFakeStore()
		at(c, 50)
		e := newFakeEngine(c, store, 1, checkpoint.Until{Time: time.Unix(30, 0)})
		c.slow = map[string]time.Duration{"Poll": time.Second}
		run := start(t, e)
		time.Sleep(3*time.Second + 500*time.Millisecond)
		run.end(t)
		if p := e.Status().Partitions[0]; p.Next == 0 || p.Next >= 30 {
			t.Fatalf("stopped at %+v: the test shows nothing", p)
		}
		e = newFakeEngine(c, store, 1, checkpoint.Until{Latest: true})
		if err := start(t, e).ended(t); err != nil {
			t.Fatal(err)
		}
		for _, p := range e.Status().Partitions {
			if p.Next != 30 || p.Bound != 30 || p.State != AtBound {
				t.Errorf("ended at %+v", p)
			}
		}
	})
}

// TestBoundedLeavesNewPartitionsOut has a partition come while a bounded run is at work.
func TestBoundedLeavesNewPartitionsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		at(c, 100)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{Latest: true})
		c.slow = map[string]time.Duration{"Poll": time.Second}
		run := start(t, e)
		time.Sleep(time.Second)
		c.set(func() { c.topics["in"].parts = append(c.topics["in"].parts, nil) })
		c.append("in", 2, "k", second)
		time.Sleep(2 * discoverEvery)
		if s := e.Status(); s.Phase != Running || len(s.Partitions) != 2 {
			t.Errorf("%v with %d partitions", s.Phase, len(s.Partitions))
		}
		if err := run.ended(t); err != nil {
			t.Fatal(err)
		}
	})
}
