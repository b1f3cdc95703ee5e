package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Fence takes a transactional id from whoever holds it. The broker aborts its open transaction, as it does by itself
// when the transaction's timeout has passed.
func (b *Broker) Fence(t testing.TB, id string) {
	t.Helper()
	client, err := b.dial(kgo.TransactionalID(id))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, _, err := client.ProducerID(call(t)); err != nil {
		t.Fatalf("fence %s: %v", id, err)
	}
}

// Send is Produce for goroutines beside the test's.
func (b *Broker) Send(ctx context.Context, topic string, records ...Record) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return produce(ctx, b.client, topic, records)
}

// GroupOffsets is what a group has committed for a topic, by partition. It waits until no commit is pending in a transaction.
func (b *Broker) GroupOffsets(t testing.TB, group, topic string) map[int32]int64 {
	t.Helper()
	offsets, err := b.Committed(kadm.RequireStable(call(t)), group, topic)
	if err != nil {
		t.Fatal(err)
	}
	return offsets
}

// Committed is what a group has committed for a topic, by partition, whether more is pending or not.
func (b *Broker) Committed(ctx context.Context, group, topic string) (map[int32]int64, error) {
	const pause = 10 * time.Millisecond
	for {
		answers, err := kadm.NewClient(b.client).FetchOffsets(ctx, group)
		if err == nil {
			err = answers.Error()
		}
		switch {
		case err == nil:
			offsets := map[int32]int64{}
			for partition, answer := range answers[topic] {
				offsets[partition] = answer.At
			}
			return offsets, nil
		case errors.Is(err, kerr.GroupIDNotFound):
			return nil, nil
		case ctx.Err() != nil || !kerr.IsRetriable(err) && !kgo.IsRetryableBrokerErr(err): // else a coordinator that is not there yet or dies again and again, or a pending commit
			return nil, fmt.Errorf("offsets of group %s: %w", group, err)
		}
		time.Sleep(pause)
	}
}

// EndOffsets is the high watermark of each partition of a topic.
func (b *Broker) EndOffsets(t testing.TB, topic string) map[int32]int64 {
	t.Helper()
	answers, err := kadm.NewClient(b.client).ListEndOffsets(call(t), topic)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		t.Fatalf("end offsets of %s: %v", topic, err)
	}
	ends := map[int32]int64{}
	for partition, answer := range answers[topic] {
		ends[partition] = answer.Offset
	}
	return ends
}

// KeepGroup remembers all that a group has committed, with no commit pending. putBack commits it again.
func (b *Broker) KeepGroup(t testing.TB, group string) (putBack func() error) {
	t.Helper()
	admin := kadm.NewClient(b.client)
	held, err := admin.FetchOffsets(kadm.RequireStable(call(t)), group)
	if err == nil {
		err = held.Error()
	}
	if err != nil || len(held) == 0 {
		t.Fatalf("group %s has committed %v: %v", group, held, err)
	}
	return func() error {
		answers, err := admin.CommitOffsets(call(t), group, held.Offsets())
		return errors.Join(err, answers.Error())
	}
}

// DeleteGroup forgets a group and all that is committed to it.
func (b *Broker) DeleteGroup(t testing.TB, group string) {
	t.Helper()
	answer, err := kadm.NewClient(b.client).DeleteGroup(call(t), group)
	if err == nil {
		err = answer.Err
	}
	if err != nil {
		t.Fatalf("delete group %s: %v", group, err)
	}
}

// AddPartitions makes a topic have the given number of partitions, and waits until the broker knows them, and Produce if it has written to the topic.
func (b *Broker) AddPartitions(t testing.TB, topic string, partitions int) {
	t.Helper()
	answers, err := kadm.NewClient(b.client).UpdatePartitions(call(t), partitions, topic)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		t.Fatalf("give %s %d partitions: %v", topic, partitions, err)
	}
	b.awaitTopic(t, topic, kadm.TopicID{}, int32(partitions))
	if leader, _, err := b.client.PartitionLeader(topic, 0); err != nil || leader < 0 {
		return // who never wrote to it asks when it does
	}
	const pause = 20 * time.Millisecond
	for ctx := call(t); ; time.Sleep(pause) {
		b.client.ForceMetadataRefresh()
		if leader, _, err := b.client.PartitionLeader(topic, int32(partitions-1)); err == nil && leader >= 0 {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s has no partition %d in the client's view", topic, partitions-1)
		}
	}
}

// TransactionalIDs describes all transactional ids that begin with prefix, each with its state, producer id and epoch.
func (b *Broker) TransactionalIDs(t testing.TB, prefix string) []string {
	t.Helper()
	described, err := b.transactions(t, prefix)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, d := range described {
		out = append(out, fmt.Sprintf("%s: %s, producer %d epoch %d", d.TxnID, d.State, d.ProducerID, d.ProducerEpoch))
	}
	return out
}

// TransactionsOver says whether there are transactional ids that begin with prefix, and no transaction of theirs is open or about to end. now describes them, and says why
// that is not known; it changes with each transaction that begins or ends.
func (b *Broker) TransactionsOver(t testing.TB, prefix string) (now string, over bool) {
	t.Helper()
	described, err := b.transactions(t, prefix)
	over = err == nil && len(described) > 0
	if err != nil {
		now = fmt.Sprintln(err)
	}
	for _, d := range described {
		now += fmt.Sprintln(d.TxnID, d.State, d.ProducerID, d.ProducerEpoch, d.Err)
		over = over && hasNone(d)
	}
	return now, over
}

// hasNone says whether a transactional id has no transaction that is open or about to end. An id that has expired has none: its coordinator
// calls it dead, and does not describe it any more.
func hasNone(d kadm.DescribedTransaction) bool {
	if d.Err != nil {
		return errors.Is(d.Err, kerr.TransactionalIDNotFound)
	}
	return slices.Contains([]string{"Empty", "CompleteCommit", "CompleteAbort", "Dead"}, d.State)
}

func (b *Broker) transactions(t testing.TB, prefix string) ([]kadm.DescribedTransaction, error) {
	t.Helper()
	described, err := kadm.NewClient(b.client).DescribeTransactions(call(t))
	return slices.DeleteFunc(described.Sorted(), func(d kadm.DescribedTransaction) bool { return !strings.HasPrefix(d.TxnID, prefix) }), err
}

// Txn is a transaction of a test that is open.
type Txn struct{ client *kgo.Client }

// OpenTxn writes records to a topic in a transaction that stays open, as a producer leaves it that hangs. The broker aborts it
// when the longest timeout that it allows has passed, which is beyond every test.
func (b *Broker) OpenTxn(t testing.TB, id, topic string, records ...Record) *Txn {
	t.Helper()
	client, err := b.dial(kgo.MetadataMinAge(metadataAge),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID(id), kgo.TransactionTimeout(15*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := produce(call(t), client, topic, records); err != nil {
		t.Fatal(err)
	}
	return &Txn{client}
}

// Commit commits it.
func (x *Txn) Commit(ctx context.Context) error { return x.client.EndTransaction(ctx, kgo.TryCommit) }

// Abort aborts it.
func (x *Txn) Abort(ctx context.Context) error { return x.client.EndTransaction(ctx, kgo.TryAbort) }
