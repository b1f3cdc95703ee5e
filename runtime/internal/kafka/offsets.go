package kafka

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// offsetsLimit is how long committing offsets may take, in a transaction or without.
const offsetsLimit = 30 * time.Second

// topicOffsets are the offsets to commit for a topic.
type topicOffsets struct {
	id   checkpoint.ID
	next map[int32]int64
}

// byTopic groups positions. Two sources may read the same partition: it gets the lower offset.
func byTopic(positions []engine.Position) map[string]topicOffsets {
	out := map[string]topicOffsets{}
	for _, p := range positions {
		t, ok := out[p.Topic]
		if !ok {
			t = topicOffsets{p.TopicID, map[int32]int64{}}
			out[p.Topic] = t
		}
		if before, ok := t.next[p.Partition]; !ok || p.Next < before {
			t.next[p.Partition] = p.Next
		}
	}
	return out
}

// CommitOffsets commits the positions to the group outside of transactions, for tools that show how far a pipeline is.
func (c *Cluster) CommitOffsets(ctx context.Context, group string, positions []engine.Position) error {
	if len(positions) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, offsetsLimit)
	defer cancel()
	offsets := kadm.Offsets{}
	for topic, of := range byTopic(positions) {
		for id, next := range of.next {
			const noEpoch = -1
			offsets.AddOffset(topic, id, next, noEpoch)
		}
	}
	err := persist(ctx, func() error {
		answers, err := c.admin.CommitOffsets(ctx, group, offsets)
		for _, a := range answers.Sorted() {
			if err == nil && a.Err != nil {
				err = needs(a.Err, commits(a.Topic))
			}
		}
		return err
	})
	if err != nil {
		return c.failed(needs(err, readsGroup(group)), "commit offsets to group %s", group)
	}
	return nil
}

// leftovers are the offsets that the group holds now.
func (c *Cluster) leftovers(ctx context.Context, group string) ([]engine.Position, error) {
	offsets, err := c.stable(ctx, group, stableLimit, nil)
	if err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(offsets))
	topics, err := c.Topics(ctx, names)
	if err != nil {
		return nil, err
	}
	var out []engine.Position
	for _, o := range offsets.Sorted() {
		if t, ok := topics[o.Topic]; ok && o.At >= 0 {
			out = append(out, engine.Position{Topic: o.Topic, TopicID: t.ID, Partition: o.Partition, Next: o.At})
		}
	}
	return out, nil
}

// addMarker writes the marker into an open transaction, as the next offsets of the positions. It
// is the first use of the transaction if no record was sent in it. The error is that of the broker.
func (c *Cluster) addMarker(ctx context.Context, t transaction, group string, m checkpoint.Marker, positions []engine.Position) error {
	ctx, cancel := context.WithTimeout(ctx, offsetsLimit)
	defer cancel()
	req, err := c.markerRequest(ctx, t, group, m, positions)
	if err != nil {
		return err
	}
	client := c.client(t.end)
	err = persist(ctx, func() error {
		if t.end == endV1 {
			if err := addGroup(ctx, client.Request, t, group); err != nil {
				return err
			}
		}
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		return committed(req, resp)
	})
	if err != nil {
		return err
	}
	return nil
}

// addGroup tells the coordinator of a V1 transaction that offsets of the group follow. V2 does without it.
func addGroup(ctx context.Context, ask func(context.Context, kmsg.Request) (kmsg.Response, error), t transaction, group string) error {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = t.id, t.producer, t.epoch, group
	resp, err := ask(ctx, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
}

// committed is the first error among the partitions of an answer. Newer versions name topics by id only.
func committed(req *kmsg.TxnOffsetCommitRequest, resp *kmsg.TxnOffsetCommitResponse) error {
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			err := kerr.ErrorForCode(p.ErrorCode)
			if err == nil {
				continue
			}
			name := topic.Topic
			for _, asked := range req.Topics {
				if name == "" && asked.TopicID == topic.TopicID {
					name = asked.Topic
				}
			}
			return fmt.Errorf("topic %s, partition %d: %w", name, p.Partition, needs(err, commits(name)))
		}
	}
	return nil
}

// markerRequest puts the marker at each position. Topic ids that a position lacks are asked for, since newer
// brokers know topics by id only.
func (c *Cluster) markerRequest(ctx context.Context, t transaction, group string, m checkpoint.Marker, positions []engine.Position) (*kmsg.TxnOffsetCommitRequest, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, failure.New(failure.Internal, "", err, "encode the marker of checkpoint %d", m.Checkpoint)
	}
	if len(positions) == 0 {
		return nil, failure.New(failure.Internal, "", nil, "checkpoint %d has no positions to mark", m.Checkpoint)
	}
	metadata := string(text)
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = t.id, t.producer, t.epoch, group
	for topic, of := range byTopic(positions) {
		rt := kmsg.NewTxnOffsetCommitRequestTopic()
		rt.Topic, rt.TopicID = topic, of.id
		for id, offset := range of.next {
			rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset, rp.Metadata = id, offset, &metadata
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	return req, c.fillIDs(ctx, req)
}

func (c *Cluster) fillIDs(ctx context.Context, req *kmsg.TxnOffsetCommitRequest) error {
	var names []string
	for _, t := range req.Topics {
		if t.TopicID == [16]byte{} {
			names = append(names, t.Topic)
		}
	}
	known, err := c.Topics(ctx, names)
	if err != nil {
		return err
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		if t.TopicID == [16]byte{} {
			found, ok := known[t.Topic]
			if !ok {
				return missing(t.Topic)
			}
			t.TopicID = found.ID
		}
	}
	return nil
}
