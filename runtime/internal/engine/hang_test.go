package engine

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// hangingStore is on a disk that does not answer one kind of call, until it is set free.
type hangingStore struct {
	Store
	at   string
	free chan struct{}
	shut chan struct{} // when it was closed
}

func (s *hangingStore) call(name string) {
	if name == s.at {
		<-s.free
	}
}

func (s *hangingStore) Save(c *checkpoint.Checkpoint) error {
	s.call("save")
	return s.Store.Save(c)
}

func (s *hangingStore) Confirm(n int64) error {
	s.call("confirm")
	return s.Store.Confirm(n)
}

func (s *hangingStore) Restore(ctx context.Context, yield func(checkpoint.Delta) error) error {
	s.call("restore")
	return s.Store.Restore(ctx, yield)
}

func (s *hangingStore) Close() error {
	close(s.shut)
	return s.Store.Close()
}

// TestStartHangsOnDisk stops a start that waits for a disk which does not answer: it ends when a stop has to.
func TestStartHangsOnDisk(t *testing.T) {
	for _, at := range []string{"open", "save", "confirm", "restore"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newFakeCluster(1)
				feed(c, rand.New(rand.NewPCG(1, 1)), 1, 100)
				s := &hangingStore{Store: newFakeStore(), at: at, free: make(chan struct{}), shut: make(chan struct{})}
				e := newFakeEngine(c, nil, 1, checkpoint.Until{})
				e.Store = nil
				e.OpenStore = func() (Store, error) {
					s.call("open")
					return s, nil
				}
				stop := make(chan struct{})
				time.AfterFunc(time.Minute, func() { close(stop) })
				began := time.Now()
				err := e.Run(t.Context(), stop)
				if took := time.Since(began); failure.KindOf(err) != failure.Deadline || took > time.Minute+StopDeadline+2*time.Second {
					t.Errorf("ended after %v with %v", took, err)
				}
				close(s.free)
				if at == "open" {
					<-s.shut // nobody else will
				}
			})
		})
	}
}
