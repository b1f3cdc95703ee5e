package kafka

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// registersWith answers the registration of partitions with a transaction with a code for each of them.
func registersWith(code *kerr.Error) func(*faultproxy.Request) kmsg.Response {
	return func(r *faultproxy.Request) kmsg.Response {
		body, err := r.Body()
		if err != nil {
			panic(err)
		}
		answer := kmsg.NewPtrAddPartitionsToTxnResponse()
		for _, topic := range body.(*kmsg.AddPartitionsToTxnRequest).Topics {
			t := kmsg.NewAddPartitionsToTxnResponseTopic()
			t.Topic = topic.Topic
			for _, id := range topic.Partitions {
				p := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				p.Partition, p.ErrorCode = id, code.Code
				t.Partitions = append(t.Partitions, p)
			}
			answer.Topics = append(answer.Topics, t)
		}
		return answer
	}
}

// Under V1 each partition is registered with a transaction before it is written. When that fails for the second partition of a
// transaction, the transaction is whole all the same, or fails as a whole. Nothing is written beside it, and nothing of it stays open.
func TestSecondRegistrationFails(t *testing.T) {
	for _, deed := range []faultproxy.Deed{faultproxy.Answer, faultproxy.Forge} {
		for _, c := range []struct {
			code  *kerr.Error
			times int
			whole bool // the code is one that passes
		}{
			{kerr.ConcurrentTransactions, 2, true},
			{kerr.CoordinatorNotAvailable, 2, true},
			{kerr.NotCoordinator, 1, true},
			{kerr.CoordinatorLoadInProgress, 1, true},
			{kerr.OperationNotAttempted, 1, false},
			{kerr.UnknownServerError, 1, false},
			{kerr.TopicAuthorizationFailed, 1, false},
			{kerr.InvalidTxnState, 1, false},
		} {
			t.Run(fmt.Sprint(map[faultproxy.Deed]string{faultproxy.Answer: "unheard ", faultproxy.Forge: "heard "}[deed], c.code.Message), func(t *testing.T) {
				b, proxy := behind(t, 1)
				second := b.out + "-2"
				b.CreateTopic(t, second, 1)
				cfg := b.config()
				cfg.Topics = append(cfg.Topics, engine.SinkSpec{Name: "second", Topic: second, Deliver: engine.ExactlyOnce})
				s := b.sink(b.cluster, cfg).(*sink)
				try := func(n int64, values ...string) (checkpoint.Committable, error) {
					b.must(s.Begin(b.ctx, n))
					b.must(s.Write(b.ctx, slab(0, values[0])))
					p := s.current
					for tries := 1; p.tally.acked.Load() < 1 && sleep(b.ctx, pause(tries)); tries++ { // so that the second is registered by itself
					}
					if err := s.Write(b.ctx, slab(1, values[1:]...)); err != nil {
						return checkpoint.Committable{}, err
					}
					c, _, err := s.Prepare(b.ctx, n, b.at(n))
					return c, err
				}
				one, err := try(1, "a", "b")
				b.must(err)
				b.must(s.Commit(b.ctx, one))
				fault := proxy.Arm(faultproxy.Fault{Key: kmsg.AddPartitionsToTxn, Nth: 2, Count: c.times, Do: deed, Answer: registersWith(c.code)})
				want, next := []string{"a", "b"}, int64(2)
				two, err := try(2, "c", "d", "e")
				switch {
				case err == nil:
					b.must(s.Commit(b.ctx, two))
					want, next = append(want, "c", "d", "e"), 3
				case c.whole:
					t.Errorf("it would have passed: %v", err)
				}
				if fault.Hits() == 0 {
					t.Error("the fault was not met")
				}
				if err != nil {
					b.must(s.Abort(b.ctx))
					b.fence(b.cluster)
					s = b.sink(b.cluster, cfg).(*sink)
				}
				last, err := try(next, "f", "g")
				b.must(err)
				b.must(s.Commit(b.ctx, last))
				b.marked(next)
				b.AwaitSettled(t, b.out, second)
				var got []string
				for _, topic := range []string{b.out, second} {
					for _, r := range b.ReadCommitted(t, topic) {
						got = append(got, string(r.Value))
					}
				}
				if want = append(want, "f", "g"); !sameSet(got, want) {
					t.Errorf("committed are %q, want %q", got, want)
				}
			})
		}
	}
}

// The broker registers a partition with a transaction of V2 before it looks at the records. If it takes none of them, the transaction is
// open, and must not be the beginning of the next one.
func TestRefusedRecordsOpenNothing(t *testing.T) {
	for name, end := range map[string]func(b *bed, s engine.Sink){
		"given up": func(b *bed, s engine.Sink) {
			b.must(s.Abort(b.ctx))
			if state, err := b.cluster.Describe(b.ctx, b.ids[0]); err != nil || state.State == "Ongoing" {
				b.t.Errorf("when it is given up the transaction is %+v, %v", state, err)
			}
		},
		"died": func(b *bed, s engine.Sink) {
			s.Close()
			b.fence(b.cluster) // as a start does
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				s := b.sink(b.cluster, b.config())
				b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
				least := "100" // bytes of a batch, which the sink does not know of
				altered, err := b.cluster.admin.AlterTopicConfigs(b.ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &least}}, b.out)
				b.must(err)
				b.must(altered[0].Err)
				want, probe := []string{"a", "c", "d"}, strings.Join([]string{rand.Text(), rand.Text(), rand.Text(), rand.Text(), rand.Text()}, "") // that no compression makes small
				for b.Send(b.ctx, b.out, kafkatest.Record{Value: []byte(probe)}) == nil {                                                           // until it counts
					want = append(want, probe)
				}
				b.must(s.Begin(b.ctx, 2))
				err = s.Write(b.ctx, slab(0, strings.Repeat("b", 200)))
				if err == nil {
					_, _, err = s.Prepare(b.ctx, 2, b.at(2))
				}
				if err == nil {
					t.Fatal("a transaction of refused records is prepared")
				}
				end(b, s)
				next := b.sink(b.cluster, b.config())
				b.must(next.Commit(b.ctx, b.prepare(next, 2, "c")))
				b.must(next.Commit(b.ctx, b.prepare(next, 3, "d")))
				b.expect(want...)
				b.marked(3)
			})
		})
	}
}

// A transaction that holds nothing but its marker is committed by whoever has its committable, and fenced like any other: the broker knows
// of it.
func TestEmptyTransactionOfDeadProcess(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := b.sink(b.cluster, b.config())
		for n := range int64(2) {
			b.must(s.Begin(b.ctx, n))
			c, _, err := s.Prepare(b.ctx, n, b.at(n))
			b.must(err)
			b.must(s.Commit(b.ctx, c))
		}
		b.must(s.Begin(b.ctx, 2))
		two, _, err := s.Prepare(b.ctx, 2, b.at(2))
		b.must(err)
		s.Close()
		for range 2 { // the second as if the first one's answer were lost
			outcome, err := b.cluster.EndTxn(b.ctx, two)
			b.must(err)
			if outcome != engine.CommittedNow {
				t.Errorf("outcome %v", outcome)
			}
		}
		b.fence(b.cluster)
		b.marked(2)

		next := b.sink(b.cluster, b.config())
		b.must(next.Begin(b.ctx, 3))
		three, _, err := next.Prepare(b.ctx, 3, b.at(3))
		b.must(err)
		next.Close()
		b.fence(b.cluster) // as the broker does when its time is up
		if b.finish(b.cluster, three) {
			t.Error("an empty transaction that was aborted is taken for committed")
		}
		b.marked(2)
	})
}
