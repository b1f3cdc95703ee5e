package kafka

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Topics describes topics by name; a missing one is left out.
func (c *Cluster) Topics(ctx context.Context, names []string) (map[string]engine.Topic, error) {
	out := make(map[string]engine.Topic, len(names))
	if len(names) == 0 {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	details, err := c.list(ctx, names)
	if err != nil {
		return nil, c.failed(err, "describe topics %v", names)
	}
	for _, name := range names {
		d, ok := details[name]
		switch {
		case !ok || errors.Is(d.Err, kerr.UnknownTopicOrPartition):
		case d.Err != nil:
			return nil, c.failed(d.Err, "describe topic %s", name)
		default:
			out[name] = engine.Topic{ID: checkpoint.ID(d.ID), Partitions: int32(len(d.Partitions))}
		}
	}
	return out, nil
}

// list describes topics. The client has one error for all if one of them may not be seen, so each is asked for by itself then.
func (c *Cluster) list(ctx context.Context, names []string) (kadm.TopicDetails, error) {
	details, err := c.admin.ListTopics(ctx, names...)
	if !refuses(err) {
		return details, err
	}
	details = kadm.TopicDetails{}
	for _, name := range names {
		one, err := c.admin.ListTopics(ctx, name)
		switch {
		case refuses(err):
			details[name] = kadm.TopicDetail{Topic: name, Err: needs(err, c.use(name))}
		case err != nil:
			return nil, err
		default:
			maps.Copy(details, one)
		}
	}
	return details, nil
}

// Create creates a topic with the broker's defaults of partitions and replication. One that exists is left as it is.
func (c *Cluster) Create(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	const byDefault = -1
	_, err := c.admin.CreateTopic(ctx, byDefault, byDefault, nil, topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return c.failed(needs(err, Right{"CREATE", ofTopic, topic}), "create topic %s", topic)
	}
	return nil
}

// Offsets asks for an offset of each of the given partitions of a topic.
func (c *Cluster) Offsets(ctx context.Context, topic string, partitions []int32, at engine.OffsetAt) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if at.Kind == engine.Committed {
		return c.committed(ctx, topic, partitions, at.Name)
	}
	var listed kadm.ListedOffsets
	var err error
	switch at.Kind {
	case engine.First:
		listed, err = c.admin.ListStartOffsets(ctx, topic)
	case engine.End:
		listed, err = c.admin.ListEndOffsets(ctx, topic)
	case engine.LastStable:
		listed, err = c.admin.ListCommittedOffsets(ctx, topic)
	case engine.FirstAfter:
		listed, err = c.admin.ListOffsetsAfterMilli(ctx, milliAtOrAfter(at.Time), topic)
	}
	if err != nil {
		return nil, c.failed(needs(err, c.use(topic)), "ask for offsets of topic %s", topic)
	}
	out := make(map[int32]int64, len(partitions))
	for _, id := range partitions {
		o, ok := listed[topic][id]
		if !ok {
			o.Err = kerr.UnknownTopicOrPartition
			if whole, ok := listed[topic][-1]; ok { // an error of the whole topic
				o.Err = whole.Err
			}
		}
		if o.Err != nil {
			return nil, c.failed(needs(o.Err, c.use(topic)), "ask for an offset of topic %s, partition %d", topic, id)
		}
		out[id] = o.Offset
	}
	return out, nil
}

// committed are the offsets of a group, and the earliest ones where it has none.
func (c *Cluster) committed(ctx context.Context, topic string, partitions []int32, group string) (map[int32]int64, error) {
	offsets, err := c.admin.FetchOffsets(ctx, group)
	if err != nil {
		return nil, c.failed(needs(err, Right{"DESCRIBE", ofGroup, group}), "read the offsets of group %s", group)
	}
	out := make(map[int32]int64, len(partitions))
	var none []int32
	for _, id := range partitions {
		o, ok := offsets.Lookup(topic, id)
		switch {
		case ok && o.Err != nil:
			return nil, c.failed(needs(o.Err, c.use(topic)), "read the offset of group %s for topic %s, partition %d", group, topic, id)
		case ok && o.At >= 0:
			out[id] = o.At
		default:
			none = append(none, id)
		}
	}
	if len(none) == 0 {
		return out, nil
	}
	first, err := c.Offsets(ctx, topic, none, engine.OffsetAt{Kind: engine.First})
	for id, offset := range first {
		out[id] = offset
	}
	return out, err
}

// milliAtOrAfter rounds up to the unit of Kafka's timestamps.
func milliAtOrAfter(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}

// CheckTxnTimeout compares a transaction timeout with the greatest that the brokers allow
// (transaction.max.timeout.ms). Who may not read their configuration learns it from
// the first InitProducerId instead.
func (c *Cluster) CheckTxnTimeout(ctx context.Context, want time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	about, err := c.admin.BrokerMetadata(ctx)
	if err != nil {
		return c.failed(err, "list the brokers")
	}
	configs, err := c.admin.DescribeBrokerConfigs(ctx, about.Brokers.NodeIDs()...)
	if err != nil {
		c.log.Debug("the brokers do not show their configuration", "err", err)
		return nil
	}
	for _, broker := range configs {
		for _, setting := range broker.Configs {
			if setting.Key != "transaction.max.timeout.ms" || setting.Value == nil {
				continue
			}
			ms, err := strconv.ParseInt(*setting.Value, 10, 64)
			if greatest := time.Duration(ms) * time.Millisecond; err == nil && want > greatest {
				return tooLong(want, "broker "+broker.Name+" allows "+greatest.String())
			}
		}
	}
	return nil
}

// tooLong is a transaction timeout that the cluster does not allow.
func tooLong(want time.Duration, allowed string) error {
	return failure.New(failure.Cluster, "lower txn_timeout in the pipeline, or raise transaction.max.timeout.ms of the brokers", nil,
		"the transaction timeout of %v is too long: %s", want, allowed)
}
