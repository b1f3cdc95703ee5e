package state_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// TestRestoreEndsFold restores while a fold is at work, as a restart within the process may: the fold ends first.
func TestRestoreEndsFold(t *testing.T) {
	opt := options().Small(1)
	var once sync.Once
	var folding atomic.Bool
	entered, release := make(chan struct{}), make(chan struct{})
	opt.Merge = func(id string, group int, deltas [][]byte, w int64) ([]byte, error) {
		folding.Store(true)
		defer folding.Store(false)
		once.Do(func() { close(entered) })
		<-release
		return mergeLines(id, group, deltas, w)
	}
	b := openBolt(t, t.TempDir(), opt)
	defer b.Close()
	must(t, b.Save(made(0, 0)))
	must(t, b.Confirm(0))
	b.AwaitFold() // of nothing: while it is at work no other begins
	must(t, b.Save(made(1, 0, delta(0, "5 k v\n"))))
	must(t, b.Confirm(1))
	<-entered
	quit := b.FoldQuit()
	go func() {
		<-quit
		close(release)
	}()
	yielded := 0
	must(t, b.Restore(context.Background(), func(checkpoint.Delta) error {
		if folding.Load() {
			t.Error("a fold is at work")
		}
		yielded++
		return nil
	}))
	if yielded != 1 {
		t.Errorf("%d deltas are restored, want 1", yielded)
	}
}
