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
	// othersAfter is after how long leaders are asked whether it is a transaction of somebody else that holds readers back, and untoldLimit how long it
	// is waited for a marker if they do not tell.
	othersAfter = 200 * time.Millisecond
	untoldLimit = 3 * time.Second
)

// awaitMarkers waits until the end markers of a transaction whose commit was answered are in all partitions that it wrote to: until they are, its producer must write
// nothing there. A broker can lose one (KAFKA-20734). Then the leader takes what the producer writes next for part of the transaction that is still open for it,
// and if that is aborted, so are records that are committed. An error of kind Transient: they are not there by markersLimit, or ctx has ended.
func (c *Cluster) awaitMarkers(ctx context.Context, t transaction, written []checkpoint.Written) error {
	topics := map[string][]checkpoint.Written{}
	for _, w := range written {
		topics[w.Topic] = append(topics[w.Topic], w)
	}
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		if err := c.awaitMarkersIn(ctx, t, topic, topics[topic]); err != nil {
			return err
		}
	}
	return nil
}

// awaitMarkersIn is awaitMarkers for a topic.
func (c *Cluster) awaitMarkersIn(ctx context.Context, t transaction, topic string, written []checkpoint.Written) error {
	for began, tries := time.Now(), 1; ; tries++ {
		left, err := c.unmarked(ctx, topic, written)
		waited := time.Since(began)
		if err == nil && len(left) > 0 && waited > othersAfter {
			left, err = c.openFor(ctx, t.producer, topic, left)
		}
		untold := err != nil && failure.KindOf(err) == failure.Cluster // the topic is gone, or it may not be asked about
		switch {
		case err == nil && len(left) == 0:
			return nil
		case untold && waited > untoldLimit:
			return nil // the watch of the output warns of what stays invisible
		case err == nil && waited > markersLimit:
			return failure.New(failure.Transient, "", nil, "the commit of transactional id %s, producer id %d, epoch %d, was answered %v ago, and topic %s, partition %d, lacks its end marker",
				t.id, t.producer, t.epoch, markersLimit, topic, left[0].Partition)
		case !sleep(ctx, pause(tries)):
			return c.failed(ctx.Err(), "wait for the end markers of transactional id %s in topic %s", t.id, topic)
		case err == nil:
			written = left
		}
	}
}

// unmarked are the places of a topic that readers of committed records cannot read to behind the records there. Other partitions of it are not asked about:
// they may have no leader.
func (c *Cluster) unmarked(ctx context.Context, topic string, written []checkpoint.Written) (left []checkpoint.Written, err error) {
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
	resp, err := req.RequestWith(ctx, c.client(c.txns))
	if err != nil {
		return nil, c.failed(needs(err, c.use(topic)), "ask for last stable offsets of topic %s", topic)
	}
	stable := map[int32]int64{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, c.failed(needs(err, c.use(topic)), "ask for the last stable offset of topic %s, partition %d", topic, p.Partition)
			}
			stable[p.Partition] = p.Offset
		}
	}
	for _, w := range written {
		if w.Untold > 0 || stable[w.Partition] < w.Next { // where all its records are, a broker did not tell
			left = append(left, w)
		}
	}
	return left, nil
}

// openFor are the places where the leader has an open transaction of a producer.
func (c *Cluster) openFor(ctx context.Context, producer int64, topic string, written []checkpoint.Written) (left []checkpoint.Written, err error) {
	var ids []int32
	for _, w := range written {
		ids = append(ids, w.Partition)
	}
	open, err := c.producing(ctx, topic, ids)
	if err != nil {
		return nil, err
	}
	for _, w := range written {
		for _, x := range open {
			if x.Partition == w.Partition && x.ProducerID == producer {
				left = append(left, w)
			}
		}
	}
	return left, nil
}
