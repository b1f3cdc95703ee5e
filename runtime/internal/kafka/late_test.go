package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// An EndTxn that is on its way for so long that its sender has repeated it, and begun the next transaction of that id, ends nothing: that
// one is committed when it is whole, not before.
func TestLateEndTxn(t *testing.T) {
	for _, c := range []struct {
		name string
		deed faultproxy.Deed
	}{{"delayed", faultproxy.Strand}, {"twice", faultproxy.Repeat}} {
		t.Run(c.name, func(t *testing.T) {
			eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
				late := proxy.Arm(faultproxy.Fault{Key: kmsg.EndTxn, When: ends, Do: c.deed})
				s := b.sink(b.cluster, b.config())
				b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
				late.Await(t)
				b.marked(1)
				b.must(s.Commit(b.ctx, b.prepare(s, 2, "b")))
				b.AwaitSettled(t, b.out)
				b.write(s, 3, "half") // under the id of 1
				b.state(b.ids[1], "Ongoing")
				answers, err := late.Release(b.ctx)
				b.must(err)
				t.Logf("the broker answers what comes late with %v", kerr.ErrorForCode(answers[0].(*kmsg.EndTxnResponse).ErrorCode))
				b.is(b.ids[1], "Ongoing")
				b.must(s.Write(b.ctx, slab(0, "other half")))
				three, _, err := s.Prepare(b.ctx, 3, b.at(3))
				b.must(err)
				if got := b.ReadCommitted(t, b.out); len(got) != 2 {
					t.Errorf("before the third commit %d records are committed, want 2", len(got))
				}
				b.must(s.Commit(b.ctx, three))
				b.marked(3)
				b.expect("a", "b", "half", "other half")
			})
		})
	}
}

// Records that arrive when their transaction is over are in no transaction: after a commit they are those that are there already, after
// an abort they are nothing, and leave nothing open.
func TestLateRecords(t *testing.T) {
	eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
		late := proxy.Arm(faultproxy.Fault{Key: kmsg.Produce, Do: faultproxy.Strand})
		s := b.sink(b.cluster, b.config())
		b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
		late.Await(t)
		_, err := late.Release(b.ctx)
		b.must(err)
		b.expect("a")

		never := proxy.Arm(faultproxy.Fault{Key: kmsg.Produce, Do: faultproxy.Strand, Count: -1})
		b.write(s, 2, "b")
		for tries := 1; never.Hits() == 0 && sleep(b.ctx, pause(tries)); tries++ {
		}
		b.must(s.Abort(b.ctx))
		never.Disarm()
		b.fence(b.cluster)
		answers, err := never.Release(b.ctx)
		b.must(err)
		for _, answer := range answers {
			for _, topic := range answer.(*kmsg.ProduceResponse).Topics {
				for _, p := range topic.Partitions {
					if p.ErrorCode == 0 {
						t.Errorf("a record is written when its transaction is aborted: %+v", p)
					}
				}
			}
		}
		b.expect("a")
		b.marked(1)
	})
}

// A record that is held up right before the barrier is waited for: a transaction is prepared when all of it is with the broker.
func TestPrepareWaitsForRecords(t *testing.T) {
	for _, c := range []struct {
		name     string
		key      faultproxy.Key
		versions []int
	}{
		{"record", kmsg.Produce, []int{1, 2}},
		{"registration", kmsg.AddPartitionsToTxn, []int{1}}, // V2 has none
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, version := range c.versions {
				b, proxy := behind(t, version)
				s := b.sink(b.cluster, b.config())
				held := proxy.Arm(faultproxy.Fault{Key: c.key, Do: faultproxy.Hold})
				marker := proxy.Arm(faultproxy.Fault{Key: kmsg.TxnOffsetCommit})
				b.write(s, 1, "a")
				type result struct {
					c   checkpoint.Committable
					err error
				}
				prepared := make(chan result, 1)
				go func() {
					c, _, err := s.Prepare(b.ctx, 1, b.at(1))
					prepared <- result{c, err}
				}()
				held.Await(t)
				marker.Await(t)
				b.state(b.ids[1], "Ongoing") // one more question and answer, after which a Prepare that waits for nothing has returned
				select {
				case r := <-prepared:
					t.Fatalf("V%d: Prepare does not wait for a record: %+v, %v", version, r.c, r.err)
				default:
				}
				_, err := held.Release(b.ctx)
				b.must(err)
				r := <-prepared
				b.must(r.err)
				b.must(s.Commit(b.ctx, r.c))
				b.expect("a")
				b.marked(1)
			}
		})
	}
}

// A successor that starts while the EndTxn of its predecessor is on its way commits by itself, and what arrives later ends nothing.
func TestSuccessorWhileEndTxnIsOnItsWay(t *testing.T) {
	eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
		s := b.sink(b.cluster, b.config())
		b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
		two := b.prepare(s, 2, "b")
		held := proxy.Arm(faultproxy.Fault{Key: kmsg.EndTxn, Do: faultproxy.Strand, Count: -1})
		committed := make(chan error, 1)
		go func() { committed <- s.Commit(b.ctx, two) }()
		for tries := 1; held.Hits() == 0 && sleep(b.ctx, pause(tries)); tries++ {
		}
		successor := b.open()
		if !b.finish(successor, two) {
			t.Error("the successor finds its transaction aborted")
		}
		next := b.sink(successor, b.config())
		b.must(next.Commit(b.ctx, b.prepare(next, 3, "c")))
		b.write(next, 4, "d") // under the id of 2
		b.state(b.ids[0], "Ongoing")
		held.Disarm()
		_, err := held.Release(b.ctx)
		b.must(err)
		wantKind(t, <-committed, failure.Fenced, "checkpoint 2")
		b.is(b.ids[0], "Ongoing")
		four, _, err := next.Prepare(b.ctx, 4, b.at(4))
		b.must(err)
		b.must(next.Commit(b.ctx, four))
		b.expect("a", "b", "c", "d")
		b.marked(4)
	})
}
