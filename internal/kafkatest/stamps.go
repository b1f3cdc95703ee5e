package kafkatest

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// produceByName is the last version of a produce request that names topics; later ones want their ids.
const produceByName = 12

// ProduceStamped writes records as another client may, with any Kafka timestamps, in milliseconds: each record in a batch of its own.
// kgo cannot: its times are nanoseconds in 64 bits. It sets message.timestamp.after.max.ms and retention.ms of the topic so that brokers take and keep them.
func (b *Broker) ProduceStamped(t testing.TB, topic string, partition int32, stamps []int64, values [][]byte) {
	t.Helper()
	b.SetTopic(t, topic, "message.timestamp.after.max.ms=9223372036854775807", "retention.ms=-1")
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.Produce), produceByName)
	client, err := b.dial(kgo.MaxVersions(versions))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(call(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	leader := client.Broker(int(topics[topic].Partitions[partition].Leader))
	for i, stamp := range stamps {
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = partition, stamped(stamp, values[i])
		of := kmsg.NewProduceRequestTopic()
		of.Topic, of.Partitions = topic, append(of.Partitions, part)
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis, req.Topics = -1, int32(callLimit.Milliseconds()), append(req.Topics, of)
		answer, err := req.RequestWith(call(t), leader)
		if err == nil {
			err = kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
		}
		if err != nil {
			t.Fatalf("produce a record with timestamp %d to %s/%d: %v", stamp, topic, partition, err)
		}
	}
}

// stamped is a batch of one record.
func stamped(stamp int64, value []byte) []byte {
	var rec []byte
	rec = append(rec, 0, 0, 0) // attributes, and the differences of timestamp and offset to those of the batch
	rec = binary.AppendVarint(rec, -1)
	rec = binary.AppendVarint(rec, int64(len(value)))
	rec = append(rec, value...)
	rec = append(rec, 0) // headers
	batch := kmsg.NewRecordBatch()
	batch.PartitionLeaderEpoch, batch.Magic = -1, 2
	batch.FirstTimestamp, batch.MaxTimestamp = stamp, stamp
	batch.ProducerID, batch.ProducerEpoch, batch.FirstSequence = -1, -1, -1
	batch.NumRecords = 1
	batch.Records = append(binary.AppendVarint(nil, int64(len(rec))), rec...)
	const length, lengthBytes, crc, summed = 8, 4, 17, 21 // where the length, the sum, and what it is the sum of begin
	out := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(out[length:], uint32(len(out)-length-lengthBytes))
	binary.BigEndian.PutUint32(out[crc:], crc32.Checksum(out[summed:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}
