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
				if want := fmt.Sprintf("has %d keys in 1 open windows", s.keys); c.counted && !strings.Contains(err.Error(), want) || !c.counted && strings.Contains(err.Error(), "keys in") {
					t.Errorf("counted: %v, %d keys: %v", c.counted, s.keys, err)
				}
			})
		})
	}
}
