package devkafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// metadataAge is how soon a client may ask again for what changed: the default of 5 s is for large clusters.
const metadataAge = 100 * time.Millisecond

// ByKey as a record's partition has its key choose, as Java's clients do (murmur2); those of a client that have none go to the partitions of a topic in turn.
const ByKey = -1

// Record is a record that is sent, or was read.
type Record struct {
	Topic      string // of a record that was read
	Partition  int32  // to which it goes, or ByKey; where it is
	Offset     int64  // where it is
	Line       int    // of the text from which it is read, from 1; 0: of none
	Key, Value []byte
	Time       time.Time // milliseconds count; the zero Time: now
	Headers    []Header
}

// Size is the length of key and value in bytes, which MostBytes bounds.
func (r Record) Size() int { return len(r.Key) + len(r.Value) }

// Header is a header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Client creates topics and feeds them.
type Client struct {
	kafka *kgo.Client
	addr  string
}

// Dial makes a client of the broker at addr. It does not connect yet.
func Dial(addr string) (*Client, error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MetadataMinAge(metadataAge),
		kgo.RecordPartitioner(partitioner{kgo.StickyKeyPartitioner(nil)}))
	if err != nil {
		return nil, err
	}
	return &Client{c, addr}, nil
}

// Close ends the client.
func (c *Client) Close() { c.kafka.Close() }

// CreateTopics creates topics with the given number of partitions.
func (c *Client) CreateTopics(ctx context.Context, partitions int32, topics ...string) error {
	return c.create(ctx, partitions, topics, func(error) bool { return false })
}

// EnsureTopics creates those topics that do not exist, with the given number of partitions.
func (c *Client) EnsureTopics(ctx context.Context, partitions int32, topics ...string) error {
	return c.create(ctx, partitions, topics, func(err error) bool { return errors.Is(err, kerr.TopicAlreadyExists) })
}

// create creates topics; fine says which errors are none.
func (c *Client) create(ctx context.Context, partitions int32, topics []string, fine func(error) bool) error {
	answers, err := kadm.NewClient(c.kafka).CreateTopics(ctx, partitions, 1, nil, topics...)
	for _, answer := range answers {
		if answer.Err != nil && !fine(answer.Err) {
			err = errors.Join(err, fmt.Errorf("%s: %w", answer.Topic, answer.Err))
		}
	}
	if err != nil {
		return fmt.Errorf("create topics %v: %w", topics, err)
	}
	return nil
}

// CaughtUp says whether a consumer group has committed that it has read all that is in topics now.
func (c *Client) CaughtUp(ctx context.Context, group string, topics ...string) (bool, error) {
	admin := kadm.NewClient(c.kafka)
	ends, err := admin.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return false, fmt.Errorf("ask for the ends of %v: %w", topics, err)
	}
	committed, err := admin.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // it is made with its first commit
		return false, fmt.Errorf("ask for the offsets of group %s: %w", group, err)
	}
	for topic, partitions := range ends {
		for id, end := range partitions {
			if at, ok := committed.Lookup(topic, id); end.Offset > 0 && (!ok || at.At < end.Offset) {
				return false, nil
			}
		}
	}
	return true, nil
}

// Send writes records to a topic in their order, waits until the broker has them, and sets in each
// where it is.
func (c *Client) Send(ctx context.Context, topic string, records []Record) error {
	out := make([]*kgo.Record, len(records))
	for i, r := range records {
		out[i] = &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: r.Time}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
	}
	if err := c.kafka.ProduceSync(ctx, out...).FirstErr(); err != nil {
		return fmt.Errorf("send to %s: %w", topic, err)
	}
	for i, r := range out {
		records[i].Topic, records[i].Partition, records[i].Offset = topic, r.Partition, r.Offset
	}
	return nil
}

// Partition is where ByKey sends a record with a key, in a topic with the given number of partitions.
func Partition(key []byte, partitions int32) int32 {
	return int32(kgo.StickyKeyPartitioner(nil).ForTopic("").Partition(&kgo.Record{Key: key}, int(partitions)))
}

// partitioner sends a record to its partition if it has one, else as ByKey says.
type partitioner struct{ byKey kgo.Partitioner }

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return &topicPartitioner{byKey: p.byKey.ForTopic(topic)}
}

type topicPartitioner struct {
	byKey   kgo.TopicPartitioner
	keyless int // records that had neither
}

func (*topicPartitioner) RequiresConsistency(*kgo.Record) bool { return true }

// Partition deals in turn what says nothing of its partition: the client's own way would choose by chance, another one in each run.
func (p *topicPartitioner) Partition(r *kgo.Record, n int) int {
	switch {
	case r.Partition != ByKey:
		return int(r.Partition)
	case r.Key != nil:
		return p.byKey.Partition(r, n)
	}
	p.keyless++
	return (p.keyless - 1) % n
}
