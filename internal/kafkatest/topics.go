package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Record is a record as tests write and read it.
type Record struct {
	Partition  int32
	Offset     int64 // of a record that was read
	Key, Value []byte
	Headers    []Header
	Time       time.Time // millisecond precision; zero: now
}

// Header is a header of a record.
type Header struct {
	Key   string
	Value []byte
}

// CreateTopic creates a topic with the given number of partitions. Settings are pairs "name=value".
func (b *Broker) CreateTopic(t testing.TB, topic string, partitions int32, settings ...string) {
	t.Helper()
	const replicas = -1 // as the broker is configured: one, in a cluster as many as there are nodes
	configs := map[string]*string{}
	for _, s := range settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			t.Fatalf("topic setting %q is not name=value", s)
		}
		configs[name] = &value
	}
	made, err := kadm.NewClient(b.client).CreateTopic(call(t), partitions, replicas, configs, topic)
	if err != nil {
		t.Fatalf("create topic %s: %v", topic, err)
	}
	b.awaitTopic(t, topic, made.ID, partitions)
}

// awaitTopic waits until the broker, each of a cluster, knows what the controller has made: it lags a little behind.
func (b *Broker) awaitTopic(t testing.TB, topic string, id kadm.TopicID, partitions int32) {
	t.Helper()
	const pause = 5 * time.Millisecond
	for ctx := call(t); ; time.Sleep(pause) {
		err := b.knows(ctx, topic, id, partitions)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("topic %s was created and is not there: %v", topic, err)
		}
	}
}

// knows asks every broker for a topic, with that id unless it is zero, and the leaders of its partitions.
func (b *Broker) knows(ctx context.Context, topic string, id kadm.TopicID, partitions int32) error {
	for _, broker := range b.client.DiscoveredBrokers() {
		req, of := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic()
		of.Topic = &topic
		req.Topics = append(req.Topics, of)
		answer, err := req.RequestWith(ctx, broker)
		if err != nil {
			return err
		}
		for _, known := range answer.Topics {
			if err := kerr.ErrorForCode(known.ErrorCode); err != nil {
				return err
			}
			if id != (kadm.TopicID{}) && known.TopicID != id {
				return fmt.Errorf("a broker knows the topic of this name with id %v, not %v", kadm.TopicID(known.TopicID), id)
			}
			if len(known.Partitions) != int(partitions) {
				return fmt.Errorf("a broker knows %d partitions of %d", len(known.Partitions), partitions)
			}
			for _, p := range known.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// DeleteTopic deletes a topic.
func (b *Broker) DeleteTopic(t testing.TB, topic string) {
	t.Helper()
	if _, err := kadm.NewClient(b.client).DeleteTopic(call(t), topic); err != nil {
		t.Fatalf("delete topic %s: %v", topic, err)
	}
	b.client.PurgeTopicsFromProducing(topic) // else it holds on to the id of this one
}

// DeleteRecords deletes the records of a partition before an offset.
func (b *Broker) DeleteRecords(t testing.TB, topic string, partition int32, before int64) {
	t.Helper()
	var to kadm.Offsets
	to.AddOffset(topic, partition, before, -1)
	answers, err := kadm.NewClient(b.client).DeleteRecords(call(t), to)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		t.Fatalf("delete records of %s/%d before %d: %v", topic, partition, before, err)
	}
}

// Produce writes records to their partitions and waits until the broker has them.
func (b *Broker) Produce(t testing.TB, topic string, records ...Record) {
	t.Helper()
	if err := produce(call(t), b.client, topic, records); err != nil {
		t.Fatal(err)
	}
}

// ProduceLarge writes a record in a batch of its own, as it is, whatever its size, and says whether the topic takes it.
func (b *Broker) ProduceLarge(t testing.TB, topic string, record Record) bool {
	t.Helper()
	const largest = 1 << 30 // that the client allows
	client, err := b.dial(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(largest/2), kgo.BrokerMaxWriteBytes(largest))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	err = produce(call(t), client, topic, []Record{record})
	if err != nil && !errors.Is(err, kerr.MessageTooLarge) {
		t.Fatal(err)
	}
	return err == nil
}

// ProduceTxn writes records in a transaction of their own, which is then committed or aborted.
func (b *Broker) ProduceTxn(t testing.TB, commit bool, topic string, records ...Record) {
	t.Helper()
	client, err := b.dial(kgo.MetadataMinAge(metadataAge),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("kafkatest-"+topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := produce(call(t), client, topic, records); err != nil {
		t.Fatal(err)
	}
	if err := client.EndTransaction(call(t), kgo.TransactionEndTry(commit)); err != nil {
		t.Fatalf("end the transaction on %s: %v", topic, err)
	}
}

func produce(ctx context.Context, client *kgo.Client, topic string, records []Record) error {
	out := make([]*kgo.Record, len(records))
	for i, r := range records {
		out[i] = &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: r.Time}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
	}
	return client.ProduceSync(ctx, out...).FirstErr()
}

// SetTopic changes settings of a topic, pairs "name=value".
func (b *Broker) SetTopic(t testing.TB, topic string, settings ...string) {
	t.Helper()
	var changes []kadm.AlterConfig
	for _, s := range settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			t.Fatalf("topic setting %q is not name=value", s)
		}
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value})
	}
	answers, err := kadm.NewClient(b.client).AlterTopicConfigs(call(t), changes, topic)
	if err == nil {
		_, err = answers.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		t.Fatalf("set %v of topic %s: %v", settings, topic, err)
	}
}
