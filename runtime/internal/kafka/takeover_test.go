package kafka

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// fence fences both ids, as a start does.
func (b *bed) fence(c *Cluster) {
	b.t.Helper()
	for _, id := range b.ids {
		b.must(c.Fence(b.ctx, id, txnTimeout))
	}
}

// wantKind expects a failure of a kind that names what an operator needs.
func wantKind(t testing.TB, err error, kind failure.Kind, parts ...string) {
	t.Helper()
	if err == nil || failure.KindOf(err) != kind {
		t.Fatalf("kind %d, want %d: %v", failure.KindOf(err), kind, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v\ndoes not name %s", err, part)
		}
	}
}

func TestFenceAbortsWhatIsOpen(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := b.sink(b.cluster, b.config())
		b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
		two := b.prepare(s, 2, "b")
		b.write(s, 3, "c")
		s.Close()
		b.fence(b.open())
		b.expect("a")
		b.marked(1)
		outcome, err := b.cluster.EndTxn(b.ctx, two)
		b.must(err)
		if outcome != engine.Undecided {
			t.Errorf("EndTxn of a fenced transaction: outcome %v", outcome)
		}
		b.expect("a")
		b.marked(1)
	})
}

// A copy that was taken over stops with Fenced wherever it stands, and nothing of it is committed.
func TestZombie(t *testing.T) {
	steps := map[string]func(b *bed, s engine.Sink, old checkpoint.Committable) error{
		"writes": func(b *bed, s engine.Sink, _ checkpoint.Committable) error {
			if err := s.Write(b.ctx, slab(0, "zombie")); err != nil {
				return err
			}
			_, _, err := s.Prepare(b.ctx, 3, b.at(3))
			return err
		},
		"marks only": func(b *bed, s engine.Sink, _ checkpoint.Committable) error {
			_, _, err := s.Prepare(b.ctx, 3, b.at(3))
			return err
		},
		"commits": func(b *bed, s engine.Sink, old checkpoint.Committable) error { return s.Commit(b.ctx, old) },
	}
	for name, step := range steps {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				zombie := b.sink(b.cluster, b.config())
				b.must(zombie.Commit(b.ctx, b.prepare(zombie, 1, "a")))
				two := b.prepare(zombie, 2, "b")
				b.must(zombie.Begin(b.ctx, 3))

				c := b.open()
				b.fence(c)
				successor := b.sink(c, b.config())
				b.must(successor.Commit(b.ctx, b.prepare(successor, 2, "B")))

				wantKind(t, step(b, zombie, two), failure.Fenced, b.group, "another copy")
				b.must(zombie.Abort(b.ctx))
				b.must(successor.Commit(b.ctx, b.prepare(successor, 3, "C")))
				b.must(successor.Commit(b.ctx, b.prepare(successor, 4, "D")))
				b.expect("a", "B", "C", "D")
				b.marked(4)
			})
		})
	}
}

// A copy that wakes up behind its EndTxn, when its successor has both ids, does not take one of them back: what renews
// its producer moves the epoch only of an id that is its own.
func TestZombieDoesNotRenew(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		zombie := b.sink(b.cluster, b.config()).(*sink)
		one := b.prepare(zombie, 1, "a")
		zombie.renewing.Lock() // it is paused here
		b.must(zombie.Commit(b.ctx, one))

		c := b.open()
		b.fence(c)
		successor := b.sink(c, b.config())
		two := b.prepare(successor, 2, "B")
		zombie.renewing.Unlock()
		zombie.renewals.Wait()
		b.must(successor.Commit(b.ctx, two))
		b.must(successor.Commit(b.ctx, b.prepare(successor, 3, "C")))
		wantKind(t, zombie.Begin(b.ctx, 3), failure.Fenced, b.ids[1])
		b.expect("a", "B", "C")
	})
}

// A sink is overtaken when a copy has started, and not by anything less: an id that is taken once, both that are fenced, its own renewals.
func TestOvertaken(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		overtaken := func(s engine.Sink, want bool, when string) {
			t.Helper()
			got, err := s.Overtaken(b.ctx)
			b.must(err)
			if got != want {
				t.Errorf("%s: overtaken is %v", when, got)
			}
		}
		s := b.sink(b.cluster, b.config())
		overtaken(s, false, "opened")
		b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
		b.must(s.Commit(b.ctx, b.prepare(s, 2, "b")))
		s.(*sink).renewals.Wait()
		overtaken(s, false, "after two transactions")
		for _, held := range s.(*sink).held {
			if now, err := b.cluster.Describe(b.ctx, held.id); err != nil || now.ProducerID != held.producer || now.Epoch != held.epoch {
				t.Errorf("the sink holds %+v, the coordinator says %+v (%v)", held, now, err)
			}
		}

		b.write(s, 3, "lost")
		three := b.ids[1]
		b.must(b.cluster.Fence(b.ctx, three, txnTimeout)) // by a request of a dead process
		_, _, err := s.Prepare(b.ctx, 3, b.at(3))
		wantKind(t, err, failure.Fenced, "another copy")
		overtaken(s, false, "one id is taken while its transaction is open")
		s.Close()

		s = b.sink(b.cluster, b.config())
		c := b.open()
		b.fence(c)
		overtaken(s, false, "both ids are fenced, by a start that was refused")
		successor := b.sink(c, b.config())
		overtaken(s, true, "a copy has started")
		overtaken(successor, false, "the copy itself")
		b.must(successor.Commit(b.ctx, b.prepare(successor, 3, "c")))
		b.expect("a", "b", "c")

		// A fence that aborts moves the epoch twice. So one that meets an open transaction of each id is taken for a start: the safe side.
		prepared := b.prepare(successor, 4, "d")
		b.write(successor, 5, "lost")
		b.state(b.ids[1], "Ongoing")
		b.fence(b.open())
		overtaken(successor, true, "both ids are fenced while each has an open transaction")
		wantKind(t, successor.Commit(b.ctx, prepared), failure.Fenced, "another copy")
	})
}

// A copy that starts between the two steps in which a sink renews its producer is seen, though the sink takes that id once more behind it.
func TestOvertakenWhileRenewing(t *testing.T) {
	eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
		s := b.sink(b.cluster, b.config()).(*sink)
		one := b.prepare(s, 1, "a")
		second := proxy.Arm(faultproxy.Fault{Key: kmsg.InitProducerID, Do: faultproxy.Hold, When: faultproxy.TakesFromAny})
		b.must(s.Commit(b.ctx, one))
		second.Await(t)
		c := b.open()
		b.fence(c)
		b.sink(c, b.config())
		_, err := second.Release(b.ctx)
		b.must(err)
		s.renewals.Wait()
		got, err := s.Overtaken(b.ctx)
		b.must(err)
		if !got {
			t.Errorf("the sink holds %+v, and is not overtaken", s.held)
		}
	})
}

// A sink is not overtaken if one of its ids says so, though the coordinator of the other one does not answer; without an answer that decides, it is not known.
func TestOvertakenIsNotKnown(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := b.sink(b.cluster, b.config()).(*sink)
		unanswered := s.held[0]
		unanswered.id = "" // no coordinator has it
		s.holds(0, unanswered)
		if got, err := s.Overtaken(b.ctx); got || err != nil {
			t.Errorf("overtaken is %v, %v", got, err)
		}
		c := b.open()
		b.fence(c)
		b.sink(c, b.config())
		if got, err := s.Overtaken(b.ctx); got || err == nil {
			t.Errorf("when the other one is taken: overtaken is %v, %v", got, err)
		}
	})
}

// A transaction that the broker has aborted for its age, prepared or not, is undecided by EndTxn and decided by the marker.
func TestTimedOutTransaction(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		first := b.sink(b.cluster, b.config())
		b.must(first.Commit(b.ctx, b.prepare(first, 1, "a")))
		first.Close()
		cfg := b.config()
		cfg.TxnTimeout = time.Second
		var s engine.Sink
		var two checkpoint.Committable
		for err := context.DeadlineExceeded; err != nil; { // until it is prepared before it is too old
			s = b.sink(b.cluster, cfg)
			if err = s.Begin(b.ctx, 2); err == nil {
				err = s.Write(b.ctx, slab(0, "b"))
			}
			if err == nil {
				two, _, err = s.Prepare(b.ctx, 2, b.at(2))
			}
			if err != nil {
				b.must(b.ctx.Err())
				t.Log(err)
				s.Close()
			}
		}
		b.AwaitSettled(t, b.out) // the broker aborts it
		state, err := b.cluster.Describe(b.ctx, two.TransactionalID)
		b.must(err)
		for state.State != "CompleteAbort" && sleep(b.ctx, pause(1)) {
			state, err = b.cluster.Describe(b.ctx, two.TransactionalID)
			b.must(err)
		}
		for range 2 {
			outcome, err := b.cluster.EndTxn(b.ctx, two)
			b.must(err)
			if outcome != engine.Undecided {
				t.Errorf("EndTxn of an aborted transaction: outcome %v", outcome)
			}
		}
		b.fence(b.cluster)
		b.marked(1)
		b.expect("a")
		// The running copy does not take this for a take-over.
		wantKind(t, s.Commit(b.ctx, two), failure.Transient, "its timeout is 1s")
	})
}

// The answers to Describe agree with what happened, as start-up relies on.
func TestDescribe(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		expect := func(id, state string, producer int64, epochs ...int16) {
			t.Helper()
			got, err := b.cluster.Describe(b.ctx, id)
			b.must(err)
			if got.State != state || got.ProducerID != producer || state != "" && got.Epoch != epochs[0] {
				t.Errorf("%s is %+v, want %s of producer %d, epoch %v", id, got, state, producer, epochs)
			}
		}
		expect(b.ids[1], "", 0)
		s := b.sink(b.cluster, b.config())
		one := b.prepare(s, 1, "a")
		expect(one.TransactionalID, "Ongoing", one.ProducerID, one.Epoch)
		outcome, err := b.cluster.EndTxn(b.ctx, one)
		b.must(err)
		b.AwaitSettled(t, b.out)
		bumped := one.Epoch
		if one.EndTxnVersion == endV2 {
			bumped++
		}
		for state, err := b.cluster.Describe(b.ctx, one.TransactionalID); state.State == "PrepareCommit"; state, err = b.cluster.Describe(b.ctx, one.TransactionalID) {
			b.must(err)
			sleep(b.ctx, pause(1))
		}
		if expect(one.TransactionalID, "CompleteCommit", one.ProducerID, bumped); outcome != engine.CommittedNow {
			t.Errorf("outcome %v", outcome)
		}
	})
}

// A marker whose transaction stays open is waited for, and then the message says which transaction it is.
func TestUnstableMarker(t *testing.T) {
	b := newBed(t, 2)
	s := b.sink(b.cluster, b.config())
	b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
	b.marked(1)
	b.prepare(s, 2, "b")
	var err error
	for limit := 300 * time.Millisecond; limit < testTimeout; limit *= 2 { // until an answer comes within it
		if _, err = b.cluster.marker(b.ctx, b.group, limit, nil); err == nil || strings.Contains(err.Error(), "transactional id ") {
			break
		}
	}
	wantKind(t, err, failure.Transient, b.group, "transactional id "+b.ids[0], "Ongoing", "aborted after 2m0s")
}

// What another consumer, or another state, left in the group is told apart from this pipeline's marker.
func TestMarkersOfOthers(t *testing.T) {
	b := newBed(t, 2)
	b.must(b.cluster.CommitOffsets(b.ctx, b.group, b.at(5)))
	b.marked(-1)
	first := b.config()
	first.Incarnation = checkpoint.ID{9}
	old := b.sink(b.cluster, first)
	c := b.prepare(old, 7, "a")
	b.must(old.Commit(b.ctx, c))
	old.Close()
	b.fence(b.cluster)

	// A new incarnation that reads only one of the partitions leaves no marker of the old one.
	s := b.sink(b.cluster, b.config())
	b.must(s.Begin(b.ctx, 0))
	zero, _, err := s.Prepare(b.ctx, 0, b.at(0)[:1])
	b.must(err)
	b.must(s.Commit(b.ctx, zero))
	b.marked(0)
	b.must(s.Begin(b.ctx, 1))
	one, _, err := s.Prepare(b.ctx, 1, b.at(1)[:1])
	b.must(err)
	b.must(s.Commit(b.ctx, one))
	b.marked(1)
}

func TestOtherCluster(t *testing.T) {
	b := newBed(t, 2)
	_, err := b.cluster.EndTxn(b.ctx, checkpoint.Committable{ClusterID: "elsewhere", TransactionalID: "x", Checkpoint: 4, EndTxnVersion: endV2})
	wantKind(t, err, failure.Cluster, "checkpoint 4", "elsewhere", b.cluster.id, "EO_BROKERS")
}

func TestTimeoutAboveTheBrokers(t *testing.T) {
	b := newBed(t, 2)
	b.must(b.cluster.CheckTxnTimeout(b.ctx, 15*time.Minute))
	wantKind(t, b.cluster.CheckTxnTimeout(b.ctx, time.Hour), failure.Cluster, "1h0m0s", "15m0s", "txn_timeout", "transaction.max.timeout.ms")
	wantKind(t, b.cluster.Fence(b.ctx, b.ids[0], time.Hour), failure.Cluster, "1h0m0s", "transaction.max.timeout.ms")
	cfg := b.config()
	cfg.TxnTimeout = time.Hour
	_, err := b.cluster.NewSink(cfg)
	wantKind(t, err, failure.Cluster, "1h0m0s", "transaction.max.timeout.ms")
}

func TestUnreachable(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // nobody answers before that, however long an attempt takes
	defer cancel()
	_, err := Open(ctx, Config{Brokers: []string{"127.0.0.1:1"}})
	wantKind(t, err, failure.Transient, "127.0.0.1:1", "connection refused", "check that the broker is up")
	_, err = Open(ctx, Config{Brokers: []string{"127.0.0.1:1"}, Unnamed: "--brokers or EO_BROKERS"})
	wantKind(t, err, failure.Transient, "nobody has named the brokers, and 127.0.0.1:1 is the default: name yours with --brokers or EO_BROKERS")

	// A broker that answers, and tells an address that leads nowhere, is the right one.
	liar := kafkatest.StartLiar(t)
	liar.Advertise("127.0.0.1", 1)
	c, err := Open(ctx, Config{Brokers: []string{liar.Addr}, Unnamed: "--brokers or EO_BROKERS"})
	if err == nil {
		defer c.Close()
		_, err = c.Describe(ctx, "orders-0")
	}
	wantKind(t, err, failure.Transient, "check that the broker is up and that 127.0.0.1:1 can be reached from here")
}
