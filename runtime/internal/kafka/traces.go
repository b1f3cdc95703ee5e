package kafka

import (
	"cmp"
	"context"
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// traceLimit is how long looking for a transaction in logs may take.
const traceLimit = time.Minute

// Trace is what the log of a partition holds of a transaction: records, and behind them the end marker.
type Trace struct {
	Topic     string
	Partition int32
	First     int64 // offset of the first record
	Records   int64
	Fate      checkpoint.Decision // what the end marker says; NoDecision: there is none
}

// Traces looks for a transaction of a producer among the last offsets, up to back, of each partition of topics. An error of kind failure.Cluster: it takes
// READ on the topics.
func (c *Cluster) Traces(ctx context.Context, topics []string, producer int64, epoch int16, back int64) ([]Trace, error) {
	ctx, cancel := context.WithTimeout(ctx, traceLimit)
	defer cancel()
	from, ends, err := c.tails(ctx, topics, back)
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	client, err := kgo.NewClient(append(c.options(c.txns), kgo.FetchIsolationLevel(kgo.ReadUncommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(from), kgo.ConsumeResetOffset(kgo.NoResetOffset()))...)
	if err != nil {
		return nil, failure.New(failure.Internal, "", err, "set up a reader")
	}
	defer client.Close()
	found := map[partition]*Trace{}
	for len(ends) > 0 {
		fetches := client.PollFetches(ctx)
		var lacks error
		fetches.EachError(func(topic string, _ int32, err error) { lacks = cmp.Or(lacks, needs(err, reads(topic))) })
		if lacks != nil {
			return nil, c.failed(lacks, "look for the records of %s", who(engine.Hold{Producer: producer, Epoch: epoch}))
		}
		fetches.EachRecord(func(r *kgo.Record) {
			at := partition{r.Topic, r.Partition}
			if end, ok := ends[at]; !ok || r.Offset >= end {
				delete(ends, at)
				return
			}
			note(found, at, r, producer, epoch)
			if r.Offset == ends[at]-1 {
				delete(ends, at)
			}
		})
	}
	var out []Trace
	for _, t := range found {
		out = append(out, *t)
	}
	return out, nil
}

// tails are where to read partitions from, and their ends; those without records are left out.
func (c *Cluster) tails(ctx context.Context, topics []string, back int64) (map[string]map[int32]kgo.Offset, map[partition]int64, error) {
	known, err := c.Topics(ctx, topics)
	if err != nil {
		return nil, nil, err
	}
	from, ends := map[string]map[int32]kgo.Offset{}, map[partition]int64{}
	for topic, t := range known {
		var ids []int32
		for id := range t.Partitions {
			ids = append(ids, id)
		}
		first, err := c.Offsets(ctx, topic, ids, engine.OffsetAt{Kind: engine.First})
		if err != nil {
			return nil, nil, err
		}
		end, err := c.Offsets(ctx, topic, ids, engine.OffsetAt{Kind: engine.End})
		if err != nil {
			return nil, nil, err
		}
		from[topic] = map[int32]kgo.Offset{}
		for _, id := range ids {
			if first[id] < end[id] {
				from[topic][id], ends[partition{topic, id}] = kgo.NewOffset().At(max(first[id], end[id]-back)), end[id]
			}
		}
	}
	return from, ends, nil
}

// note adds a record or an end marker to what was found. An end marker ends the transaction of its producer that is open before it; under transactions V2 it
// has the next epoch already.
func note(found map[partition]*Trace, at partition, r *kgo.Record, producer int64, epoch int16) {
	t := found[at]
	switch {
	case r.ProducerID != producer || t != nil && t.Fate != checkpoint.NoDecision:
	case r.Attrs.IsControl():
		const head = 4 // version and kind, 2 bytes each; the kind is 0 for an abort, 1 for a commit
		if t == nil || len(r.Key) < head {
			return
		}
		t.Fate = checkpoint.ItIsAborted
		if binary.BigEndian.Uint16(r.Key[2:]) == 1 {
			t.Fate = checkpoint.ItIsCommitted
		}
	case r.ProducerEpoch != epoch:
	case t == nil:
		found[at] = &Trace{Topic: r.Topic, Partition: r.Partition, First: r.Offset, Records: 1}
	default:
		t.Records++
	}
}
