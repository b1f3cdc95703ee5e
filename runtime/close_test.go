package runtime

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// slowStore closes when it may.
type slowStore struct {
	engine.Store
	free chan error
}

func (s slowStore) Close() error { return <-s.free }

// TestCloseHangs ends a run although the disk does not answer.
func TestCloseHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowStore{free: make(chan error, 1)}
		err := closeStore(s)
		if failure.KindOf(err) != failure.Disk || !strings.Contains(err.Error(), "not closed within 10s") {
			t.Errorf("a store that does not close: %v", err)
		}
		s.free <- nil
	})
	want := errors.New("closed badly")
	s := slowStore{free: make(chan error, 1)}
	s.free <- want
	if err := closeStore(s); err != want {
		t.Errorf("got %v, want %v", err, want)
	}
}
