package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// remake makes the topic of the sink anew, with another id.
func (c *fakeCluster) remake(id byte, partitions int) {
	c.set(func() {
		c.topics["out"] = &fakeTopic{id: checkpoint.ID{id}, parts: make([][]record.Record, partitions)}
	})
}

// within waits for the end of a pipeline, for a minute.
func within(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
		return nil
	}
}

// TestOutputTopicIsAnother makes the topic of a sink anew, and lets it grow: while the pipeline runs, while it waits for its cluster, and while it rests.
func TestOutputTopicIsAnother(t *testing.T) {
	const again, before, more = "was deleted and made again while the program ran", "was deleted and made again: what was written", "more partitions"
	for name, waits := range map[string]bool{"running": false, "waiting for its cluster": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, store := newFakeCluster(1), newFakeStore()
				e := newFakeEngine(c, store, 1, checkpoint.Until{})
				stop, ended := make(chan struct{}), make(chan error, 1)
				go func() { ended <- e.Run(t.Context(), stop) }()
				c.append("in", 0, "a", 1000)
				time.Sleep(time.Second)
				if waits {
					c.set(func() { c.down = failure.New(failure.Transient, "", nil, "no answer") })
					c.append("in", 0, "a", 2000)
					time.Sleep(2 * CommitTimeout)
				}
				c.remake(3, 1)
				c.set(func() { c.down = nil })
				if err := within(t, ended); failure.KindOf(err) != failure.Cluster || !strings.Contains(err.Error(), again) {
					t.Errorf("it has ended with %v", err)
				}

				e = newFakeEngine(c, store, 1, checkpoint.Until{})
				log := listen(e)
				stop = make(chan struct{})
				go func() { ended <- e.Run(t.Context(), stop) }()
				c.append("in", 0, "a", 3000)
				time.Sleep(3 * outputEvery)
				log.said(t, 1, before, "topic=out", "--fresh")
				log.said(t, 0, more)
				close(stop)
				if err := within(t, ended); err != nil {
					t.Errorf("the new one: %v", err)
				}
			})
		})
	}
	t.Run("grown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, store := newFakeCluster(1), newFakeStore()
			for life := range 2 {
				e := newFakeEngine(c, store, 1, checkpoint.Until{})
				log := listen(e)
				stop, ended := make(chan struct{}), make(chan error)
				go func() { ended <- e.Run(t.Context(), stop) }()
				c.append("in", 0, "a", int64(1000*(life+1)))
				time.Sleep(time.Second)
				log.said(t, life, more) // in its rest it has grown
				c.set(func() { c.topics["out"].parts = make([][]record.Record, 2+2*life) })
				time.Sleep(3 * outputEvery)
				grown := []string{"partitions=2 before=1", "partitions=4 before=3"}[life]
				log.said(t, life+1, more, "topic=out", grown)
				for _, parts := range []int{1, 2 + 2*life} { // a broker with old metadata is asked, and then another one
					c.set(func() { c.topics["out"].parts = make([][]record.Record, parts) })
					time.Sleep(2 * outputEvery)
				}
				log.said(t, life+1, more, "topic=out", grown)
				close(stop)
				if err := within(t, ended); err != nil {
					t.Error(err)
				}
				c.set(func() { c.topics["out"].parts = make([][]record.Record, 3) })
			}
		})
	})
}

// TestOutputTopicIsInDoubt: an id that one look has and the next has not is of a broker with old metadata, while the pipeline runs and when it starts
// again.
func TestOutputTopicIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		stop, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- e.Run(t.Context(), stop) }()
		time.Sleep(time.Second)
		id := c.topics["out"].id
		for _, others := range []string{"a", "a", "ab"} { // one in each look
			for _, other := range []byte(others) {
				c.set(func() { c.topics["out"].id = checkpoint.ID{other} })
				time.Sleep(outputEvery)
			}
			c.set(func() { c.topics["out"].id = id })
			time.Sleep(outputEvery)
		}
		c.set(func() {
			c.topics["out"].id = checkpoint.ID{'a'}
			c.failNext["Poll"] = failure.New(failure.Transient, "", nil, "the broker is gone")
		})
		c.append("in", 0, "a", 1000)
		looks := c.called("Topics")
		for c.called("Topics") == looks && len(ended) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		c.set(func() { c.topics["out"].id = id })
		time.Sleep(2 * outputEvery)
		if s := e.Status(); len(ended) != 0 || s.Phase != Running || s.Restarts != 1 {
			t.Fatalf("it is %v, and has started again %d times, want running and 1", s.Phase, s.Restarts)
		}
		close(stop)
		if err := within(t, ended); err != nil {
			t.Errorf("it has ended with %v", err)
		}
	})
}

// TestOutputTopicIsNotShown: a broker that comes up does not know a topic of a sink in one of the answers of a start. It is not taken for one that was made again.
func TestOutputTopicIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(1), newFakeStore()
		first := start(t, newFakeEngine(c, store, 1, checkpoint.Until{}))
		c.append("in", 0, "a", 1000)
		time.Sleep(time.Minute)
		first.end(t)
		for answer, restarts := range []int64{0, 0, 1} { // to the question which topics there are, what holds output back, and where it ends
			c.slow = map[string]time.Duration{"Topics": time.Second}
			var log bytes.Buffer
			e := newFakeEngine(c, store, 1, checkpoint.Until{})
			e.Options.CreateTopics = answer == 0 // else a topic that the first answer lacks ends the program, see MissingTopics
			e.Options.Log = slog.New(slog.NewTextHandler(&log, nil))
			shown, asked := c.topics["out"], c.called("Topics")
			run := start(t, e)
			for ; c.called("Topics") < asked+answer; time.Sleep(time.Millisecond) {
			}
			c.set(func() { delete(c.topics, "out") })
			for ; c.called("Topics") < asked+answer+1; time.Sleep(time.Millisecond) {
			}
			c.set(func() { c.topics["out"] = shown })
			c.append("in", 0, "a", int64(answer+1)*100_000)
			time.Sleep(time.Minute)
			s := e.Status()
			run.end(t)
			if s.Phase != Running || s.Restarts != restarts || strings.Contains(log.String(), "made again") {
				t.Errorf("not in answer %d: it is %v after %d restarts, and has said\n%s", answer, s.Phase, s.Restarts, &log)
			}
		}
	})
}

// TestOutputTopicIsGone: a topic of a sink that one look misses may be unknown to a broker that comes up; one that is gone ends the pipeline, though it
// writes nothing.
func TestOutputTopicIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		ended := make(chan error, 1)
		go func() { ended <- e.Run(t.Context(), nil) }()
		time.Sleep(time.Second)
		topic := c.topics["out"]
		for range 2 {
			c.set(func() { delete(c.topics, "out") })
			time.Sleep((goneAfter - 1) * outputEvery)
			c.set(func() { c.topics["out"] = topic })
			time.Sleep(outputEvery)
		}
		if len(ended) != 0 {
			t.Fatalf("it has ended with %v", <-ended)
		}
		c.set(func() { delete(c.topics, "out") })
		if err := within(t, ended); failure.KindOf(err) != failure.Cluster || !strings.Contains(err.Error(), "missing topic: out") || !strings.Contains(err.Error(), "--create --topic out") {
			t.Errorf("it has ended with %v", err)
		}
	})
}
