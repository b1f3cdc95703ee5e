package kafka

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// stableAtZero answers a question for last stable offsets as a broker whose partitions are held back from their beginning.
func stableAtZero(r *faultproxy.Request) kmsg.Response {
	return faultproxy.Offsets(r, func(p *kmsg.ListOffsetsResponseTopicPartition) { p.Offset = 0 })
}

// producersAnswer answers the question for producers as leaders that have a transaction of a producer open in each partition, or with a code.
func producersAnswer(producer int64, code int16) func(*faultproxy.Request) kmsg.Response {
	return func(r *faultproxy.Request) kmsg.Response {
		answer := kmsg.NewPtrDescribeProducersResponse()
		body, err := r.Body()
		if err != nil {
			return answer // to nothing; its sender will say so
		}
		for _, asked := range body.(*kmsg.DescribeProducersRequest).Topics {
			topic := kmsg.NewDescribeProducersResponseTopic()
			topic.Topic = asked.Topic
			for _, id := range asked.Partitions {
				open := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
				open.ProducerID, open.CurrentTxnStartOffset = producer, 0
				partition := kmsg.NewDescribeProducersResponseTopicPartition()
				partition.Partition, partition.ErrorCode = id, code
				if code == 0 {
					partition.ActiveProducers = append(partition.ActiveProducers, open)
				}
				topic.Partitions = append(topic.Partitions, partition)
			}
			answer.Topics = append(answer.Topics, topic)
		}
		return answer
	}
}

// What brokers say of last stable offsets and of producers, and what it says of the end markers of a transaction.
func TestMarks(t *testing.T) {
	const own, foreign = 7, 8
	unknown, late, denied := kerr.UnknownTopicOrPartition.Code, kerr.OffsetNotAvailable.Code, kerr.TopicAuthorizationFailed.Code
	b, proxy := behind(t, 2)
	for _, c := range []struct {
		name            string
		stable          [2]int64
		codes           [2]int16 // of last stable offsets
		whose           bool
		before          int64 // where readers were seen to stop at somebody else's in partition 0; 0: nowhere
		producer        int64
		denied          int16 // code of the question for producers
		notTold         int64 // offsets of records that brokers have not told
		lacking, untold []int32
		unknown         []int32
		passed          int64 // as before, from then on
		asks            bool  // for producers
		failed          bool
	}{
		{name: "all there", stable: [2]int64{8, 4}, whose: true},
		{name: "at its first record", stable: [2]int64{5, 4}, whose: true, lacking: []int32{0}},
		{name: "further in front, at first", stable: [2]int64{3, 4}, lacking: []int32{0}},
		{name: "further in front", stable: [2]int64{3, 4}, whose: true, producer: own, lacking: []int32{0}, asks: true},
		{name: "behind somebody else", stable: [2]int64{3, 4}, whose: true, producer: foreign, passed: 3, asks: true},
		{name: "still behind somebody else", stable: [2]int64{3, 4}, before: 3, producer: foreign, passed: 3, asks: true},
		{name: "still behind somebody else, and lacking", stable: [2]int64{3, 4}, before: 3, producer: own, lacking: []int32{0}, passed: 3, asks: true},
		{name: "no more behind somebody else", stable: [2]int64{4, 4}, before: 3, lacking: []int32{0}, passed: 3},
		{name: "without the right", stable: [2]int64{3, 2}, whose: true, denied: denied, lacking: []int32{1}, untold: []int32{0}, asks: true},
		{name: "still without the right", stable: [2]int64{3, 4}, before: 3, denied: denied, passed: 3, asks: true},
		{name: "a partition that is not known", stable: [2]int64{0, 2}, codes: [2]int16{unknown, 0}, whose: true, lacking: []int32{1}, unknown: []int32{0}},
		{name: "not now", stable: [2]int64{0, 4}, codes: [2]int16{late, 0}, whose: true, failed: true},
		{name: "ends that were not told", stable: [2]int64{8, 4}, notTold: 1, lacking: []int32{0}},
		{name: "ends that were not told, and all is there", stable: [2]int64{8, 4}, notTold: 1, whose: true, producer: foreign, passed: 8, asks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ends := proxy.Arm(faultproxy.Fault{Key: kmsg.ListOffsets, When: faultproxy.AsksStable, Count: -1, Do: faultproxy.Answer, Answer: func(r *faultproxy.Request) kmsg.Response {
				return faultproxy.Offsets(r, func(p *kmsg.ListOffsetsResponseTopicPartition) {
					p.Offset, p.ErrorCode = c.stable[p.Partition], c.codes[p.Partition]
				})
			}})
			defer ends.Disarm()
			producers := proxy.Arm(faultproxy.Fault{Key: kmsg.DescribeProducers, Count: -1, Do: faultproxy.Answer, Answer: producersAnswer(c.producer, c.denied)})
			defer producers.Disarm()
			others, first := map[partition]int64{}, partition{b.out, 0}
			if c.before > 0 {
				others[first] = c.before
			}
			m, err := b.cluster.marks(b.ctx, own, []checkpoint.Written{
				{Topic: b.out, Partition: 0, First: 5, Tally: checkpoint.Tally{Next: 8}, Untold: c.notTold},
				{Topic: b.out, Partition: 1, First: 2, Tally: checkpoint.Tally{Next: 4}},
			}, c.whose, others)
			if (err != nil) != c.failed || err != nil && failure.KindOf(err) != failure.Transient {
				t.Fatalf("error %v", err)
			}
			if others[first] != c.passed {
				t.Errorf("readers stop for others at %d, want %d", others[first], c.passed)
			}
			if !slices.Equal(ids(m.lacking), c.lacking) || !slices.Equal(ids(m.untold), c.untold) || !slices.Equal(ids(m.unknown), c.unknown) || (producers.Hits() > 0) != c.asks {
				t.Errorf("lacking in %v, want %v; untold of %v, want %v; unknown %v, want %v; %d questions for producers",
					ids(m.lacking), c.lacking, ids(m.untold), c.untold, ids(m.unknown), c.unknown, producers.Hits())
			}
		})
	}
}

func ids(places []checkpoint.Written) (ids []int32) {
	for _, w := range places {
		ids = append(ids, w.Partition)
	}
	return ids
}

// All topics of a transaction are asked about, and a partition that brokers do not know hides no other of its topic.
func TestMarksOfSeveralTopics(t *testing.T) {
	b, proxy := behind(t, 2)
	proxy.Arm(faultproxy.Fault{Key: kmsg.ListOffsets, When: faultproxy.AsksStable, Count: -1, Do: faultproxy.Answer, Answer: stableAtZero})
	var written []checkpoint.Written
	for _, topic := range []string{b.in, b.out} {
		for _, id := range []int32{0, 1, 99} {
			written = append(written, checkpoint.Written{Topic: topic, Partition: id, Tally: checkpoint.Tally{Next: 4}})
		}
	}
	m, err := b.cluster.marks(b.ctx, 7, written, false, map[partition]int64{})
	b.must(err)
	if want := []checkpoint.Written{written[0], written[1], written[3], written[4]}; !slices.Equal(m.lacking, want) {
		t.Errorf("lacking in %v, want %v", m.lacking, want)
	}
	if want := []checkpoint.Written{written[2], written[5]}; !slices.Equal(m.unknown, want) || len(m.untold) > 0 {
		t.Errorf("unknown %v, want %v; untold of %v", m.unknown, want, m.untold)
	}
}

// Where leaders do not tell whose transaction holds readers back, it is waited for once, and not again while readers stop there.
func TestUntoldIsWaitedForOnce(t *testing.T) {
	b, proxy := behind(t, 2)
	proxy.Arm(faultproxy.Fault{Key: kmsg.ListOffsets, When: faultproxy.AsksStable, Count: -1, Do: faultproxy.Answer, Answer: stableAtZero})
	denied := proxy.Arm(faultproxy.Fault{Key: kmsg.DescribeProducers, Count: -1, Do: faultproxy.Answer, Answer: producersAnswer(0, kerr.TopicAuthorizationFailed.Code)})
	written := []checkpoint.Written{{Topic: b.out, Partition: 0, First: 2, Tally: checkpoint.Tally{Next: 4}}}
	others := map[partition]int64{}
	b.must(b.cluster.awaitMarkers(b.ctx, transaction{producer: 7}, written, others, markersLimit))
	asked := denied.Hits()
	b.must(b.cluster.awaitMarkers(b.ctx, transaction{producer: 7}, written, others, markersLimit))
	if again := denied.Hits() - asked; asked < 2 || again != 1 {
		t.Errorf("asked %d times, and then %d times; want some, and then once", asked, again)
	}
}

// A partition that brokers do not know is waited for, but not for ever: it may be gone for good.
func TestUnknownPartitionIsPassed(t *testing.T) {
	b, proxy := behind(t, 2)
	asked := proxy.Arm(faultproxy.Fault{Key: kmsg.ListOffsets, When: faultproxy.AsksStable, Count: -1, Do: faultproxy.Answer, Answer: func(r *faultproxy.Request) kmsg.Response {
		return faultproxy.Offsets(r, func(p *kmsg.ListOffsetsResponseTopicPartition) { p.ErrorCode = kerr.UnknownTopicOrPartition.Code })
	}})
	written := []checkpoint.Written{{Topic: b.out, Partition: 0, Tally: checkpoint.Tally{Next: 4}}}
	b.must(b.cluster.awaitMarkers(b.ctx, transaction{producer: 7}, written, map[partition]int64{}, 4*untoldLimit/3))
	if asked.Hits() < 2 {
		t.Errorf("asked %d times", asked.Hits())
	}
}

// As long as the end marker of a transaction is not where it has written, its id begins no other one: what that writes would be part of it.
func TestEndMarkersAreAwaited(t *testing.T) {
	eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
		s := b.sink(b.cluster, b.config())
		one := b.prepare(s, 1, "a")
		held := proxy.Arm(faultproxy.Fault{Key: kmsg.ListOffsets, When: faultproxy.AsksStable, Count: -1, Do: faultproxy.Answer, Answer: stableAtZero})
		// It is the first record of the topic that readers stop at, so leaders need not tell whose it is.
		denied := proxy.Arm(faultproxy.Fault{Key: kmsg.DescribeProducers, Count: -1, Do: faultproxy.Answer, Answer: producersAnswer(0, kerr.TopicAuthorizationFailed.Code)})
		b.must(s.Commit(b.ctx, one))
		two := b.prepare(s, 2, "b") // of the other id, which waits for nobody
		b.must(s.Commit(b.ctx, two))
		begun := make(chan error, 1)
		go func() { begun <- s.Begin(b.ctx, 3) }()
		for tries := 1; held.Hits() < 8 && sleep(b.ctx, pause(tries)); tries++ {
		}
		select {
		case err := <-begun:
			t.Fatalf("transaction 3 has begun (%v), though the end marker of 1 is not there", err)
		default:
		}
		// Until then its coordinator has to know what became of it.
		epoch := one.Epoch
		if one.EndTxnVersion >= endV2 {
			epoch++
		}
		if now, err := b.cluster.Describe(b.ctx, one.TransactionalID); err != nil || now.Epoch != epoch || now.State != "CompleteCommit" {
			t.Errorf("the coordinator has %+v (%v), want epoch %d, CompleteCommit", now, err, epoch)
		}
		held.Disarm()
		denied.Disarm()
		b.must(<-begun)
		b.must(s.Write(b.ctx, slab(0, "c")))
		three, _, err := s.Prepare(b.ctx, 3, b.at(3))
		b.must(err)
		b.must(s.Commit(b.ctx, three))
		b.marked(3)
		b.expect("a", "b", "c")
	})
}

// arrived waits until a record of the output is at the broker, committed or not.
func (b *bed) arrived() {
	b.t.Helper()
	r := b.reader(true, engine.Position{Topic: b.out, Partition: 0}, engine.Position{Topic: b.out, Partition: 1})
	for n := 0; n == 0; {
		got, err := r.Poll(b.ctx)
		b.must(err)
		for _, c := range got.Chunks {
			n += len(c.Records)
		}
		got.Release()
	}
}

// A transaction of somebody else that holds readers back keeps nobody from going on.
func TestOthersHoldReadersBack(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		cfg := b.config()
		for i := range cfg.IDs {
			cfg.IDs[i] += "-other"
		}
		other := b.sink(b.open(), cfg)
		b.write(other, 1, "open")
		b.arrived()
		s := b.sink(b.cluster, b.config())
		for n, v := range []string{"a", "b", "c", "d"} {
			b.must(s.Commit(b.ctx, b.prepare(s, int64(n+1), v)))
		}
		if got := b.ReadCommitted(t, b.out); len(got) > 0 {
			t.Errorf("behind an open transaction readers see %v", got)
		}
		b.must(other.Abort(b.ctx))
		b.expect("a", "b", "c", "d")
	})
}
