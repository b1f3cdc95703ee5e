package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// An open transaction is shown with its producer and its id, and is nothing that is lost.
func TestHolds(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		b.Produce(t, b.out, kafkatest.Record{Partition: 1, Value: []byte("before")})
		x := b.OpenTxn(t, b.ids[0], b.out, kafkatest.Record{Partition: 1, Value: []byte("a")})
		held := b.held()
		if len(held) != 1 || held[0].Partition != 1 || held[0].Stable != 1 || held[0].End != 2 || len(held[0].Holds) != 1 {
			t.Fatalf("held back is %+v", held)
		}
		h := held[0].Holds[0]
		if h.First != 1 || h.Owner == nil || h.Owner.ID != b.ids[0] || time.Since(h.Last) > testTimeout || h.Owner.State != "Ongoing" || time.Since(h.Owner.Since) > testTimeout || h.Owner.Timeout != 15*time.Minute {
			t.Errorf("it is held back by %v %+v", h, h.Owner)
		}
		if h.Ended() || h.Hangs() {
			t.Errorf("an open transaction is taken for one that has ended: %v", h)
		}
		b.must(x.Commit(b.ctx))
		b.expect("before", "a")
		if left, err := b.cluster.Holds(b.ctx, b.out, []int32{0, 1}); err != nil || len(left) > 0 {
			t.Errorf("behind the commit: %v, %v", left, err)
		}
	})
}

// Whether a transaction is one of the pipeline's is found without the brokers that only others need: listing transactions takes them all.
func TestOwnHoldsNeedNoOtherBroker(t *testing.T) {
	b, proxy := behind(t, 2)
	b.OpenTxn(t, b.ids[1], b.out, kafkatest.Record{Partition: 1, Value: []byte("a")})
	b.OpenTxn(t, b.out+"-stranger", b.out, kafkatest.Record{Partition: 1, Value: []byte("b")})
	proxy.Arm(faultproxy.Fault{Key: kmsg.ListTransactions, Do: faultproxy.Drop, Count: -1})
	held := b.held(b.ids[:]...)
	if len(held) != 1 || len(held[0].Holds) != 2 {
		t.Fatalf("held back is %+v", held)
	}
	if h := held[0].Holds; h[0].Owner == nil || h[0].Owner.ID != b.ids[1] || h[0].Ended() || h[1].Owner != nil {
		t.Errorf("they are %v", h)
	}
}

// held is what holds readers of the output back.
func (b *bed) held(ids ...string) []engine.Held {
	b.t.Helper()
	held, err := engine.Behind(b.ctx, b.cluster, []string{b.out})
	b.must(err)
	held, err = engine.HeldBack(b.ctx, b.cluster, held, engine.Hold.Ended, ids...)
	b.must(err)
	return held
}

// Of three brokers one does not answer. Whose the pipeline's own transactions are is found all the same, without asking it if only they are asked for; of
// others it is said which broker may know it, and nobody takes them for ended.
func TestSilentBroker(t *testing.T) {
	b, fake := newFakeBed(t, kfake.NumBrokers(3))
	silent := (fake.CoordinatorFor(b.ids[0]) + 1) % 3
	stranger := ""
	for i := 0; stranger == "" || fake.CoordinatorFor(stranger) != silent; i++ {
		stranger = fmt.Sprint(b.out, "-stranger-", i)
	}
	b.OpenTxn(t, b.ids[0], b.out, kafkatest.Record{Partition: 0, Value: []byte("a")})
	b.OpenTxn(t, stranger, b.out, kafkatest.Record{Partition: 1, Value: []byte("b")})
	open, err := b.cluster.Transactions(b.ctx, []string{stranger})
	b.must(err)
	asked := 0
	fake.ControlKey(kmsg.ListTransactions.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if asked++; fake.CurrentNode() == silent {
			return nil, errors.New("it breaks the connection"), true
		}
		list := req.(*kmsg.ListTransactionsRequest) // the embedded broker would tell of all, wherever their coordinator is
		list.ProducerIDFilters = slices.DeleteFunc(list.ProducerIDFilters, func(id int64) bool { return id == open[stranger].Producer })
		return nil, nil, false
	})
	for _, own := range []bool{true, false} {
		var ids []string
		if own {
			ids = b.ids[:1]
		}
		held := b.held(ids...)
		if len(held) != 2 || len(held[0].Holds) != 1 || len(held[1].Holds) != 1 || (asked == 0) != own {
			t.Fatalf("own %t: asked %d times, held back is %+v", own, asked, held)
		}
		slices.SortFunc(held, func(x, y engine.Held) int { return int(x.Partition - y.Partition) })
		mine, other := held[0].Holds[0], held[1].Holds[0]
		if mine.Owner == nil || mine.Owner.ID != b.ids[0] || mine.Untold != nil || mine.Ended() || other.Owner != nil || (other.Untold != nil) == own {
			t.Errorf("own %t: they are %v and %v", own, mine, other)
		}
		if want := fmt.Sprintf("whose it is is not known (broker %d at 127.0.0.1:", silent); !own && (other.Ended() || !strings.Contains(other.String(), want)) {
			t.Errorf("of a broker that may know it is said: %v", other)
		}
	}
}

// Brokers that are too old to tell who holds readers back say so by what they list among their requests. That is no failure that passes: who starts is
// told as if the right to ask was missing.
func TestOldBroker(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.DescribeProducers, kmsg.DescribeTransactions} {
		t.Run(key.Name(), func(t *testing.T) {
			old := kversion.Stable()
			old.SetMaxKeyVersion(key.Int16(), -1)
			b, _ := newFakeBed(t, kfake.MaxVersions(old))
			b.OpenTxn(t, b.ids[0], b.out, kafkatest.Record{Partition: 0, Value: []byte("a")})
			held := b.held(b.ids[:]...)
			if len(held) != 1 || held[0].Stable != 0 || held[0].End != 1 || len(held[0].Holds) > 0 {
				t.Fatalf("held back is %+v", held)
			}
			wantKind(t, held[0].Denied, failure.Cluster, "broker 0 does not know the request "+key.Name(), "Kafka has it since 3.0")
		})
	}
	t.Run("refused", func(t *testing.T) {
		b, proxy := newFakeBedBehind(t)
		b.OpenTxn(t, b.ids[0], b.out, kafkatest.Record{Partition: 0, Value: []byte("a")})
		proxy.Arm(faultproxy.Fault{Key: kmsg.DescribeProducers, Count: -1, Do: faultproxy.Answer, Answer: func(r *faultproxy.Request) kmsg.Response {
			body, err := r.Body()
			b.must(err)
			answer := body.ResponseKind().(*kmsg.DescribeProducersResponse)
			for _, topic := range body.(*kmsg.DescribeProducersRequest).Topics {
				of := kmsg.NewDescribeProducersResponseTopic()
				of.Topic = topic.Topic
				for _, id := range topic.Partitions {
					p := kmsg.NewDescribeProducersResponseTopicPartition()
					p.Partition, p.ErrorCode = id, kerr.UnsupportedVersion.Code
					of.Partitions = append(of.Partitions, p)
				}
				answer.Topics = append(answer.Topics, of)
			}
			return answer
		}})
		held := b.held(b.ids[:]...)
		if len(held) != 1 {
			t.Fatalf("held back is %+v", held)
		}
		wantKind(t, held[0].Denied, failure.Cluster, "UNSUPPORTED_VERSION")
	})
}

// The end marker that a broker has lost is written in its place. The one of a transaction that its producer has left behind is refused.
func TestEndHold(t *testing.T) {
	for name, commit := range map[string]bool{"commit": true, "abort": false} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				b.OpenTxn(t, b.ids[0], b.out, kafkatest.Record{Partition: 1, Value: []byte("a")})
				holds, err := b.cluster.Holds(b.ctx, b.out, []int32{1})
				b.must(err)
				if len(holds) != 1 {
					t.Fatalf("holds are %v", holds)
				}
				other := holds[0]
				other.Epoch++
				b.must(b.cluster.EndHold(b.ctx, other, commit))
				if left, err := b.cluster.Holds(b.ctx, b.out, []int32{1}); err != nil || len(left) != 1 {
					t.Fatalf("a marker of another epoch has ended it: %v, %v", left, err)
				}
				b.must(b.cluster.EndHold(b.ctx, holds[0], commit))
				b.must(b.cluster.EndHold(b.ctx, holds[0], commit)) // again, by somebody who has looked before
				if commit {
					b.expect("a")
				} else {
					b.expect()
				}
			})
		})
	}
}

// Who cannot read a marker is told whose transaction writes it, and how long that can last.
func TestUnstableMarkerNamesTheTransaction(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := b.sink(b.cluster, b.config())
		b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
		b.marked(1)
		two := b.prepare(s, 2, "b")
		other := b.stranger(t, false)
		_, _, err := b.open().Beside(nil).Look(b.ctx, b.group)
		wantKind(t, err, failure.Transient, "transactional id "+two.TransactionalID, "open since", "aborted after 2m0s, in ")
		if strings.Contains(fmt.Sprint(err), other) {
			t.Errorf("one that writes elsewhere is named: %v", err)
		}
		stopped, stop := context.WithCancel(b.ctx)
		stop()
		began := time.Now()
		if err := b.cluster.unstable(stopped, err, b.group, nil, 0); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Errorf("behind a stop it still asks, after %v: %v", time.Since(began), err)
		}
		b.must(s.Commit(b.ctx, two))
		b.marked(2)
	})
}

// stranger has a transaction open that writes the offsets of another group, whose partition is the one of the bed's group, or not. It returns its id.
func (b *bed) stranger(t *testing.T, same bool) string {
	t.Helper()
	n, err := b.cluster.groupPartitions(b.ctx)
	b.must(err)
	cfg := b.config()
	for i := 0; (groupPartition(cfg.Group, n) == groupPartition(b.group, n)) != same || i == 0; i++ {
		cfg.Group = fmt.Sprint(b.group, "-other-", i)
	}
	cfg.IDs = [2]string{cfg.Group + "-0", cfg.Group + "-1"}
	return b.prepare(b.sink(b.cluster, cfg), 1, "of another").TransactionalID
}

// The partition of a group is the one that Kafka chooses: by String.hashCode of Java, of which the least number has no absolute value and counts as 0.
func TestGroupPartition(t *testing.T) {
	for group, want := range map[string]int32{"": 0, "a": 97 % 50, "hello": 99162322 % 50, "eo-clicks": 2060609938 % 50, "😀": 1772899 % 50, "polygenelubricants": 0} {
		if got := groupPartition(group, 50); got != want {
			t.Errorf("group %q is in partition %d, want %d", group, got, want)
		}
	}
}

// A marker whose transaction has ended at its coordinator does not become readable by itself: that is no reason to try again.
func TestLostMarkerOfTheGroup(t *testing.T) {
	b := newBedAt(t, kafkatest.Start(t, kafkatest.Options{}))
	s := b.sink(b.cluster, b.config())
	b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
	b.marked(1)
	two := b.prepare(s, 2, "b")
	b.must(s.Commit(b.ctx, two))
	b.marked(2)
	s.Close()
	b.fence(b.cluster)
	b.Kill(t)
	torn := 0
	for id := range int32(4) { // as kafkatest has them
		if b.TearMarker(t, GroupsTopic, id) == two.ProducerID {
			torn++
		}
	}
	if torn != 1 {
		t.Fatalf("%d partitions end with the marker of producer %d", torn, two.ProducerID)
	}
	b.Restart(t)
	c := b.open()
	b.stranger(t, false)
	_, _, err := c.Beside([]string{b.group + "-none"}).Look(b.ctx, b.group)
	wantKind(t, err, failure.Transient) // it is of somebody else
	_, _, err = c.Beside(b.ids[:]).Look(b.ctx, b.group)
	wantKind(t, err, failure.Cluster, "KAFKA-20734", "txn repair", GroupsTopic, two.Producer()[:strings.Index(two.Producer(), "/")])
	place, err := c.OffsetsPlace(b.ctx, b.group)
	b.must(err)
	holds, err := c.Holds(b.ctx, GroupsTopic, []int32{place[0].Partition})
	b.must(err)
	holds = slices.DeleteFunc(holds, func(h engine.Hold) bool { return !h.Ended() }) // the stranger's
	if len(holds) != 1 {
		t.Fatalf("holds are %v", holds)
	}
	b.must(c.EndHold(b.ctx, holds[0], true))
	b.cluster = c
	b.marked(2)
}
