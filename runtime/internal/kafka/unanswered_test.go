package kafka

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// A commit whose answers are lost is asked for again until there is one, whether the network says so or not.
func TestLostAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault faultproxy.Fault
	}{
		{"three times", faultproxy.Fault{Key: kmsg.EndTxn, Do: faultproxy.Lose, Count: 3}},
		{"in silence", faultproxy.Fault{Key: kmsg.EndTxn, Do: faultproxy.Mute}}, // until the client takes the connection for dead, after 10 s
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, version := range []int{1, 2} {
				t.Run([]string{"", "V1", "V2"}[version], func(t *testing.T) {
					b, proxy := behind(t, version)
					if c.fault.Do == faultproxy.Mute {
						t.Parallel() // it waits, and no more
					}
					s := b.sink(b.cluster, b.config())
					lost := proxy.Arm(c.fault)
					b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
					lost.Await(t)
					b.marked(1)
					b.must(s.Commit(b.ctx, b.prepare(s, 2, "b")))
					b.must(s.Commit(b.ctx, b.prepare(s, 3, "c")))
					b.expect("a", "b", "c")
					b.marked(3)
				})
			}
		})
	}
}

// timed is a context whose time is over when a channel is closed.
type timed struct {
	context.Context
	over <-chan struct{}
}

func (c timed) Done() <-chan struct{} { return c.over }

func (c timed) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// When no answer comes in time, what became of the commit is unknown: the sink does not go on, and the next start finds out. The broker may
// have committed, or heard nothing.
func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		name string
		deed faultproxy.Deed
	}{{"committed", faultproxy.Lose}, {"unheard", faultproxy.Cut}} {
		t.Run(c.name, func(t *testing.T) {
			eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
				s := b.sink(b.cluster, b.config())
				b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
				two := b.prepare(s, 2, "b")
				b.write(s, 3, "c")
				away := proxy.Arm(faultproxy.Fault{Key: kmsg.EndTxn, Do: c.deed, Count: -1})
				over := make(chan struct{})
				go func() {
					defer close(over)
					for tries := 1; away.Hits() < 2 && sleep(b.ctx, pause(tries)); tries++ {
					}
				}()
				wantKind(t, s.Commit(timed{b.ctx, over}, two), failure.Transient, "checkpoint 2")
				if away.Hits() < 2 {
					t.Errorf("it was asked %d times", away.Hits())
				}
				wantKind(t, s.Begin(b.ctx, 4), failure.Transient, "checkpoint 2")
				away.Disarm()
				s.Close()
				if !b.finish(b.cluster, two) {
					t.Error("the start finds the transaction aborted")
				}
				next := b.sink(b.cluster, b.config())
				b.must(next.Commit(b.ctx, b.prepare(next, 3, "C")))
				b.expect("a", "b", "C")
				b.marked(3)
			})
		})
	}
}

// UNKNOWN_SERVER_ERROR as the answer to a commit is neither yes nor no. The transaction is committed if the broker says so when it is asked
// again, and not if it was aborted meanwhile.
func TestUnknownServerError(t *testing.T) {
	t.Run("committed", func(t *testing.T) {
		eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
			s := b.sink(b.cluster, b.config())
			forged := proxy.Arm(faultproxy.Fault{Key: kmsg.EndTxn, Do: faultproxy.Forge, Answer: endsWith(kerr.UnknownServerError)})
			b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
			forged.Await(t)
			b.must(s.Commit(b.ctx, b.prepare(s, 2, "b")))
			b.expect("a", "b")
			b.marked(2)
		})
	})
	t.Run("aborted", func(t *testing.T) {
		eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
			s := b.sink(b.cluster, b.config())
			b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
			two := b.prepare(s, 2, "b")
			other := b.open()
			proxy.Arm(faultproxy.Fault{Key: kmsg.EndTxn, Do: faultproxy.Answer, Answer: func(r *faultproxy.Request) kmsg.Response {
				b.must(other.Fence(b.ctx, b.ids[0], txnTimeout)) // the broker gives the transaction up
				return endsWith(kerr.UnknownServerError)(r)
			}})
			wantKind(t, s.Commit(b.ctx, two), failure.Fenced, "checkpoint 2")
			s.Close()
			if b.finish(other, two) {
				t.Error("the start finds the transaction committed")
			}
			b.expect("a")
			b.marked(1)
		})
	})
}

// A coordinator that has forgotten what it has done refuses an honest repetition, at once and at the next start. The marker knows better.
func TestHonestRepetitionIsRefused(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.ProducerFenced, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState, kerr.InvalidProducerEpoch} {
		t.Run(code.Message, func(t *testing.T) {
			eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
				s := b.sink(b.cluster, b.config())
				b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
				two := b.prepare(s, 2, "b")
				lost := proxy.Arm(faultproxy.Fault{Key: kmsg.EndTxn, Do: faultproxy.Lose})
				proxy.Arm(faultproxy.Fault{Key: kmsg.EndTxn, Do: faultproxy.Answer, Answer: endsWith(code), Count: 2})
				if err := s.Commit(b.ctx, two); err == nil {
					t.Fatal("a repetition that is refused is taken for a commit")
				}
				lost.Await(t)
				s.Close()
				outcome, err := b.cluster.EndTxn(b.ctx, two)
				b.must(err)
				if outcome != engine.Undecided {
					t.Errorf("outcome %v", outcome)
				}
				b.fence(b.cluster)
				b.marked(2)
				b.expect("a", "b")
			})
		})
	}
}
