package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// crew is goroutines with names. The first failure of one ends the context of all.
type crew struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	left []string // who has not ended
}

// start runs f in a goroutine of that name.
func (c *crew) start(name string, f func(context.Context) error) {
	c.mu.Lock()
	c.left = append(c.left, name)
	c.mu.Unlock()
	c.wg.Go(func() {
		if err := f(c.ctx); err != nil && c.ctx.Err() == nil {
			c.cancel(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.left = slices.DeleteFunc(c.left, func(s string) bool { return s == name })
	})
}

// wait waits until all have ended. Who does not is stuck: nothing can go on beside it, so the process has to end. cause
// is why they were to end, nil if their work is done.
func (c *crew) wait(cause error) error {
	ended := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return cause
	case <-time.After(TeardownTimeout):
		c.mu.Lock()
		defer c.mu.Unlock()
		return failure.New(failure.Internal, "nothing is lost: the next start goes on from the last checkpoint", cause, "waited %v for the end of %s", TeardownTimeout, strings.Join(c.left, ", "))
	}
}
