package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/memory"
)

// slowStore restores a key every millisecond, and goes on for a time after it was told to end, as one does that is amid a large delta.
type slowStore struct {
	Store
	full  func()        // is called when a few keys are there
	after time.Duration // that it goes on for
	keys  int           // that it has given in all, once over is closed
	over  chan struct{}
}

func (s *slowStore) Restore(ctx context.Context, yield func(checkpoint.Delta) error) error {
	defer close(s.over)
	var end time.Time
	for end.IsZero() || time.Now().Before(end) {
		key := fmt.Sprint("k", s.keys)
		data, err := json.Marshal([]fakeEntry{{fakeKey{0, key}, 1}})
		if err != nil {
			return err
		}
		if err := yield(checkpoint.Delta{Operator: "count", Group: keyGroup(key), Data: data}); err != nil {
			return err
		}
		if s.keys++; s.keys == 10 {
			s.full()
		}
		time.Sleep(time.Millisecond)
		if ctx.Err() != nil && end.IsZero() {
			end = time.Now().Add(s.after)
		}
	}
	return ctx.Err()
}

// TestOutgrownWhileRestoring: the memory gets too little while a start still restores. What holds it is counted when the restore has ended, and not at all
// if it does not end: it would be counted while it is written.
func TestOutgrownWhileRestoring(t *testing.T) {
	for _, c := range []struct {
		name        string
		parallelism int
		after       time.Duration
		counted     bool
	}{
		{"it ends", 1, restoreEnd / 2, true},
		{"it ends, several tasks", 3, restoreEnd / 2, true},
		{"it does not end", 1, 10 * restoreEnd, false},
		{"it does not end, several tasks", 3, 10 * restoreEnd, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				s := &slowStore{Store: newFakeStore(), after: c.after, over: make(chan struct{})}
				s.full = func() { cancel(outgrown(errors.New("90 MiB are held"))) }
				began := time.Now()
				err := newFakeEngine(newFakeCluster(1), s, c.parallelism, checkpoint.Until{}).Run(ctx, nil)
				if took := time.Since(began); failure.KindOf(err) != failure.Memory || took > 2*restoreEnd {
					t.Errorf("ended after %v with %v", took, err)
				}
				<-s.over
				if want := fmt.Sprintf("has %d keys in 1 open window", s.keys); c.counted && !strings.Contains(err.Error(), want) || !c.counted && strings.Contains(err.Error(), "keys in") {
					t.Errorf("counted: %v, %d keys: %v", c.counted, s.keys, err)
				}
			})
		})
	}
}

// TestTooSmall: where the program would not fit without its state either, the state is not blamed, and what to set is said.
func TestTooSmall(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name  string
		away  bool // Kafka is: nothing has begun
		store bool // in memory
		left  bool // Kafka is away, and what an attempt has left may still be held
		keys  int
		held  int64 // MiB of 100
		from  string
		more  int64
		alone string // "": the state is to blame
	}{
		{"before it begins", true, false, false, 0, 95, "GOMEMLIMIT", 0, "whose windows have 0 keys: 95 MiB are held, of 100 MiB (GOMEMLIMIT); without any state it needs 106 MiB: set GOMEMLIMIT=212MiB or more"},
		{"before it begins, with a store in memory", true, true, false, 0, 95, "GOMEMLIMIT", 0, "whose windows have 0 keys"},
		{"without state", false, false, false, 0, 95, "memory.max of the control group", 0, "whose windows have 0 keys: 95 MiB are held, of 100 MiB (memory.max of the control group); without any state it needs 106 MiB: give the process 212 MiB of memory or more"},
		{"with a little", false, false, false, 3, 95, "GOMEMLIMIT", 0, "whose windows have 3 keys: 95 MiB are held, of 100 MiB (GOMEMLIMIT); without any state it needs 103 MiB"},
		{"with much", false, false, false, 20, 95, "GOMEMLIMIT", 0, ""},
		{"with a table that grows", false, false, false, 20, 85, "GOMEMLIMIT", 10, ""},
		{"with a store in memory", false, true, false, 3, 95, "GOMEMLIMIT", 0, ""},
		{"with what an attempt has left", false, false, true, 20, 95, "GOMEMLIMIT", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newFakeCluster(1)
				if c.away {
					cluster.down = failure.New(failure.Transient, "", nil, "Kafka is away")
				}
				for i := range c.keys {
					cluster.append("in", 0, fmt.Sprint("k", i), 1)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				ended := make(chan error)
				e := newFakeEngine(cluster, newFakeStore(), 1, checkpoint.Until{})
				e.Spec.Memory = c.store
				go func() { ended <- e.Run(ctx, nil) }()
				synctest.Wait()
				if c.left {
					cluster.set(func() { cluster.down = failure.New(failure.Transient, "", nil, "Kafka is away") })
					cluster.append("in", 0, "k", 1)
					for e.Status().Phase != Restarting {
						time.Sleep(time.Second)
					}
				}
				cancel(outgrown(&memory.Exceeded{Held: c.held * mib, More: c.more * mib, Limit: 100 * mib, From: c.from}))
				err := <-ended
				want := fmt.Sprintf("the state has outgrown the memory: count () has %d keys in 1 open window: ", c.keys)
				if c.left {
					want = "the state has outgrown the memory: 95 MiB are held" // nobody knows by what
				}
				if c.alone != "" {
					want = "the memory limit is too small for the program itself, " + c.alone
				}
				if failure.KindOf(err) != failure.Memory || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
			})
		})
	}
}
