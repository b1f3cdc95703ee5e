package devkafka

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Watcher reads topics from their start, and of transactions only what is committed.
type Watcher struct {
	kafka  *kgo.Client
	topics []string
	next   map[string]map[int32]int64 // where to read on, by topic and partition
}

// Watch begins to read. The topics must exist.
func Watch(addr string, topics ...string) (*Watcher, error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MetadataMinAge(metadataAge),
		kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// The end of a partition can be a marker of a transaction: without these it is never seen to be reached.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	w := &Watcher{kafka: c, topics: slices.Clone(topics), next: map[string]map[int32]int64{}}
	for _, topic := range topics {
		w.next[topic] = map[int32]int64{}
	}
	return w, nil
}

// Add has the watcher read further topics, from their start. They must exist. It must not run while Next or Rest does.
func (w *Watcher) Add(topics ...string) {
	for _, topic := range topics {
		if w.next[topic] == nil {
			w.next[topic] = map[int32]int64{}
			w.topics = append(w.topics, topic)
			w.kafka.AddConsumeTopics(topic)
		}
	}
}

// Close ends the watcher.
func (w *Watcher) Close() { w.kafka.Close() }

// Next waits for records, in the order of their partition. When ctx ends none is lost: what comes next returns it.
func (w *Watcher) Next(ctx context.Context) ([]Record, error) {
	for {
		records, err := w.poll(ctx)
		if err != nil || len(records) > 0 {
			return records, err
		}
	}
}

// Rest reads what is committed at this moment and was not returned yet.
func (w *Watcher) Rest(ctx context.Context) ([]Record, error) {
	ends, err := kadm.NewClient(w.kafka).ListCommittedOffsets(ctx, w.topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the ends of %v: %w", w.topics, err)
	}
	var out []Record
	for !w.reached(ends) {
		records, err := w.poll(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, records...)
	}
	return out, nil
}

func (w *Watcher) reached(ends kadm.ListedOffsets) bool {
	for topic, partitions := range ends {
		for id, end := range partitions {
			if w.next[topic][id] < end.Offset {
				return false
			}
		}
	}
	return true
}

func (w *Watcher) poll(ctx context.Context) ([]Record, error) {
	fetches := w.kafka.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		return nil, fmt.Errorf("read %v: %w", w.topics, err)
	}
	var out []Record
	fetches.EachRecord(func(r *kgo.Record) {
		w.next[r.Topic][r.Partition] = r.Offset + 1
		if r.Attrs.IsControl() {
			return
		}
		record := Record{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value, Time: r.Timestamp}
		for _, h := range r.Headers {
			record.Headers = append(record.Headers, Header{Key: h.Key, Value: h.Value})
		}
		out = append(out, record)
	})
	return out, nil
}
