package kafkatest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ReadCommitted reads all committed records of a topic, from its start to the last stable offset of each
// partition, sorted by partition and offset. A commit shows a few milliseconds
// after it was answered: AwaitSettled waits for that.
func (b *Broker) ReadCommitted(t testing.TB, topic string) []Record {
	t.Helper()
	admin := kadm.NewClient(b.client)
	starts := offsets(t, "start", admin.ListStartOffsets, topic)
	ends := offsets(t, "last stable", admin.ListCommittedOffsets, topic)
	open := map[int32]int64{} // partitions that are not read yet, and where they end
	from := map[int32]kgo.Offset{}
	for id, end := range ends[topic] {
		if start := starts[topic][id].Offset; start < end.Offset {
			open[id] = end.Offset
			from[id] = kgo.NewOffset().At(start)
		}
	}
	if len(open) == 0 {
		return nil
	}
	records, err := b.read(call(t), topic, from, open)
	if err != nil {
		t.Fatalf("read %s: %v; partitions not read to these ends: %v", topic, err, open)
	}
	return records
}

// offsets lists an offset of each partition.
func offsets(t testing.TB, which string, list func(context.Context, ...string) (kadm.ListedOffsets, error), topics ...string) kadm.ListedOffsets {
	t.Helper()
	listed, err := list(call(t), topics...)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		t.Fatalf("%s offsets of %v: %v", which, topics, err)
	}
	return listed
}

// read reads each partition from its offset until it has passed its end, and takes it out of open then.
// Control records are asked for, since the last record before an end can be one.
func (b *Broker) read(ctx context.Context, topic string, from map[int32]kgo.Offset, open map[int32]int64) ([]Record, error) {
	client, err := b.dial(kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var out []Record
	for len(open) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, ok := open[r.Partition]
			if !ok || r.Offset >= end {
				return
			}
			if r.Offset == end-1 {
				delete(open, r.Partition)
			}
			if !r.Attrs.IsControl() {
				out = append(out, record(r))
			}
		})
	}
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return out, nil
}

func record(r *kgo.Record) Record {
	out := Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value, Time: r.Timestamp}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, Header{Key: h.Key, Value: h.Value})
	}
	return out
}

// AwaitSettled waits until no transaction is open on the topics: every commit shows, and every abort is
// done. It fails the test if one stays open, and says whose it is.
func (b *Broker) AwaitSettled(t testing.TB, topics ...string) {
	t.Helper()
	const pause = 20 * time.Millisecond
	for deadline := time.Now().Add(callLimit); ; time.Sleep(pause) {
		open := append(b.OpenTransactions(t, topics...), b.hidden(t, topics...)...)
		if len(open) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("transactions still open: %v", open)
		}
	}
}

// OpenTransactions describes each transaction that is open on a partition of the topics, and each
// partition that cannot be asked.
func (b *Broker) OpenTransactions(t testing.TB, topics ...string) []string {
	t.Helper()
	admin := kadm.NewClient(b.client)
	described, err := admin.ListTopics(call(t), topics...)
	if err == nil {
		err = described.Error()
	}
	if err != nil {
		t.Fatalf("describe topics %v: %v", topics, err)
	}
	producers, err := admin.DescribeProducers(call(t), described.TopicsSet())
	if err != nil {
		t.Fatalf("describe the producers of %v: %v", topics, err)
	}
	var open []string
	for _, p := range producers.SortedPartitions() {
		if p.Err != nil { // after a restart a partition may have no leader yet
			open = append(open, fmt.Sprintf("%s/%d: not known: %v", p.Topic, p.Partition, p.Err))
		}
	}
	for _, p := range producers.SortedProducers() {
		if p.CurrentTxnStartOffset >= 0 {
			open = append(open, fmt.Sprintf("%s/%d: producer %d epoch %d since offset %d",
				p.Topic, p.Partition, p.ProducerID, p.ProducerEpoch, p.CurrentTxnStartOffset))
		}
	}
	return open
}

// hidden describes each partition whose last records readers do not see yet. Its last transaction may be
// committed: the last stable offset follows a little later.
func (b *Broker) hidden(t testing.TB, topics ...string) []string {
	t.Helper()
	admin := kadm.NewClient(b.client)
	ends, err := admin.ListEndOffsets(call(t), topics...)
	if err != nil {
		return []string{fmt.Sprintf("end offsets are not known: %v", err)}
	}
	stable, err := admin.ListCommittedOffsets(call(t), topics...)
	if err != nil {
		return []string{fmt.Sprintf("last stable offsets are not known: %v", err)}
	}
	var out []string
	stable.Each(func(s kadm.ListedOffset) {
		if end := ends[s.Topic][s.Partition]; s.Err != nil || end.Err != nil || s.Offset < end.Offset {
			out = append(out, fmt.Sprintf("%s/%d: last stable offset %d (%v), end %d (%v)", s.Topic, s.Partition, s.Offset, s.Err, end.Offset, end.Err))
		}
	})
	return out
}
