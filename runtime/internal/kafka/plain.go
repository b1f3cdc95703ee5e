package kafka

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// limitsLimit is how long to wait for the configuration of topics, which can be done without.
const limitsLimit = 10 * time.Second

// plainProducer writes records without transactions, all those of one delivery. At a barrier the ones of
// at_least_once are waited for, those of none are not. It is idempotent: it keeps the order of a
// partition and does not double a record by sending it again.
type plainProducer struct {
	client     *kgo.Client
	tally      tally
	forgetting atomic.Bool // the client is told to forget a topic
}

func (c *Cluster) newPlainProducer(d engine.Delivery, limits map[string]int32) (*plainProducer, error) {
	client, err := kgo.NewClient(c.writing(limits)...)
	if err != nil {
		return nil, failure.New(failure.Internal, "", err, "set up a producer")
	}
	p := &plainProducer{client: client}
	p.tally.fail = c.rejected
	if d == engine.None {
		p.tally.fail = func(f *flight, _ *kgo.Record, err error) error {
			f.lane.lost.add(1)
			if among(err, []error{kerr.UnknownTopicID, kerr.UnknownTopicOrPartition}) {
				p.forget(f.lane.topic)
			}
			return nil
		}
	}
	return p, nil
}

// forget makes the client look for the topic anew. It holds on to the id of one that was deleted, and a topic that was made in its
// place would get nothing: the other deliveries start again, with another client, but delivery none ends nothing.
func (p *plainProducer) forget(topic string) {
	if p.forgetting.CompareAndSwap(false, true) {
		go func() { // the client waits for the answers of which this is one
			defer p.forgetting.Store(false)
			p.client.PurgeTopicsFromProducing(topic)
		}()
	}
}

// batchLimits are the greatest batches that the topics take (max.message.bytes). Who may not read a topic's
// configuration gets the default, and learns from a failed record.
func (c *Cluster) batchLimits(ctx context.Context, sinks []engine.SinkSpec) map[string]int32 {
	limits := make(map[string]int32, len(sinks))
	names := make([]string, 0, len(sinks))
	for _, s := range sinks {
		if _, ok := limits[s.Topic]; !ok {
			limits[s.Topic] = batchBytes
			names = append(names, s.Topic)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limitsLimit)
	defer cancel()
	err := persist(ctx, func() error {
		configs, err := c.admin.DescribeTopicConfigs(ctx, names...)
		for _, topic := range configs {
			if limit, ok := setting(topic, "max.message.bytes"); ok {
				limits[topic.Name] = int32(min(limit, batchBytesMax))
			}
			err = errors.Join(err, topic.Err)
		}
		return err
	}, kerr.UnknownTopicOrPartition) // a topic that was created just now
	if err != nil {
		c.log.Debug("not all topics show their configuration", "topics", names, "err", err)
	}
	return limits
}

// setting is a number in a configuration.
func setting(of kadm.ResourceConfig, name string) (int64, bool) {
	for _, c := range of.Configs {
		if c.Key == name && c.Value != nil {
			n, err := strconv.ParseInt(*c.Value, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
