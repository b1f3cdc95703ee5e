package kafka

import (
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Questions of the pre-flight checks. None of them changes anything in the cluster.

// Contact is what came of asking one address.
type Contact struct {
	Addr string
	Took time.Duration // until the answer
	Err  error         // of kind failure.Cluster if the other side does not speak as the program does, else failure.Transient
}

// Knock asks each address that the program was given, at the same time.
func Knock(ctx context.Context, cfg Config) []Contact {
	c := &Cluster{cfg: cfg, log: cfg.Logger}
	out := make([]Contact, len(cfg.Brokers))
	var wg sync.WaitGroup
	for i, addr := range cfg.Brokers {
		wg.Go(func() {
			began := time.Now()
			err := c.ask(ctx, addr)
			out[i] = Contact{addr, time.Since(began), err}
			var known *failure.Error
			if err != nil && !errors.As(err, &known) {
				out[i].Err = failure.New(failure.Transient, cfg.unreached(addr), err, "cannot reach Kafka at %s", addr)
			}
		})
	}
	wg.Wait()
	return out
}

// Member is a broker as the cluster knows it.
type Member struct {
	ID      int32
	Addr    string // as it is told to clients (advertised.listeners)
	Version string // a guess from what it can do, such as v4.1; "" if it did not answer
	Err     error
}

// TransactionVersion is 1 or 2: how transactions run here (the feature transaction.version).
func (c *Cluster) TransactionVersion() int { return int(c.txns - endV1 + 1) }

// Members asks all brokers of the cluster, also those that no address was given of.
func (c *Cluster) Members(ctx context.Context) ([]Member, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	about, err := c.admin.BrokerMetadata(ctx)
	if err != nil {
		return nil, c.failed(err, "list the brokers")
	}
	versions, err := c.admin.ApiVersions(ctx)
	var out []Member
	for _, b := range about.Brokers {
		m := Member{ID: b.NodeID, Addr: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))}
		v, ok := versions[b.NodeID]
		switch {
		case ok && v.Err == nil:
			m.Version = v.VersionGuess()
		case ok:
			m.Err = c.failed(v.Err, "broker %d does not answer at %s", b.NodeID, m.Addr)
		default:
			m.Err = c.failed(errors.Join(err, context.DeadlineExceeded), "broker %d does not answer at %s", b.NodeID, m.Addr)
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Member) int { return int(a.ID) - int(b.ID) })
	return out, nil
}

// Clock says between which bounds the controller's clock is ahead of this machine's (less than 0: behind). The leader of the metadata
// quorum tells its own time as that of the last fetch of its own replica (KIP-836). An error of kind failure.Cluster: it is not told.
func (c *Cluster) Clock(ctx context.Context) (least, most time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic, topic.Partitions = "__cluster_metadata", []kmsg.DescribeQuorumRequestTopicPartition{{}}
	req.Topics = append(req.Topics, topic)
	var sent, got time.Time
	var resp *kmsg.DescribeQuorumResponse
	err = persist(ctx, func() (err error) {
		sent = time.Now()
		if resp, err = req.RequestWith(ctx, c.v2); err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		got = time.Now()
		return err
	})
	if err != nil {
		return 0, 0, c.failed(err, "ask the controller for its time")
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			for _, r := range append(p.CurrentVoters, p.Observers...) {
				if r.ReplicaID == p.LeaderID && r.LastFetchTimestamp > 0 {
					now := time.UnixMilli(r.LastFetchTimestamp)
					return now.Sub(got), now.Add(time.Millisecond).Sub(sent), nil
				}
			}
		}
	}
	return 0, 0, failure.New(failure.Cluster, "compare the clocks by hand: only a controller of a cluster with KRaft, of Kafka 3.6 or later, tells it", nil, "the controller does not tell its time")
}

// nobody is a producer id that no producer has: ids are given out from 0 on.
const nobody = math.MaxInt64

// MayCommit tries whether the program may write transactions with the id and their offsets to the group. It asks to add the group to a
// transaction of a producer that does not exist: the broker looks at the rights first, then refuses. Nil: it may.
func (c *Cluster) MayCommit(ctx context.Context, id, group string) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	t := transaction{id: id, producer: nobody, end: endV1}
	err := persist(ctx, func() error { return addGroup(ctx, c.v1.Request, t, group) })
	if err == nil || among(err, fencing()) {
		return nil
	}
	return c.failed(needs(err, readsGroup(group), writesTxns(id)), "write transactions as %s with offsets of group %s", id, group)
}

// GroupRights are the operations that the program may do on a group, in capitals as Kafka has them; nil: the cluster does not tell.
func (c *Cluster) GroupRights(ctx context.Context, group string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	described, err := c.admin.DescribeGroups(ctx, group)
	if err == nil {
		err = described[group].Err
	}
	switch {
	case errors.Is(err, kerr.GroupIDNotFound):
		return nil, nil
	case err != nil:
		return nil, c.failed(needs(err, Right{"DESCRIBE", ofGroup, group}), "describe group %s", group)
	}
	return rights(described[group].AuthorizedOperations), nil
}

func rights(ops []kadm.ACLOperation) []string {
	var out []string
	for _, o := range ops {
		out = append(out, strings.ToUpper(strings.ReplaceAll(o.String(), "_", "")))
	}
	slices.Sort(out)
	return out
}

// Coordinated says whether the cluster has coordinators of a kind yet. To ask for one in a cluster without their topic would make it. A broker
// that shows no internal topics, such as the embedded one, lists what they know without being asked for any. What cannot be seen is taken to be there.
func (c *Cluster) Coordinated(ctx context.Context, internal string) bool {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	details, err := c.admin.ListTopicsWithInternal(ctx, internal)
	if err != nil || !errors.Is(details[internal].Err, kerr.UnknownTopicOrPartition) {
		return true
	}
	if internal == GroupsTopic {
		listed, err := c.admin.ListGroups(ctx)
		return err != nil || len(listed) > 0
	}
	listed, err := c.admin.ListTransactions(ctx, nil, nil)
	return err != nil || len(listed) > 0
}

// MayCreate tries whether the program may make topics, with the broker's defaults: it has requests checked and not carried out. By topic, why it may not.
func (c *Cluster) MayCreate(ctx context.Context, topics []string) (map[string]error, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	const byDefault = -1
	answers, err := c.admin.ValidateCreateTopics(ctx, byDefault, byDefault, nil, topics...)
	if err != nil {
		return nil, c.failed(err, "ask whether topics %v can be made", topics)
	}
	out := map[string]error{}
	for _, a := range answers {
		if a.Err != nil && !errors.Is(a.Err, kerr.TopicAlreadyExists) {
			out[a.Topic] = c.failed(a.Err, "create topic %s", a.Topic)
		}
	}
	return out, nil
}

// OpenTxn is a transactional id as its coordinator knows it.
type OpenTxn struct {
	State    string        // Empty, Ongoing, PrepareCommit, CompleteCommit, …; "" if the id is unknown
	Since    time.Time     // when its transaction began; zero if there is none
	Timeout  time.Duration // after which the broker aborts it
	Producer int64
	Epoch    int16
	// Partitions of the open transaction, as topic/partition, sorted; those that still wait for their marker, while it ends.
	Partitions []string
}

// Transactions describes transactional ids.
func (c *Cluster) Transactions(ctx context.Context, ids []string) (map[string]OpenTxn, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	out := map[string]OpenTxn{}
	err := persist(ctx, func() error {
		described, err := c.admin.DescribeTransactions(ctx, ids...)
		if err != nil {
			return err
		}
		for _, d := range described {
			if d.Err != nil && !errors.Is(d.Err, kerr.TransactionalIDNotFound) {
				return needs(d.Err, writesTxns(d.TxnID))
			}
			t := OpenTxn{State: d.State, Timeout: time.Duration(d.TimeoutMillis) * time.Millisecond, Producer: d.ProducerID, Epoch: d.ProducerEpoch}
			if d.State == "Ongoing" && d.StartTimestamp > 0 {
				t.Since = time.UnixMilli(d.StartTimestamp)
			}
			for _, topic := range d.Topics.Sorted() {
				for _, id := range topic.Partitions {
					t.Partitions = append(t.Partitions, topic.Topic+"/"+strconv.Itoa(int(id)))
				}
			}
			if d.Err != nil {
				t = OpenTxn{}
			}
			out[d.TxnID] = t
		}
		return nil
	})
	if err != nil {
		return nil, c.failed(err, "describe transactional ids %s", strings.Join(ids, ", "))
	}
	return out, nil
}
