package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/faultproxy"
)

// stableAtZero answers a question for last stable offsets as a broker whose partitions are held back from their beginning.
func stableAtZero(r *faultproxy.Request) kmsg.Response {
	return faultproxy.Offsets(r, func(p *kmsg.ListOffsetsResponseTopicPartition) { p.Offset = 0 })
}

// openAtZero answers the question for producers as a leader for which a transaction of a producer is open from the beginning.
func openAtZero(producer int64) func(*faultproxy.Request) kmsg.Response {
	return func(r *faultproxy.Request) kmsg.Response {
		body, err := r.Body()
		if err != nil {
			panic(err)
		}
		answer := kmsg.NewPtrDescribeProducersResponse()
		for _, asked := range body.(*kmsg.DescribeProducersRequest).Topics {
			topic := kmsg.NewDescribeProducersResponseTopic()
			topic.Topic = asked.Topic
			for _, id := range asked.Partitions {
				open := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
				open.ProducerID, open.CurrentTxnStartOffset = producer, 0
				partition := kmsg.NewDescribeProducersResponseTopicPartition()
				partition.Partition, partition.ActiveProducers = id, append(partition.ActiveProducers, open)
				topic.Partitions = append(topic.Partitions, partition)
			}
			answer.Topics = append(answer.Topics, topic)
		}
		return answer
	}
}

// As long as the end marker of a transaction is not where it has written, its id begins no other one: what that writes would be part of it.
func TestEndMarkersAreAwaited(t *testing.T) {
	eachBehind(t, func(t *testing.T, b *bed, proxy *faultproxy.Proxy) {
		s := b.sink(b.cluster, b.config())
		one := b.prepare(s, 1, "a")
		held := proxy.Arm(faultproxy.Fault{Key: kmsg.ListOffsets, When: faultproxy.AsksStable, Count: -1, Do: faultproxy.Answer, Answer: stableAtZero})
		open := proxy.Arm(faultproxy.Fault{Key: kmsg.DescribeProducers, Count: -1, Do: faultproxy.Answer, Answer: openAtZero(one.ProducerID)})
		b.must(s.Commit(b.ctx, one))
		two := b.prepare(s, 2, "b") // of the other id, which waits for nobody
		b.must(s.Commit(b.ctx, two))
		begun := make(chan error, 1)
		go func() { begun <- s.Begin(b.ctx, 3) }()
		for tries := 1; open.Hits() < 3 && sleep(b.ctx, pause(tries)); tries++ {
		}
		select {
		case err := <-begun:
			t.Fatalf("transaction 3 has begun (%v), though the end marker of 1 is not there", err)
		default:
		}
		held.Disarm()
		open.Disarm()
		b.must(<-begun)
		b.must(s.Write(b.ctx, slab(0, "c")))
		three, _, err := s.Prepare(b.ctx, 3, b.at(3))
		b.must(err)
		b.must(s.Commit(b.ctx, three))
		b.marked(3)
		b.expect("a", "b", "c")
	})
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
