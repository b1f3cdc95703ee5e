package kafkatest

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SetEpochs moves transactional ids to the given epochs, of which a producer id has 32,767, as if their producers had written for weeks: it
// writes what the coordinator keeps of an id, and restarts the broker, which reads that when it starts.
func (b *Broker) SetEpochs(t testing.TB, epochs map[string]int16) {
	t.Helper()
	const log = "__transaction_state"
	// Brokers take records for their own topics from a client of this name alone.
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ClientID("__admin_client"), kgo.DisableIdempotentWrite(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for id, epoch := range epochs {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &id, 60_000, -1, -1
		var producer int64
		for ctx := call(t); ; {
			answer, err := req.RequestWith(ctx, b.client)
			if err == nil {
				err = kerr.ErrorForCode(answer.ErrorCode)
			}
			if err == nil {
				producer = answer.ProducerID
				break
			}
			if !kerr.IsRetriable(err) || ctx.Err() != nil {
				t.Fatalf("init %s: %v", id, err)
			}
		}
		key, value := kmsg.NewTxnMetadataKey(), kmsg.NewTxnMetadataValue()
		key.TransactionalID = id
		value.ProducerID, value.ProducerEpoch, value.TimeoutMillis = producer, epoch, 60_000
		value.LastUpdateTimestamp, value.StartTimestamp = time.Now().UnixMilli(), -1
		r := &kgo.Record{Topic: log, Partition: coordinatorOf(id), Key: key.AppendTo(nil), Value: value.AppendTo(nil)}
		if err := client.ProduceSync(call(t), r).FirstErr(); err != nil {
			t.Fatalf("move %s to epoch %d: %v", id, epoch, err)
		}
	}
	b.Stop(t)
	b.Restart(t)
}

// coordinatorOf is the partition of the coordinators' log that has a transactional id: by the absolute value of Java's hash of it.
func coordinatorOf(id string) int32 {
	var hash int32
	for _, c := range id {
		hash = 31*hash + c
	}
	return max(hash%transactionPartitions, -(hash % transactionPartitions))
}
