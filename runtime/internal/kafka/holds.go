package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Internal topics in which coordinators keep what they know.
const (
	GroupsTopic = "__consumer_offsets" // offsets of groups, those that transactions write included
	TxnsTopic   = "__transaction_state"
)

// leaderLimit is how long a question about a partition waits for its leader: none may be there, and then there is no answer.
const leaderLimit = 5 * time.Second

// Holds lists the transactions that are open in partitions of a topic, as their leaders know them, oldest first. To find whose a producer is
// takes every broker of the cluster, and Untold is set where one does not answer; if ids are given, only those are asked for, which takes their
// coordinators alone. An error of kind failure.Cluster: the program may not ask, which takes READ on the topic, or the brokers are too old to answer.
func (c *Cluster) Holds(ctx context.Context, topic string, partitions []int32, ids ...string) ([]engine.Hold, error) {
	if len(partitions) == 0 {
		return nil, nil
	}
	open, err := c.producing(ctx, topic, partitions)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Hold, len(open))
	for i, p := range open {
		out[i] = engine.Hold{Topic: p.Topic, Partition: p.Partition, Producer: p.ProducerID, Epoch: p.ProducerEpoch, First: p.CurrentTxnStartOffset}
		if p.LastTimestamp >= 0 {
			out[i].Last = time.UnixMilli(p.LastTimestamp)
		}
	}
	if err := c.owners(ctx, out, ids); err != nil {
		return nil, c.old(ctx, err)
	}
	return out, nil
}

// old says of an error that a broker does not know what it takes to tell who holds readers back, if that is so: asking again does not change it. The client
// asks no broker what that has not listed among its requests, and says so in an error that it has no name for.
func (c *Cluster) old(ctx context.Context, err error) error {
	if failure.KindOf(err) != failure.Transient {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	brokers, _ := c.admin.ApiVersions(ctx) // of those that answer
	for _, b := range brokers.Sorted() {
		for _, key := range []kmsg.Key{kmsg.DescribeProducers, kmsg.DescribeTransactions, kmsg.ListTransactions} {
			if _, known := b.KeyMaxVersion(key.Int16()); b.Err == nil && !known {
				return failure.New(failure.Cluster, "Kafka has it since 3.0", err, "broker %d does not know the request %s, which tells who holds readers back", b.NodeID, key.Name())
			}
		}
	}
	return err
}

// producing is what the leaders say of producers with an open transaction.
func (c *Cluster) producing(ctx context.Context, topic string, partitions []int32) ([]kadm.DescribedProducer, error) {
	limited, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	asked := kadm.TopicsSet{}
	asked.Add(topic, partitions...)
	var open []kadm.DescribedProducer
	err := persist(limited, func() error {
		open = nil
		described, err := c.admin.DescribeProducers(limited, asked)
		if err != nil {
			return err
		}
		for _, p := range described.SortedPartitions() {
			if p.Err != nil {
				return p.Err
			}
			for _, x := range p.ActiveProducers.Sorted() {
				if x.CurrentTxnStartOffset >= 0 {
					open = append(open, x)
				}
			}
		}
		return nil
	}, kerr.NotLeaderForPartition, kerr.LeaderNotAvailable)
	var auth *kadm.AuthError
	if errors.As(err, &auth) || errors.Is(err, kerr.TopicAuthorizationFailed) {
		return nil, failure.New(failure.Cluster, "to name whose transaction is open there takes "+reads(topic).String()+": "+c.cfg.Grant(reads(topic)), err, "ask the leaders of topic %s for its producers", topic)
	}
	if err != nil {
		return nil, c.old(ctx, c.failed(err, "ask the leaders of topic %s for its producers", topic))
	}
	slices.SortStableFunc(open, func(a, b kadm.DescribedProducer) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.CurrentTxnStartOffset, b.CurrentTxnStartOffset))
	})
	return open, nil
}

// owners finds the transactional ids of the producers among ids; among all that the program may describe and brokers tell of, if there are none.
func (c *Cluster) owners(ctx context.Context, holds []engine.Hold, ids []string) (err error) {
	if len(holds) == 0 {
		return nil
	}
	all, untold := len(ids) == 0, error(nil)
	if all {
		ids, untold = c.idsOf(ctx, holds)
	}
	var known map[string]OpenTxn
	if len(ids) > 0 {
		if known, err = c.Transactions(ctx, ids); err != nil && !all {
			return err
		}
		untold = cmp.Or(untold, err)
	}
	for i := range holds {
		for id, t := range known {
			if t.State != "" && t.Producer == holds[i].Producer {
				holds[i].Owner = &engine.Owner{ID: id, TxnState: engine.TxnState{State: t.State, ProducerID: t.Producer, Epoch: t.Epoch}, Since: t.Since, Timeout: t.Timeout}
			}
		}
		if holds[i].Owner == nil {
			holds[i].Untold = untold
		}
	}
	return nil
}

// idsOf asks all brokers for the transactional ids of producers. The error says which have not answered; the others have.
func (c *Cluster) idsOf(ctx context.Context, holds []engine.Hold) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	var producers []int64
	for _, h := range holds {
		producers = append(producers, h.Producer)
	}
	listed, err := c.admin.ListTransactions(ctx, producers, nil)
	var ids []string
	for _, t := range listed {
		if slices.Contains(producers, t.ProducerID) { // an old broker lists all
			ids = append(ids, t.TxnID)
		}
	}
	return ids, unheard(err)
}

// unheard names the brokers that did not answer what all were asked, nil if all did.
func unheard(err error) error {
	var some *kadm.ShardErrors
	if !errors.As(err, &some) {
		return err
	}
	var texts []string
	for _, s := range some.Errs {
		texts = append(texts, fmt.Sprintf("broker %d at %s:%d does not tell: %v", s.Broker.NodeID, s.Broker.Host, s.Broker.Port, s.Err))
	}
	return errors.New(strings.Join(texts, "; "))
}

// OffsetsPlace is where the offsets of a group are; nil: the program may not know.
func (c *Cluster) OffsetsPlace(ctx context.Context, group string) ([]engine.Held, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	n, err := c.groupPartitions(ctx)
	if err != nil || n == 0 {
		return nil, err
	}
	return []engine.Held{{Topic: GroupsTopic, Partition: groupPartition(group, n)}}, nil
}

// groupPartitions is in how many partitions the offsets of groups are; 0: the program may not know.
func (c *Cluster) groupPartitions(ctx context.Context) (int32, error) {
	details, err := c.admin.ListTopicsWithInternal(ctx, GroupsTopic)
	if err != nil {
		return 0, c.failed(err, "describe topic %s", GroupsTopic)
	}
	return int32(len(details[GroupsTopic].Partitions)), nil
}

// groupPartition is which of n partitions has the offsets of a group: by the absolute value of Java's hash of its name.
func groupPartition(group string, n int32) int32 {
	var hash int32
	for _, c := range utf16.Encode([]rune(group)) {
		hash = 31*hash + int32(c)
	}
	if hash == math.MinInt32 {
		return 0
	}
	return max(hash, -hash) % n
}

// unstableLimit is how long it may take to find out why a marker cannot be read. A stop waits for no part of it.
const unstableLimit = 10 * time.Second

// unstable says why a marker cannot be read. A transaction that is open ends, at the latest when its time is up. If none is open that writes
// where the group's offsets are, and one that has ended, with one of the ids if they are known, still holds that partition back, then a broker has lost its
// end marker, and it does not become readable by itself.
func (c *Cluster) unstable(ctx context.Context, cause error, group string, ids []string, after time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, unstableLimit)
	defer cancel()
	what := fmt.Sprintf("the marker of group %s was not readable within %v", group, after.Round(time.Second))
	const wait = "stop what holds it, or wait until the broker aborts it for its age"
	for range 2 { // one that has ended between the two answers is none
		open, err := c.writers(ctx, group, ids)
		switch {
		case err != nil:
			return failure.New(failure.Transient, wait, cause, "%s, since a transaction that writes it has not ended; which one is not known (%v)", what, err)
		case len(open) > 0:
			return failure.New(failure.Transient, wait, cause, "%s, since a transaction that writes it is open: %s", what, strings.Join(open, "; "))
		}
		offsets, err := c.admin.FetchOffsets(kadm.RequireStable(ctx), group)
		if err == nil {
			err = offsets.Error()
		}
		if !errors.Is(err, kerr.UnstableOffsetCommit) {
			return failure.New(failure.Transient, "", cause, "%s, and is now", what)
		}
	}
	kind, by := failure.Transient, "which one is not told: it may also be an open one that the program may not see"
	holds, err := c.endedHolds(ctx, group, ids)
	if err != nil {
		by += fmt.Sprintf(" (%v)", err)
	}
	var texts []string
	for _, h := range holds {
		if err == nil {
			kind = failure.Cluster
			texts = append(texts, fmt.Sprintf("topic %s, partition %d, from offset %d on, by %v", h.Topic, h.Partition, h.First, h))
		}
	}
	if kind == failure.Cluster {
		by = strings.Join(texts, "; ")
	}
	return failure.New(kind, engine.RepairHelp, cause, "%s, though no transaction is open that writes there: a broker has lost the end marker of one that has ended; %s", what, by)
}

// endedHolds are the transactions, with one of the ids if there are any, that still hold back where a group's offsets are, though they have ended.
func (c *Cluster) endedHolds(ctx context.Context, group string, ids []string) ([]engine.Hold, error) {
	place, err := c.OffsetsPlace(ctx, group)
	if err != nil || place == nil {
		return nil, err
	}
	ended := func(h engine.Hold) bool { return h.Owner != nil && h.Ended() }
	held, err := engine.HeldBack(ctx, c, place, ended, ids...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(held[0].Holds, func(h engine.Hold) bool { return !ended(h) }), held[0].Denied
}

// writers describes the open transactions that write where a group's offsets are, as far as they can be seen: those with one of the ids, for which nobody
// but their coordinators is asked, or if there are none, all.
func (c *Cluster) writers(ctx context.Context, group string, ids []string) ([]string, error) {
	n, err := c.groupPartitions(ctx)
	if err != nil || n == 0 {
		return nil, err
	}
	place := groupPartition(group, n)
	if len(ids) > 0 {
		switch found, err := c.writersAmong(ctx, place, ids); {
		case len(found) > 0: // what another coordinator does not tell adds nothing
			return found, nil
		case err != nil:
			return nil, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	listed, err := c.admin.ListTransactions(limited, nil, []string{"Ongoing", "PrepareCommit", "PrepareAbort"})
	untold := unheard(err) // what the others tell of may be what is looked for
	if len(listed) == 0 {
		return nil, untold
	}
	found, err := c.writersAmong(ctx, place, listed.TransactionalIDs())
	if len(found) > 0 {
		return found, nil
	}
	return nil, cmp.Or(untold, err)
}

// writersAmong describes those of the transactions that are open and write to a partition of the groups' offsets.
func (c *Cluster) writersAmong(ctx context.Context, place int32, ids []string) ([]string, error) {
	described, err := c.admin.DescribeTransactions(ctx, ids...)
	var found []string
	for _, d := range described.Sorted() {
		if _, ok := d.Topics[GroupsTopic][place]; !ok {
			continue
		}
		since, timeout := time.UnixMilli(d.StartTimestamp), time.Duration(d.TimeoutMillis)*time.Millisecond
		found = append(found, fmt.Sprintf("transactional id %s, producer %d, epoch %d, %s, open since %s, aborted after %v, in %v",
			d.TxnID, d.ProducerID, d.ProducerEpoch, d.State, since.UTC().Format(time.RFC3339), timeout, max(0, time.Until(since.Add(timeout))).Round(time.Second)))
	}
	return found, unheard(err)
}

// EndHold writes the end marker of a transaction in the partition that h names, which is what its coordinator does and a broker has lost. The
// leader refuses it if the producer has moved on there. It takes CLUSTER_ACTION or, since Kafka 3.8, ALTER on the cluster.
func (c *Cluster) EndHold(ctx context.Context, h engine.Hold, commit bool) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	open, err := c.producing(ctx, h.Topic, []int32{h.Partition})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(open, func(p kadm.DescribedProducer) bool {
		return p.ProducerID == h.Producer && p.ProducerEpoch == h.Epoch && p.CurrentTxnStartOffset == h.First
	})
	if i < 0 {
		return nil // it has ended
	}
	topics := kadm.TopicsSet{}
	topics.Add(h.Topic, h.Partition)
	err = persist(ctx, func() error {
		answers, err := c.admin.WriteTxnMarkers(ctx, kadm.TxnMarkers{
			ProducerID: h.Producer, ProducerEpoch: h.Epoch, Commit: commit, CoordinatorEpoch: max(0, open[i].CoordinatorEpoch), Topics: topics,
		})
		if err != nil {
			return err
		}
		answers.EachPartition(func(p kadm.TxnMarkersPartitionResponse) { err = cmp.Or(err, p.Err) })
		return err
	}, kerr.NotLeaderForPartition, kerr.LeaderNotAvailable)
	var auth *kadm.AuthError
	if errors.As(err, &auth) {
		err = auth.Err
	}
	if errors.Is(err, kerr.ClusterAuthorizationFailed) {
		return failure.New(failure.Cluster, "grant CLUSTER_ACTION, or ALTER since Kafka 3.8, on the cluster to who runs this, for this once; or have an administrator do it", err,
			"write the end marker of the transaction of %s in topic %s, partition %d", who(h), h.Topic, h.Partition)
	}
	if err != nil {
		return c.failed(err, "write the end marker of the transaction of %s in topic %s, partition %d", who(h), h.Topic, h.Partition)
	}
	return nil
}

func who(h engine.Hold) string { return fmt.Sprintf("producer id %d, epoch %d", h.Producer, h.Epoch) }

// EndTxnVersion is the version of EndTxn that new transactions end with: 4 under transactions V1, 5 under V2.
func (c *Cluster) EndTxnVersion() int16 { return c.txns }
