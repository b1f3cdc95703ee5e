package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// holdBack makes 3 of 4 records of the output invisible.
func (c *fakeCluster) holdBack(holds ...Hold) {
	c.set(func() {
		c.topics["out"].parts[0] = make([]record.Record, 4)
		c.stable = map[string]int64{"out": 1}
		for i := range holds {
			holds[i].Topic, holds[i].First = "out", 1
		}
		c.holds = holds
	})
}

func (c *fakeCluster) release() {
	c.set(func() { c.stable, c.holds, c.more, c.moved = nil, nil, nil, nil })
}

func owner(id, state string, producer int64, epoch int16) *Owner {
	return &Owner{ID: id, TxnState: TxnState{State: state, ProducerID: producer, Epoch: epoch}}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in %q", p, text)
		}
	}
}

// A start does not go on while output of an ended transaction of its own cannot be seen: it could be aborted together with the next one.
func TestStartRefusesInvisibleOutput(t *testing.T) {
	for _, c := range []struct {
		name string
		hold Hold
		kind failure.Kind // Transient: it starts
		wait time.Duration
	}{
		{"fenced since", Hold{Producer: 77, Epoch: 3, Owner: owner("fake-0", "Empty", 77, 5)}, failure.Cluster, visibleLimit},
		{"committed", Hold{Producer: 77, Epoch: 3, Owner: owner("fake-1", "CompleteCommit", 77, 4)}, failure.Cluster, visibleLimit},
		{"a newer one is open", Hold{Producer: 77, Epoch: 3, Owner: owner("fake-1", "Ongoing", 77, 6)}, failure.Cluster, visibleLimit},
		{"of another pipeline", Hold{Producer: 77, Epoch: 3, Owner: owner("other-0", "CompleteCommit", 77, 4)}, failure.Transient, 0},
		{"of nobody known", Hold{Producer: 77, Epoch: 3}, failure.Transient, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newFakeCluster(1)
				cluster.holdBack(c.hold)
				e := newFakeEngine(cluster, newFakeStore(), 1, checkpoint.Until{Latest: true})
				out, err := e.Foresee(context.Background(), Clusters{cluster}, Stored{})
				if err != nil || failure.KindOf(out.Refused) != c.kind && out.Refused != nil || (out.Refused != nil) != (c.kind != failure.Transient) {
					t.Errorf("it is foreseen: %v, %v", out.Refused, err)
				}
				began := time.Now()
				err = e.Run(context.Background(), nil)
				if c.kind == failure.Transient {
					if err != nil || time.Since(began) > visibleLimit {
						t.Errorf("after %v: %v", time.Since(began), err)
					}
					return
				}
				if failure.KindOf(err) != c.kind || time.Since(began) < c.wait {
					t.Fatalf("after %v, kind %d: %v", time.Since(began), failure.KindOf(err), err)
				}
				contains(t, err.Error(), "topic out, partition 0: 3 offsets from 1 to 3", "producer id 77, epoch 3", c.hold.Owner.ID, "txn repair", "KAFKA-20734")
				if n, _, _, _ := e.Store.Load(); n != nil {
					t.Errorf("it has begun a state: %+v", n)
				}
				cluster.release()
				if err := newFakeEngine(cluster, newFakeStore(), 1, checkpoint.Until{Latest: true}).Run(context.Background(), nil); err != nil {
					t.Errorf("when it can be seen again: %v", err)
				}
			})
		})
	}
}

// What becomes visible within the limit is waited for, and what the cluster does not tell is said and not refused.
func TestStartWaitsForOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		c.holdBack(Hold{Producer: 77, Epoch: 3, Owner: owner("fake-0", "Empty", 77, 5)})
		go func() {
			time.Sleep(visibleLimit / 2)
			c.release()
		}()
		if err := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{Latest: true}).Run(context.Background(), nil); err != nil {
			t.Error(err)
		}
		c.holdBack()
		c.set(func() { c.denied = failure.New(failure.Cluster, "READ", nil, "no right") })
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{Latest: true})
		e.Options.Fresh = true
		log := listen(e)
		if err := e.Run(context.Background(), nil); err != nil {
			t.Error(err)
		}
		log.said(t, 2, "a sink's partition is held back from readers of committed records, and the cluster does not tell by whom", "3 offsets from 1 to 3", "no right")
	})
}

// A pipeline that runs says which of its output stays invisible, once a minute, with what it knows; and not of its open transactions.
func TestWatchOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		log := listen(e)
		stop, ended := make(chan struct{}), make(chan error)
		go func() { ended <- e.Run(context.Background(), stop) }()
		c.append("in", 0, "a", 1000)
		time.Sleep(time.Second)
		const text = "stays invisible"

		c.holdBack(Hold{Producer: 77, Epoch: 3, Owner: owner("fake-0", "Ongoing", 77, 3)})
		time.Sleep(3 * time.Minute)
		log.said(t, 0, text)
		c.holdBack(Hold{Producer: 77, Epoch: 3, Owner: owner("other", "CompleteCommit", 77, 4)})
		time.Sleep(3 * time.Minute)
		log.said(t, 0, text)

		newest, _, _, _ := e.Store.Load()
		mine := newest.Committable
		c.holdBack(Hold{Producer: mine.ProducerID, Epoch: mine.Epoch, Owner: owner(mine.TransactionalID, "Empty", mine.ProducerID, mine.Epoch+2)})
		time.Sleep(sayEvery + heldAfter)
		log.said(t, 1, text, "topic=out", "partition=0", "stable=1", "records=3", fmt.Sprint("producer_id=", mine.ProducerID), "fate=committed", "txn repair")
		if held := e.Status().Held; len(held) != 1 || held[0].Stable != 1 || held[0].End != 4 {
			t.Errorf("shown are %v", held)
		}
		time.Sleep(2 * sayEvery)
		log.said(t, 3, text)
		c.release()
		time.Sleep(2 * outputEvery)
		if held := e.Status().Held; len(held) != 0 {
			t.Errorf("shown are %v", held)
		}
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// busy is a healthy cluster: somebody else's transaction holds the output back for long, and behind it the pipeline's own ones come and go, each ended
// between the answers of the leader and of its coordinator.
func (c *fakeCluster) busy() {
	c.holdBack()
	c.set(func() {
		c.moved = func(call int) []Hold {
			return []Hold{
				{Topic: "out", Producer: 9, Epoch: 1, First: 1},
				{Topic: "out", Producer: 77, Epoch: 3, First: int64(1 + call), Owner: owner("fake-0", "CompleteCommit", 77, 3)},
			}
		}
	})
}

// A transaction that ends while it is looked at has not lost its marker.
func TestBusyOutputIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		c.busy()
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		if out, err := e.Foresee(context.Background(), Clusters{c}, Stored{}); err != nil || out.Refused != nil {
			t.Errorf("it is foreseen: %v, %v", out.Refused, err)
		}
		log := listen(e)
		stop, ended := make(chan struct{}), make(chan error)
		go func() { ended <- e.Run(context.Background(), stop) }()
		began := c.called("Holds")
		for range 10 {
			c.append("in", 0, "a", 1000)
			time.Sleep(sayEvery)
			if held := e.Status().Held; len(held) != 0 {
				t.Errorf("shown are %v", held)
			}
		}
		log.said(t, 0, "stays invisible")
		if n := c.called("Holds") - began; n < 10 {
			t.Errorf("it has asked %d times", n)
		}
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Who holds output back is asked again soon if there was no answer, and what was found is not shown any more when nobody looks.
func TestWatchOutputAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		log := listen(e)
		stop, ended := make(chan struct{}), make(chan error)
		go func() { ended <- e.Run(context.Background(), stop) }()
		c.append("in", 0, "a", 1000)
		time.Sleep(time.Second)
		gone := failure.New(failure.Transient, "", nil, "no answer")
		for n := range 2 { // the first look, and the second
			c.holdBack(Hold{Producer: 77, Epoch: 3, Owner: owner("fake-0", "Empty", 77, 5)})
			before := c.called("Holds") + n
			c.set(func() {
				c.moved = func(call int) []Hold {
					if call > before && call <= before+1 {
						c.denied = gone
					} else {
						c.denied = nil
					}
					return c.holds
				}
			})
			time.Sleep(heldAfter + 4*outputEvery)
			log.said(t, n+1, "stays invisible")
			if held := e.Status().Held; len(held) != 1 {
				t.Errorf("shown are %v", held)
			}
			if n == 0 {
				c.release()
				time.Sleep(2 * outputEvery)
			}
		}
		c.set(func() { c.down = gone })
		c.append("in", 0, "a", 2000)
		time.Sleep(CommitTimeout)
		if s := e.Status(); s.Restarts == 0 || len(s.Held) != 0 {
			t.Errorf("behind %d restarts there are shown %v", s.Restarts, s.Held)
		}
		c.set(func() { c.down = nil })
		c.release()
		close(stop)
		if err := <-ended; err != nil && failure.KindOf(err) != failure.Deadline {
			t.Error(err)
		}
	})
}

// A source that is held back by somebody's open transaction says whose it is.
func TestHeldBackSourceNamesTheProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(1)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		log := listen(e)
		stop, ended := make(chan struct{}), make(chan error)
		go func() { ended <- e.Run(context.Background(), stop) }()
		c.append("in", 0, "a", 1000)
		since := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		o := owner("somebody", "Ongoing", 9, 2)
		o.Since, o.Timeout = since, time.Minute
		c.set(func() {
			c.more, c.stable = map[string]int64{"in": 5}, map[string]int64{"in": 1}
			c.holds = []Hold{{Topic: "in", Producer: 9, Epoch: 2, First: 1, Owner: o}}
		})
		time.Sleep(heldAfter + 5*time.Second)
		log.said(t, 1, "an open transaction of another producer holds a partition back",
			"partition=0", "stable=1", "records=5", "producer_id=9", "producer_epoch=2", "transactional_id=somebody", "open_since=2026-01-31T12:00:00.000Z", "aborted_after=1m0s")
		c.release()
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
