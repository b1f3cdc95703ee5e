package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// fakeStore is a store in memory that outlives its process, as a disk does: what is saved is there for the next one.
type fakeStore struct {
	*state.Memory
	mu   sync.Mutex
	dead bool // the process is gone: nothing more may be written
}

func newFakeStore() *fakeStore { return &fakeStore{Memory: state.NewMemory(state.Options{})} }

// alive runs a write of a process that is not dead.
func (s *fakeStore) alive(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return failure.New(failure.Disk, "", nil, "the process is dead")
	}
	return write()
}

func (s *fakeStore) Save(c *checkpoint.Checkpoint) error {
	return s.alive(func() error { return s.Memory.Save(c) })
}

func (s *fakeStore) Confirm(n int64) error {
	return s.alive(func() error { return s.Memory.Confirm(n) })
}

func (s *fakeStore) Drop(n int64) error {
	return s.alive(func() error { return s.Memory.Drop(n) })
}

func (s *fakeStore) Adopt(ids []string) error {
	return s.alive(func() error { return s.Memory.Adopt(ids) })
}

// inherit is the store of the next process.
func (s *fakeStore) inherit() *fakeStore {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = true
	return &fakeStore{Memory: s.Memory}
}

func newFakeEngine(c *fakeCluster, s Store, parallelism int, until checkpoint.Until) *Engine {
	return &Engine{
		Spec: &Spec{
			Name: "fake", Sources: []SourceSpec{{Name: "in", Topic: "in", Idle: 30 * time.Second}}, Sinks: []SinkSpec{{Name: "out", Topic: "out"}},
			Operators: []OperatorSpec{{ID: "count", Sources: []int{0}, Size: fakeWindow}},
			New:       newFakeWorker, TxnPrefix: "fake", TxnTimeout: 2 * time.Minute, RestartMin: time.Second, RestartMax: time.Minute,
		},
		Options: Options{Parallelism: parallelism, Checkpoint: 50 * time.Millisecond, Until: until, Log: slog.New(slog.NewTextHandler(io.Discard, nil))},
		Store:   s, Open: func(context.Context, int) (Cluster, error) { return c, nil },
	}
}

// feed writes random records to all partitions of topic in, a few at a time.
func feed(c *fakeCluster, r *rand.Rand, partitions, records int) {
	at := int64(1000)
	for i := range records {
		at += int64(r.IntN(5))
		c.append("in", r.IntN(partitions), fmt.Sprint("k", r.IntN(20)), at+int64(r.IntN(120)-100))
		if i%50 == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func check(t *testing.T, c *fakeCluster) {
	t.Helper()
	got, want := c.committed(), c.expected("in")
	if !slices.Equal(got, want) {
		t.Fatalf("%d results, want %d\ngot  %q\nwant %q", len(got), len(want), got, want)
	}
	if len(want) == 0 {
		t.Fatal("no results: the test has shown nothing")
	}
}

// TestBounded runs a bounded input to its end, with every parallelism.
func TestBounded(t *testing.T) {
	for parallelism := 1; parallelism <= 4; parallelism++ {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(3)
			feed(c, rand.New(rand.NewPCG(1, 2)), 3, 2000)
			store := newFakeStore()
			e := newFakeEngine(c, store, parallelism, checkpoint.Until{Latest: true})
			if err := e.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			check(t, c)
			last, _, confirmed, _ := store.Load()
			if !last.Ended || !confirmed {
				t.Errorf("the last checkpoint is ended %v, confirmed %v", last.Ended, confirmed)
			}
			n := int64(0)
			for _, k := range last.Counts {
				n += k.N
			}
			if n != 2000 {
				t.Errorf("%d records are counted, 2000 were read", n)
			}
			if err := e.Run(t.Context(), nil); err != nil {
				t.Errorf("a second start: %v", err)
			}
			check(t, c)
		})
	}
}

// TestAtLeastOnce runs without transactions: no ids, no markers, and every result at least once.
func TestAtLeastOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(3), newFakeStore()
		feed(c, rand.New(rand.NewPCG(1, 3)), 3, 2000)
		run := func(until checkpoint.Until, stop chan struct{}) {
			e := newFakeEngine(c, store, 2, until)
			e.Spec.Sinks[0].Deliver = AtLeastOnce
			if err := e.Run(t.Context(), stop); err != nil {
				t.Fatal(err)
			}
		}
		stop := make(chan struct{})
		time.AfterFunc(2*time.Minute, func() { close(stop) }) // many checkpoints later
		run(checkpoint.Until{}, stop)
		check(t, c) // nothing went wrong, so nothing came twice
		if n, _, confirmed, _ := store.Load(); n.Number < 3 || !confirmed || n.Exactly || len(n.IDs) > 0 || len(c.txns) > 0 || len(c.markers) > 0 {
			t.Errorf("checkpoint %d, confirmed %v, exactly-once %v with ids %q; %d transactions, %d markers", n.Number, confirmed, n.Exactly, n.IDs, len(c.txns), len(c.markers))
		}
	})
}

// TestCrashes kills the process at random moments, while records are being written, and starts it again with
// another parallelism. In the end nothing is lost or doubled.
func TestCrashes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round := range 10 {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(round)))
			c := newFakeCluster(3)
			fed := make(chan struct{})
			go func() {
				feed(c, rand.New(rand.NewPCG(seed, uint64(round+1000))), 3, 5000)
				close(fed)
			}()
			store := newFakeStore()
			kills := 0
			for alive := true; alive; {
				ctx, kill := context.WithCancel(t.Context())
				stop := make(chan struct{})
				e := newFakeEngine(c, store, 1+r.IntN(4), checkpoint.Until{})
				done := make(chan error)
				go func() { done <- e.Run(ctx, stop) }()
				select {
				case <-time.After(time.Duration(r.IntN(200)) * time.Millisecond):
					store = store.inherit()
					kill()
					kills++
				case <-fed:
					time.Sleep(time.Minute) // the partitions become idle, and time closes the last windows
					close(stop)
					alive = false
				}
				if err := <-done; !alive && err != nil {
					t.Fatal(err)
				}
				kill()
			}
			check(t, c)
			if kills == 0 {
				t.Error("no kills: the test has shown nothing")
			}
		})
	}
}

// TestRestarts lets requests fail for a moment, again and again. The pipeline restarts within the process and goes on from
// its last checkpoint.
func TestRestarts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	calls := []string{"Topics", "First", "End", "LastStable", "Poll", "Fence", "EndTxn", "Marker", "NewSink", "Begin", "Write", "Prepare", "Commit"}
	for round := range 3 {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(round)))
			c := newFakeCluster(3)
			parallelism, stop := 1+r.IntN(3), make(chan struct{})
			go func() {
				for range 20 {
					feed(c, r, 3, 300)
					c.mu.Lock()
					c.failNext[calls[r.IntN(len(calls))]] = failure.New(failure.Transient, "", nil, "a fault of the network")
					c.mu.Unlock()
				}
				time.Sleep(10 * time.Minute) // restarts wait for a minute at most, and fewer than ten can follow each other
				close(stop)
			}()
			if err := newFakeEngine(c, newFakeStore(), parallelism, checkpoint.Until{}).Run(t.Context(), stop); err != nil {
				t.Fatal(err)
			}
			check(t, c)
		})
	}
}

// TestQuiet shows that a pipeline with nothing to do makes no checkpoints but the ones that keep its marker alive.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		feed(c, rand.New(rand.NewPCG(1, 1)), 2, 500)
		store, stop := newFakeStore(), make(chan struct{})
		done := make(chan error)
		go func() { done <- newFakeEngine(c, store, 2, checkpoint.Until{}).Run(t.Context(), stop) }()
		time.Sleep(2 * time.Minute)
		before, _, _, _ := store.Load()
		time.Sleep(10 * QuietCheckpoint)
		after, _, _, _ := store.Load()
		if n := after.Number - before.Number; n < 9 || n > 10 {
			t.Errorf("%d checkpoints in the time of 10 refreshes", n)
		}
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
		check(t, c)
	})
}

// TestStopWithoutKafka shows that a pipeline that is stopped while Kafka is away ends, and does not claim that everything
// is committed.
func TestStopWithoutKafka(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Second} { // while it tries for the first time; later
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(1)
			c.down = failure.New(failure.Transient, "", nil, "Kafka is away")
			stop := make(chan struct{})
			time.AfterFunc(after, func() { close(stop) })
			err := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{}).Run(t.Context(), stop)
			if failure.KindOf(err) != failure.Deadline {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// TestStopIsBounded shows that a start that hangs ends a while after it was asked to stop.
func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine(nil, newFakeStore(), 1, checkpoint.Until{})
		e.Open = func(ctx context.Context, _ int) (Cluster, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		stop := make(chan struct{})
		close(stop)
		if err := e.Run(t.Context(), stop); failure.KindOf(err) != failure.Deadline {
			t.Errorf("ended with %v", err)
		}
	})
}

// TestNewTopicsShowLate makes the topics of a pipeline, which the cluster does not show at once.
func TestNewTopicsShowLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		late := c.topics
		c.topics = map[string]*fakeTopic{}
		c.created = func() {
			time.AfterFunc(3*time.Second, func() {
				c.mu.Lock()
				c.topics = late
				c.mu.Unlock()
				feed(c, rand.New(rand.NewPCG(1, 1)), 2, 500)
			})
		}
		e := newFakeEngine(c, newFakeStore(), 2, checkpoint.Until{})
		e.Options.CreateTopics = true
		stop := make(chan struct{})
		time.AfterFunc(5*time.Minute, func() { close(stop) })
		if err := e.Run(t.Context(), stop); err != nil {
			t.Fatal(err)
		}
		check(t, c)
	})
}

// TestNewPartitions finds two partitions while it runs, the first of which cannot be read at once.
func TestNewPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		stop := make(chan struct{})
		go func() {
			r := rand.New(rand.NewPCG(1, 1))
			feed(c, r, 1, 300)
			c.mu.Lock()
			c.unread = map[int32]int{1: 3}
			c.topics["in"].parts = append(c.topics["in"].parts, nil, nil)
			c.mu.Unlock()
			time.Sleep(time.Minute)
			feed(c, r, 3, 300)
			time.Sleep(5 * time.Minute)
			close(stop)
		}()
		store := newFakeStore()
		if err := newFakeEngine(c, store, 2, checkpoint.Until{}).Run(t.Context(), stop); err != nil {
			t.Fatal(err)
		}
		last, _, _, _ := store.Load()
		read := int64(0)
		for _, p := range last.Partitions {
			read += p.Next
		}
		if len(last.Partitions) != 3 || read != 600 {
			t.Errorf("%d partitions and %d records were read, want 3 and 600", len(last.Partitions), read)
		}
	})
}

// TestBacklogOfIdlePartitions lets all partitions become idle and then fills them, while the pipeline runs or is down. The one that is read first does
// not make the records of the others late.
func TestBacklogOfIdlePartitions(t *testing.T) {
	for _, down := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(2)
			store := newFakeStore()
			fill := func(from int64) {
				c.mu.Lock()
				defer c.mu.Unlock()
				for p := range 2 {
					for i := range int64(100) {
						log := &c.topics["in"].parts[p]
						*log = append(*log, record.Record{Key: []byte("k"), Value: []byte("{}"), Offset: int64(len(*log)), Time: from + 200*i})
					}
				}
				close(c.changed)
				c.changed = make(chan struct{})
			}
			run := func(until time.Duration, then func()) {
				stop := make(chan struct{})
				go func() {
					time.Sleep(until)
					then()
					time.Sleep(2 * time.Minute)
					close(stop)
				}()
				if err := newFakeEngine(c, store, 1, checkpoint.Until{}).Run(t.Context(), stop); err != nil {
					t.Fatal(err)
				}
			}
			const later = 10 * time.Minute
			at := int64(1e9) // beyond what passing time can close
			fill(0)
			if down {
				run(later, func() {})
				fill(at)
				run(later, func() {})
			} else {
				run(later, func() { fill(at) })
			}
			last, _, _, _ := store.Load()
			for _, n := range last.Counts {
				if n.Name == "late" {
					t.Errorf("down %v: %d records of partition %d are late", down, n.N, n.Partition)
				}
			}
		})
	}
}
