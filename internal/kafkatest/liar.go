package kafkatest

import (
	"hash/crc32"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Liar is an embedded broker that acknowledges what it was sent and keeps something else, when it is told to.
type Liar struct {
	*Broker
	fake *kfake.Cluster
}

// StartLiar starts one, which ends with the test.
func StartLiar(t testing.TB) *Liar {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID("liar-"+t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return &Liar{At(t, fake.ListenAddrs()[0]), fake}
}

// Advertise makes the broker tell clients another address than its own, at which nobody needs to listen.
func (l *Liar) Advertise(host string, port int32) {
	l.fake.ControlKey(kmsg.Metadata.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		l.fake.KeepControl()
		answer := req.ResponseKind().(*kmsg.MetadataResponse)
		broker := kmsg.NewMetadataResponseBroker()
		broker.Host, broker.Port = host, port
		answer.Brokers = append(answer.Brokers, broker)
		return answer, nil, true
	})
}

// LoseOne makes the broker lose the last record of the next batch that comes in a transaction, if it has two or more. It is told when that is done.
func (l *Liar) LoseOne() *atomic.Bool {
	return l.spoil(func(r []kmsg.Record) []kmsg.Record { return r[:len(r)-1] })
}

// DoubleOne makes the broker write that record twice.
func (l *Liar) DoubleOne() *atomic.Bool {
	return l.spoil(func(r []kmsg.Record) []kmsg.Record { return append(r, r[len(r)-1]) })
}

// spoil changes the records of a batch before the broker sees them. The offsets that it acknowledges are those of the batch as it was sent.
func (l *Liar) spoil(change func([]kmsg.Record) []kmsg.Record) *atomic.Bool {
	done := new(atomic.Bool)
	l.fake.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		l.fake.KeepControl()
		topics := req.(*kmsg.ProduceRequest).Topics
		for i := range topics {
			parts := topics[i].Partitions
			for j := range parts {
				if done.Load() {
					return nil, nil, false
				}
				if spoiled, ok := rewrite(parts[j].Records, change); ok {
					parts[j].Records = spoiled
					done.Store(true)
				}
			}
		}
		return nil, nil, false
	})
	return done
}

// rewrite is a batch of a transaction with other records; false: it is none, or too small.
func rewrite(raw []byte, change func([]kmsg.Record) []kmsg.Record) ([]byte, bool) {
	const transactional, summed, beforeLength = 0x10, 21, 12 // https://kafka.apache.org/documentation/#recordbatch
	var batch kmsg.RecordBatch
	if batch.ReadFrom(raw) != nil || batch.Attributes&transactional == 0 || batch.NumRecords < 2 {
		return nil, false
	}
	var records []kmsg.Record
	for left := batch.Records; len(left) > 0; {
		var r kmsg.Record
		if err := r.ReadFrom(left); err != nil {
			return nil, false
		}
		records, left = append(records, r), left[len(r.AppendTo(nil)):]
	}
	records, batch.Records = change(records), nil
	for i := range records {
		records[i].OffsetDelta = int32(i)
		batch.Records = records[i].AppendTo(batch.Records)
	}
	batch.NumRecords, batch.LastOffsetDelta = int32(len(records)), int32(len(records))-1
	batch.Length = int32(len(batch.AppendTo(nil)) - beforeLength)
	batch.CRC = int32(crc32.Checksum(batch.AppendTo(nil)[summed:], crc32.MakeTable(crc32.Castagnoli)))
	return batch.AppendTo(nil), true
}
