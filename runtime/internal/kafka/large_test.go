package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// A record may be as large as the topic takes, and as eoc writes. One that is larger ends the transaction, and the message says what it was
// made of and which of the two limits it is.
func TestLargestRecord(t *testing.T) {
	const overhead = 200 // of a batch of one record with a short key
	for _, c := range []struct {
		settings []string
		limit    int
		help     string
	}{
		{nil, 1_048_588, "raise max.message.bytes of the topic"}, // Kafka's default
		{[]string{"max.message.bytes=1000"}, 1000, "raise max.message.bytes of the topic"},
		{[]string{"max.message.bytes=50000000"}, batchBytesMax, "whatever max.message.bytes of the topic is"},
	} {
		b := newBed(t, 2)
		topic := b.out + "-large"
		b.CreateTopic(t, topic, 1, c.settings...)
		cfg := b.config()
		cfg.Topics[0].Topic = topic
		s := b.sink(b.cluster, cfg)
		b.must(s.Begin(b.ctx, 1))
		b.must(s.Write(b.ctx, slab(0, strings.Repeat("x", c.limit-overhead))))
		one, _, err := s.Prepare(b.ctx, 1, b.at(1))
		b.must(err)
		b.must(s.Commit(b.ctx, one))

		from := slab(0, "small", strings.Repeat("y", c.limit))
		from.Origins = []record.Origin{{}, {Topic: "orders", Partition: 3}}
		from.Records[1].Origin, from.Records[1].Offset = 1, 17
		result := slab(0, strings.Repeat("y", c.limit))
		result.Records[0].Time = 1_767_225_599_999_000
		for n, wrong := range map[string]*record.Slab{"made of topic orders, partition 3, offset 17,": from, "a result of event time 2025-12-31T23:59:59.999Z,": result} {
			err := s.Begin(b.ctx, 2)
			if err == nil {
				if err = s.Write(b.ctx, wrong); err == nil {
					_, _, err = s.Prepare(b.ctx, 2, b.at(2))
				}
			}
			if failure.KindOf(err) != failure.Record || err == nil {
				t.Fatalf("limit %d: %.300v", c.limit, err)
			}
			for _, text := range []string{topic, `with key "k`, n, c.help} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("limit %d: %.500v; %q is missing", c.limit, err, text)
				}
			}
			b.must(s.Abort(b.ctx))
			s = b.sink(b.open(), cfg)
		}
		b.AwaitSettled(t, topic)
		if got := b.ReadCommitted(t, topic); len(got) != 1 || len(got[0].Value) != c.limit-overhead {
			t.Errorf("limit %d: %d records are committed, want the one that fits", c.limit, len(got))
		}
	}
}

// A batch of a few kilobytes that decompresses to more than a process should have in one piece is not read, and the message says how to
// go on without it. One that is not quite as large is read.
func TestBatchUnpacksTooLarge(t *testing.T) {
	b := newBed(t, 2)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(batchUnpack+1<<20), kgo.BrokerMaxWriteBytes(2*batchUnpack))
	b.must(err)
	defer client.Close()
	const much = batchUnpack - 1<<10
	nothing := make([]byte, batchUnpack)
	b.must(client.ProduceSync(b.ctx, &kgo.Record{Topic: b.in, Value: nothing[:much]}).FirstErr())
	b.must(client.ProduceSync(b.ctx, &kgo.Record{Topic: b.in, Value: nothing}, &kgo.Record{Topic: b.in, Partition: 1, Value: []byte("other")}).FirstErr())

	r := b.reader(false, b.at(0)...)
	read := 0
	for {
		got, err := r.Poll(b.ctx)
		if err != nil {
			if failure.KindOf(err) != failure.Record || !strings.Contains(err.Error(), "partition 0: the records from offset 1 to before 2 are one batch of more than 128 MiB") ||
				!strings.Contains(err.Error(), "--accept-loss") {
				t.Error(err)
			}
			break
		}
		for _, chunk := range got.Chunks {
			for _, rec := range chunk.Records {
				if chunk.Partition == 0 {
					read += len(rec.Value)
				}
			}
		}
		got.Release()
	}
	// What comes with the fault in one fetch is not used, since the pipeline ends: then nothing of it was read.
	if read != 0 && read != much {
		t.Errorf("%d bytes were read, want %d", read, much)
	}
	b.DeleteRecords(t, b.in, 0, 2)
	b.Produce(t, b.in, kafkatest.Record{Value: []byte("after")})
	values, _ := b.until(b.reader(false, engine.Position{Topic: b.in, Partition: 0, Next: 2}), map[int32]int64{0: 3})
	if len(values) != 1 || values[0] != "after" {
		t.Errorf("read %q", values)
	}
}

// Many headers, and long names of them, come through as they are.
func TestManyHeaders(t *testing.T) {
	b := newBed(t, 2)
	const headers = 50_000
	rec := kafkatest.Record{Value: []byte("v"), Headers: []kafkatest.Header{{Key: strings.Repeat("n", 100_000), Value: bytes.Repeat([]byte("v"), 100_000)}}}
	for range headers {
		rec.Headers = append(rec.Headers, kafkatest.Header{Key: "h"})
	}
	b.Produce(t, b.in, rec)
	got, err := b.reader(false, b.at(0)...).Poll(b.ctx)
	b.must(err)
	defer got.Release()
	list := got.Chunks[0].Records[0].Headers
	if len(list) != headers+1 || list[0].Key != rec.Headers[0].Key || !bytes.Equal(list[0].Value, rec.Headers[0].Value) || list[headers].Key != "h" {
		t.Errorf("%d headers were read, want %d", len(list), headers+1)
	}
}

// A batch that a client does not read is found from where the client was last heard of, behind what it has fetched meanwhile, and nowhere else.
func TestFirstLarge(t *testing.T) {
	b := newBed(t, 2)
	const limit, before = 2 << 20, 3
	topic := b.in + "-large"
	b.CreateTopic(t, topic, 2, fmt.Sprint("max.message.bytes=", 2*limit))
	half := bytes.Repeat([]byte("h"), partitionBytes/2+1) // one of them in an answer
	for range before {
		b.Produce(t, topic, kafkatest.Record{Value: half}, kafkatest.Record{Partition: 1, Value: half})
	}
	if !b.ProduceLarge(t, topic, kafkatest.Record{Value: make([]byte, limit)}) {
		t.Fatal("the topic does not take the large record")
	}
	b.Produce(t, topic, kafkatest.Record{Value: half})
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.FetchMaxBytes(limit), kgo.BrokerMaxReadBytes(limit))
	b.must(err)
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(b.ctx, topic)
	b.must(err)
	for from, want := range map[engine.Position]int64{
		{Partition: 0, Next: 0}: before, {Partition: 0, Next: before}: before,
		{Partition: 0, Next: before + 1}: -1, {Partition: 0, Next: before + 2}: -1, {Partition: 1, Next: 0}: -1,
	} {
		at, size, err := firstLarge(b.ctx, client, topics[topic], from.Partition, from.Next)
		b.must(err)
		if size > 0 != (want >= 0) || size > 0 && (at != want || size < limit || size > limit+limit/16) {
			t.Errorf("partition %d from offset %d on: a batch at %d of %d bytes, want one at %d", from.Partition, from.Next, at, size, want)
		}
	}
	// What cannot be asked, a topic that is gone or a partition that the topic has not, keeps nobody from the others.
	places := []fetchPlace{{partition{topic + "-gone", 0}, 0}, {partition{topic, 7}, 0}, {partition{topic, 0}, 0}}
	if p, at, size, err := findLarge(b.ctx, client, topics, places); err != nil || p != places[2] || at != before || size < limit {
		t.Errorf("found %v at %d of %d bytes, %v; want %v at %d", p, at, size, err, places[2], before)
	}
	places = []fetchPlace{{partition{topic + "-gone", 0}, 0}, {partition{topic, 1}, 0}}
	if _, _, size, err := findLarge(b.ctx, client, topics, places); size != 0 || !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("%d bytes, %v; want none, and the error of the topic that is gone", size, err)
	}
}

// A topic that the cluster has not listed has no leader, and nobody is asked for it, broker 0 neither. Only a partition that has one is asked.
func TestFirstLargeOfNoTopic(t *testing.T) {
	asked := errors.New("a broker is asked")
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"), kgo.RequestRetries(0),
		kgo.Dialer(func(context.Context, string, string) (net.Conn, error) { return nil, asked }))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	here := kadm.TopicDetail{Topic: "here", Partitions: kadm.PartitionDetails{0: {Leader: 0}, 1: {Leader: -1, Err: kerr.LeaderNotAvailable}}}
	for _, c := range []struct {
		topic kadm.TopicDetail
		id    int32
		want  error
	}{
		{kadm.TopicDetail{}, 0, kerr.UnknownTopicOrPartition},
		{kadm.TopicDetail{Topic: "gone", Err: kerr.UnknownTopicID}, 0, kerr.UnknownTopicID},
		{here, 2, kerr.UnknownTopicOrPartition},
		{here, 1, kerr.LeaderNotAvailable},
		{here, 0, asked},
	} {
		if _, size, err := firstLarge(t.Context(), client, c.topic, c.id, 0); size != 0 || !errors.Is(err, c.want) {
			t.Errorf("topic %q, partition %d: %d, %v, want %v", c.topic.Topic, c.id, size, err, c.want)
		}
	}
}
