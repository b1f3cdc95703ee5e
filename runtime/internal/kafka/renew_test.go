package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// A copy that is paused between the two steps in which an id is taken again takes it from its successor when it wakes up. It sees that, and commits nothing more,
// though its other transaction was committed before the successor came, so that nothing else would tell.
func TestZombieBetweenTheSteps(t *testing.T) {
	eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
		zombie := b.sink(b.cluster, b.config())
		one := b.prepare(zombie, 1, "a")
		// The first step says who has the id, the second takes it from whomever.
		second := proxy.Arm(faultproxy.Fault{Key: kmsg.InitProducerID, Do: faultproxy.Hold, When: faultproxy.TakesFromAny})
		b.must(zombie.Commit(b.ctx, one))
		second.Await(t)
		b.must(zombie.Commit(b.ctx, b.prepare(zombie, 2, "b")))

		b.succeeded()
		_, err := second.Release(b.ctx)
		b.must(err)

		wantKind(t, zombie.Begin(b.ctx, 3), failure.Fenced, b.ids[1])
		if overtaken, err := zombie.Overtaken(b.ctx); err != nil || !overtaken {
			t.Errorf("overtaken %v (%v): its successor runs", overtaken, err)
		}
		b.expect("a", "b", "C", "D")
		b.marked(4)
	})
}

// succeeded is the sink of a copy that has taken over behind transaction 2, and has committed two.
func (b *bed) succeeded() engine.Sink {
	c := b.open()
	b.fence(c)
	s := b.sink(c, b.config())
	b.must(s.Commit(b.ctx, b.prepare(s, 3, "C")))
	b.must(s.Commit(b.ctx, b.prepare(s, 4, "D")))
	return s
}

// The answer to either step is lost, and the request is repeated. The first step moves the epoch once all the same. The second moves it twice, as if somebody
// else had taken the id: the sink does not go on, and nobody is found who has overtaken it.
func TestRenewalRepeated(t *testing.T) {
	for name, second := range map[string]bool{"first step": false, "second step": true} {
		t.Run(name, func(t *testing.T) {
			eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
				s := b.sink(b.cluster, b.config())
				one := b.prepare(s, 1, "a")
				lost := proxy.Arm(faultproxy.Fault{Key: kmsg.InitProducerID, Do: faultproxy.Lose, When: func(r *faultproxy.Request) bool { return faultproxy.TakesFromAny(r) == second }})
				b.must(s.Commit(b.ctx, one))
				lost.Await(t)
				b.must(s.Commit(b.ctx, b.prepare(s, 2, "b")))
				if second {
					wantKind(t, s.Begin(b.ctx, 3), failure.Fenced, b.ids[1], "between two steps", "if another copy")
				} else {
					b.must(s.Commit(b.ctx, b.prepare(s, 3, "c")))
				}
				if overtaken, err := s.Overtaken(b.ctx); err != nil || overtaken {
					t.Errorf("overtaken %v (%v): nobody else is there", overtaken, err)
				}
				if !second {
					b.expect("a", "b", "c")
					return
				}
				s.Close()
				b.fence(b.cluster)
				goOn(b, 3, "a", "b")
			})
		})
	}
}
