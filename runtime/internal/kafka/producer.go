package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

const (
	// The greatest batch, unless the topic takes less or allows more. It is Kafka's default for producers.
	batchBytes    = 1_000_012
	batchBytesMax = 16 << 20
	linger        = 5 * time.Millisecond
	// Tries to find a topic's partitions before a record for it fails: a broker that comes up may not know them yet.
	unknownTries = 20
)

// producer writes one transaction and is thrown away after it.
//
// So a committable names one transaction for ever, on V1 as on V2: the next one has another epoch. (franz-go cannot
// be told of an epoch that a raw EndTxn has moved, and its own EndTransaction sends nothing when a
// transaction holds only a marker.)
type producer struct {
	c       *Cluster
	client  *kgo.Client
	txn     transaction
	timeout time.Duration
	first   time.Time // when the first record or the marker was sent: not before then does the broker's clock run
	tally   tally
}

// newProducer takes the transactional id, and begins.
func (c *Cluster) newProducer(ctx context.Context, id string, timeout time.Duration, limits map[string]int32) (*producer, error) {
	client, err := kgo.NewClient(append(c.writing(limits), kgo.TransactionalID(id), kgo.TransactionTimeout(timeout))...)
	if err != nil {
		return nil, failure.New(failure.Internal, "", err, "set up a producer for transactional id %s", id)
	}
	p := &producer{c: c, client: client, timeout: timeout}
	p.tally.check, p.tally.fail = p.ours, p.rejected
	ctx, cancel := context.WithTimeout(ctx, fenceLimit)
	defer cancel()
	if err = client.BeginTransaction(); err == nil { // it asks nobody; ProducerID does
		p.txn = transaction{id: id, end: c.txns}
		p.txn.producer, p.txn.epoch, err = client.ProducerID(ctx)
	}
	switch {
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		err = tooLong(timeout, "the cluster refuses it")
	case err != nil:
		err = c.failed(needs(err, writesTxns(id)), "open a producer for transactional id %s", id)
	case p.txn.producer < 0:
		err = failure.New(failure.Cluster, "upgrade the brokers, or name others with --brokers", nil, "the cluster gives no producer ids: transactions need Kafka 0.11 or later")
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return p, nil
}

// writing are the options of every producer. The bytes on their way are limited by the sink, slab by slab.
func (c *Cluster) writing(limits map[string]int32) []kgo.Opt {
	const stickyBytes, adaptive, byKey = 64 << 10, true, true
	return append(c.options(c.txns),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		// A key goes where Java's producer sends it: murmur2 of the key (https://kafka.apache.org/documentation).
		kgo.RecordPartitioner(kgo.UniformBytesPartitioner(stickyBytes, adaptive, byKey, nil)),
		kgo.ProducerBatchMaxBytesFn(func(topic string) int32 {
			if limit, ok := limits[topic]; ok {
				return limit
			}
			return batchBytes
		}),
		// The client's default, snappy, costs more than many a query. A topic whose compression.type names a codec is compressed by the
		// broker (https://kafka.apache.org/documentation/#topicconfigs_compression.type).
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(linger),
		kgo.MaxBufferedRecords(math.MaxInt),
		kgo.UnknownTopicRetries(unknownTries),
	)
}

// ours says whether a record was written in this producer's transaction. The client can move the epoch by itself in
// mid-transaction, which makes the broker abort what was written before.
func (p *producer) ours(r *kgo.Record) error {
	if r.ProducerID == p.txn.producer && r.ProducerEpoch == p.txn.epoch {
		return nil
	}
	return fmt.Errorf("it was written by producer %d, epoch %d, the transaction is of producer %d, epoch %d",
		r.ProducerID, r.ProducerEpoch, p.txn.producer, p.txn.epoch)
}

func (p *producer) rejected(f *flight, r *kgo.Record, err error) error {
	if among(err, fencing()) {
		return p.judge(err, "send a record to topic %s", f.lane.topic)
	}
	return p.c.rejected(f, r, needs(err, writesTxns(p.txn.id)))
}

// rejected is the failure for a record that was not written.
func (c *Cluster) rejected(f *flight, r *kgo.Record, err error) error {
	const keyShown = 100 // bytes, and for the log alone
	l, key := f.lane, " with no key"
	if r.Key != nil {
		key = " with key " + strconv.Quote(string(r.Key[:min(len(r.Key), keyShown)]))
	}
	switch {
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		size := len(r.Key) + len(r.Value)
		for _, h := range r.Headers {
			size += len(h.Key) + len(h.Value)
		}
		help := "raise max.message.bytes of the topic, or write less into the record"
		if l.limit >= batchBytesMax {
			help = "write less into the record: eoc writes none that is larger, whatever max.message.bytes of the topic is"
		}
		text := func(key string) string {
			return fmt.Sprintf("a record for topic %s%s, %s, is too large: %d bytes, the limit is %d with some overhead", l.topic, key, f.whence(r), size, l.limit)
		}
		return failure.OfRecord(help, err, text(key), text(""))
	case errors.Is(err, kerr.InvalidRecord):
		text := func(key string) string {
			return fmt.Sprintf("topic %s refuses a record%s, %s", l.topic, key, f.whence(r))
		}
		return failure.OfRecord("a compacted topic takes only records with a key", err, text(key), text(""))
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return missing(l.topic)
	}
	return c.failed(needs(err, Right{"WRITE", ofTopic, l.topic}), "send a record to topic %s", l.topic)
}

// judge tells the two reasons apart for which a coordinator gives a producer up. A broker aborts a transaction for
// its age not before the timeout, so the id of a younger one was taken: by whom, Overtaken says. That of an older
// one may have been, and then the next start finds out.
func (p *producer) judge(err error, what string, args ...any) error {
	if !among(err, fencing()) || p.first.IsZero() || time.Since(p.first) < p.timeout {
		return p.c.failed(err, what, args...)
	}
	return failure.New(failure.Transient, "brokers abort such transactions; raise txn_timeout if this repeats", err,
		"%s: the transaction was open for %v, its timeout is %v", fmt.Sprintf(what, args...), time.Since(p.first).Round(time.Millisecond), p.timeout)
}

// begun notes that something of the transaction is sent.
func (p *producer) begun() {
	if p.first.IsZero() {
		p.first = time.Now()
	}
}

// flush waits until every record is answered, and checks that the answers are as many as the records and all good.
func (p *producer) flush(ctx context.Context) error {
	return flush(ctx, p.c, p.client, &p.tally)
}

func flush(ctx context.Context, c *Cluster, client *kgo.Client, t *tally) error {
	ctx, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	err := client.Flush(ctx)
	if failed := t.failure(); failed != nil {
		return failed
	}
	acked := t.acked.Load()
	if err != nil {
		return c.failed(err, "wait until the broker has acknowledged %s, of which it has %d", words.Many(t.sent, "record"), acked)
	}
	if acked != t.sent {
		return failure.New(failure.Internal, "", nil, "%d records were sent and %d acknowledged, without an error", t.sent, acked)
	}
	return nil
}
