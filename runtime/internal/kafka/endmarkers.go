package kafka

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

const (
	// markersLimit is how long the end markers of a committed transaction may take. A start waits for them, too, and says then who holds readers back.
	markersLimit = 20 * time.Second
	// othersAfter is after how long leaders are asked whether it is a transaction of somebody else that holds readers back, and untoldLimit how long they may
	// not tell that until nobody waits for its marker any more.
	othersAfter = 200 * time.Millisecond
	untoldLimit = 3 * time.Second
)

// awaitMarkers waits until the end markers of a transaction whose commit was answered are in all partitions that it wrote records to: until they are, its producer must
// write nothing there. A broker can lose one (KAFKA-20734). Then the leader takes what the producer writes next for part of the transaction that is still open for it,
// and if that is aborted, so are records that are committed. The group's partition of offsets is not looked at: a start that
// misses a transaction there has in its state that it is committed. An error: they are not there within limit, or whether they are cannot be learned, or ctx has ended.
//
// others is where readers were seen to stop at somebody else's transaction, or at one of which brokers do not tell whose it is: as long as they stop there, it is
// not waited for once more. It is changed.
func (c *Cluster) awaitMarkers(ctx context.Context, t transaction, written []checkpoint.Written, others map[partition]int64, limit time.Duration) error {
	var untold time.Time // since when a leader does not tell whose transactions are open in some of what is left; zero: they tell of all
	for began, tries := time.Now(), 1; ; tries++ {
		m, err := c.marks(ctx, t.producer, written, time.Since(began) > othersAfter, others)
		if err == nil {
			switch {
			case len(m.untold) == 0:
				untold = time.Time{}
			case untold.IsZero():
				untold = time.Now()
			case time.Since(untold) > untoldLimit: // the watch of the output warns of what stays invisible
				m.pass(m.untold, others)
				m.untold = nil
			}
			if time.Since(began) > limit { // the topic is gone, which the watch of the output says
				m.unknown = nil
			}
			if written = slices.Concat(m.lacking, m.untold, m.unknown); len(written) == 0 {
				return nil
			}
		}
		switch {
		case time.Since(began) <= limit || err == nil && len(m.lacking) == 0:
			if !sleep(ctx, pause(tries)) {
				return c.failed(ctx.Err(), "wait for the end markers of transactional id %s", t.id)
			}
		case err != nil:
			return err
		default:
			return failure.New(failure.Transient, "", nil, "the commit of transactional id %s, producer id %d, epoch %d, was answered %v ago, and topic %s, partition %d, lacks its end marker",
				t.id, t.producer, t.epoch, limit, m.lacking[0].Topic, m.lacking[0].Partition)
		}
	}
}

// marks says where the end markers of a transaction are not, of the places where it has written.
type marks struct {
	lacking []checkpoint.Written // or it is somebody else's transaction that holds readers back, which is not looked into at first
	untold  []checkpoint.Written // a leader does not tell this user whose transactions are open
	unknown []checkpoint.Written // brokers do not know the topic or the partition, as one that comes up may not yet
	stable  map[partition]int64  // where readers stop, if a broker tells
}

// pass notes that readers stop in places for no reason of this program's that it knows.
func (m marks) pass(places []checkpoint.Written, others map[partition]int64) {
	for _, w := range places {
		at := partition{w.Topic, w.Partition}
		if end, told := m.stable[at]; told {
			others[at] = end
		}
	}
}

// marks asks for the end markers of a producer's transaction; whose has told others' transactions apart from it. Its errors say nothing of the answer:
// it is to be asked again.
func (c *Cluster) marks(ctx context.Context, producer int64, written []checkpoint.Written, whose bool, others map[partition]int64) (m marks, err error) {
	topics := map[string][]checkpoint.Written{}
	for _, w := range written {
		topics[w.Topic] = append(topics[w.Topic], w)
	}
	m.stable = map[partition]int64{}
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		if err := c.marksIn(ctx, &m, producer, topic, topics[topic], whose, others); err != nil {
			return marks{}, err
		}
	}
	return m, nil
}

// marksIn is marks for a topic.
func (c *Cluster) marksIn(ctx context.Context, m *marks, producer int64, topic string, written []checkpoint.Written, whose bool, others map[partition]int64) error {
	stable, err := c.readableTo(ctx, topic, written)
	if err != nil {
		return err
	}
	var unclear []checkpoint.Written
	for _, w := range written {
		end, told := stable[w.Partition]
		at := partition{topic, w.Partition}
		if told {
			m.stable[at] = end
		}
		passed, before := others[at]
		switch {
		case !told:
			m.unknown = append(m.unknown, w)
		case w.Untold == 0 && end >= w.Next: // where all its records are, brokers have told
		case end == w.First: // what readers stop at is its first record, so the transaction is still open there
			m.lacking = append(m.lacking, w)
		case whose, before && passed == end:
			unclear = append(unclear, w)
		default:
			m.lacking = append(m.lacking, w)
		}
	}
	if len(unclear) == 0 {
		return nil
	}
	open, err := c.openFor(ctx, producer, topic, unclear)
	switch {
	case err == nil:
		m.lacking = append(m.lacking, open...)
		m.pass(slices.DeleteFunc(unclear, func(w checkpoint.Written) bool { return slices.Contains(open, w) }), others)
	case failure.KindOf(err) == failure.Cluster: // as for want of a right
		for _, w := range unclear {
			at := partition{topic, w.Partition}
			if passed, before := others[at]; !before || passed != m.stable[at] {
				m.untold = append(m.untold, w)
			}
		}
	default:
		return err
	}
	return nil
}

// readableTo are the last stable offsets of partitions of a topic. Other partitions of it are not asked about: they may have no leader. Those of which a broker
// says that it does not know them, or that they are not for this user, are not among them.
func (c *Cluster) readableTo(ctx context.Context, topic string, written []checkpoint.Written) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	const readCommitted, end = 1, -1
	asked := kmsg.NewListOffsetsRequestTopic()
	asked.Topic = topic
	for _, w := range written {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = w.Partition, end
		asked.Partitions = append(asked.Partitions, p)
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel, req.Topics = -1, readCommitted, append(req.Topics, asked)
	stable := map[int32]int64{}
	told := func(err error) error {
		if err = c.failed(needs(err, c.use(topic)), "ask for last stable offsets of topic %s", topic); failure.KindOf(err) == failure.Cluster {
			return nil
		}
		return err
	}
	resp, err := req.RequestWith(ctx, c.client(c.txns))
	if err != nil {
		if err := told(err); err != nil || resp == nil {
			return stable, err
		}
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err == nil {
				stable[p.Partition] = p.Offset
			} else if err := told(err); err != nil {
				return nil, err
			}
		}
	}
	return stable, nil
}

// openFor are the places where the leader has an open transaction of a producer.
func (c *Cluster) openFor(ctx context.Context, producer int64, topic string, written []checkpoint.Written) (open []checkpoint.Written, err error) {
	var ids []int32
	for _, w := range written {
		ids = append(ids, w.Partition)
	}
	all, err := c.producing(ctx, topic, ids)
	if err != nil {
		return nil, err
	}
	for _, w := range written {
		for _, x := range all {
			if x.Partition == w.Partition && x.ProducerID == producer {
				open = append(open, w)
			}
		}
	}
	return open, nil
}
