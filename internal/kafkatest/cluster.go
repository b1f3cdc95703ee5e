package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// nodes is how many nodes a cluster has: one can be missing, and min.insync.replicas still be kept.
const nodes = 3

// Cluster is a cluster of three nodes, each broker and controller, which can be stopped, killed and started again one by one.
// Every partition is on all nodes, and takes records while two of them have it.
type Cluster struct {
	All   *Broker   // what the helpers ask, whichever nodes run; it cannot be stopped or killed
	Nodes []*Broker // the node with id N is at N-1
}

// clusterSettings are those in which a node of a cluster differs from a broker alone. A node counts as gone after 4 s: soon, so that
// tests take less time, and late enough for a busy machine.
func clusterSettings() map[string]string {
	return map[string]string{
		"default.replication.factor":                       fmt.Sprint(nodes),
		"min.insync.replicas":                              "2",
		"offsets.topic.replication.factor":                 fmt.Sprint(nodes),
		"transaction.state.log.replication.factor":         fmt.Sprint(nodes),
		"transaction.state.log.min.isr":                    "2",
		"share.coordinator.state.topic.replication.factor": fmt.Sprint(nodes),
		"share.coordinator.state.topic.min.isr":            "2",
		"broker.heartbeat.interval.ms":                     "500",
		"broker.session.timeout.ms":                        "4000",
	}
}

// StartCluster starts a cluster that ends with the test.
func StartCluster(t testing.TB, o Options) *Cluster {
	t.Helper()
	c, err := launchCluster(o)
	switch {
	case errors.Is(err, errMissing):
		without(t, err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(c.discard)
	return c
}

// launchCluster starts the nodes of a cluster, all at a time. Of the options, Secure is for brokers alone.
func launchCluster(o Options) (*Cluster, error) {
	if o.Secure {
		return nil, errors.New("a cluster has no further listeners")
	}
	if o.TransactionVersion == 0 {
		o.TransactionVersion = latestTransactions
	}
	if o.Heap == "" {
		o.Heap = "256m"
	}
	k, err := installed()
	if err != nil {
		return nil, err
	}
	for range startTries {
		c := &Cluster{}
		for id := 1; id <= nodes; id++ {
			c.Nodes = append(c.Nodes, &Broker{Options: o, kafka: k, place: place{id: id, settings: clusterSettings()}})
		}
		if err = c.launch(); err == nil {
			return c, nil
		}
		c.discard()
	}
	return nil, err
}

func (c *Cluster) launch() error {
	id := newClusterID()
	var voters, addresses []string
	for _, n := range c.Nodes {
		if err := n.reserve(); err != nil {
			return err
		}
		voters, addresses = append(voters, n.place.voter()), append(addresses, n.Addr)
	}
	if err := c.each(func(n *Broker) error {
		n.place.cluster, n.place.voters = id, strings.Join(voters, ",")
		if err := n.create(); err != nil {
			return err
		}
		return n.start()
	}); err != nil {
		return err
	}
	c.All = &Broker{Addr: strings.Join(addresses, ","), Options: c.Nodes[0].Options}
	return c.All.connect()
}

// each does something with all nodes at a time, and returns what failed.
func (c *Cluster) each(do func(*Broker) error) error {
	errs := make([]error, len(c.Nodes))
	var all sync.WaitGroup
	for i, n := range c.Nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// discard kills the nodes that run, and removes their data.
func (c *Cluster) discard() {
	if c.All != nil {
		c.All.discard()
	}
	for _, n := range c.Nodes {
		n.discard()
	}
}

// Running reports whether a broker's process is there.
func (b *Broker) Running() bool { return !b.process.ended() }

// Leader is the node that leads a partition.
func (c *Cluster) Leader(t testing.TB, topic string, partition int32) *Broker {
	t.Helper()
	return c.find(t, fmt.Sprintf("the leader of %s/%d", topic, partition), func() (int32, error) {
		topics, err := kadm.NewClient(c.All.client).ListTopics(call(t), topic)
		if err == nil {
			err = topics.Error()
		}
		return topics[topic].Partitions[partition].Leader, err
	})
}

// TxnCoordinator is the node that coordinates the transactions of a transactional id.
func (c *Cluster) TxnCoordinator(t testing.TB, id string) *Broker {
	t.Helper()
	return c.find(t, "the coordinator of transactional id "+id, func() (int32, error) {
		found := kadm.NewClient(c.All.client).FindTxnCoordinators(call(t), id)[id]
		return found.NodeID, found.Err
	})
}

// GroupCoordinator is the node that keeps the offsets of a group.
func (c *Cluster) GroupCoordinator(t testing.TB, group string) *Broker {
	t.Helper()
	return c.find(t, "the coordinator of group "+group, func() (int32, error) {
		found := kadm.NewClient(c.All.client).FindGroupCoordinators(call(t), group)[group]
		return found.NodeID, found.Err
	})
}

// SetTransactionVersion sets the feature transaction.version, and waits until every node goes by it.
func (c *Cluster) SetTransactionVersion(t testing.TB, version int) {
	t.Helper()
	const (
		feature            = "transaction.version"
		upgrade, downgrade = 1, 2 // of UpgradeType; the second is a downgrade that loses nothing
		pause              = 50 * time.Millisecond
	)
	way := int8(upgrade)
	if version < latestTransactions {
		way = downgrade
	}
	request, update := kmsg.NewPtrUpdateFeaturesRequest(), kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	update.Feature, update.MaxVersionLevel, update.UpgradeType = feature, int16(version), way
	request.FeatureUpdates = append(request.FeatureUpdates, update)
	answer, err := request.RequestWith(call(t), c.All.client)
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
		for _, result := range answer.Results {
			err = errors.Join(err, kerr.ErrorForCode(result.ErrorCode))
		}
	}
	if err != nil {
		t.Fatalf("set %s to %d: %v", feature, version, err)
	}
	for _, n := range c.Nodes {
		for ctx := call(t); ; time.Sleep(pause) {
			versions, err := n.apiVersions(ctx)
			if err == nil && slices.ContainsFunc(versions.FinalizedFeatures, func(f kmsg.ApiVersionsResponseFinalizedFeature) bool {
				return f.Name == feature && f.MaxVersionLevel == int16(version)
			}) {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("broker %d does not go by %s %d: %v", n.Pid(), feature, version, err)
			}
		}
	}
}

// apiVersions asks the node what it offers.
func (b *Broker) apiVersions(ctx context.Context) (*kmsg.ApiVersionsResponse, error) {
	client, err := b.dial()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName, request.ClientSoftwareVersion = "eoc", "1"
	answer, err := client.SeedBrokers()[0].Request(ctx, request)
	if err != nil {
		return nil, err
	}
	versions := answer.(*kmsg.ApiVersionsResponse)
	return versions, kerr.ErrorForCode(versions.ErrorCode)
}

// find asks until the answer is a node. While a node fails over there is none for a moment.
func (c *Cluster) find(t testing.TB, what string, ask func() (int32, error)) *Broker {
	t.Helper()
	const pause = 50 * time.Millisecond
	for deadline := time.Now().Add(callLimit); ; time.Sleep(pause) {
		id, err := ask()
		if err == nil && id >= 1 && int(id) <= len(c.Nodes) {
			return c.Nodes[id-1]
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not known after %v: node %d, %v", what, callLimit, id, err)
		}
	}
}

// AwaitWhole waits until every partition of every topic is on all nodes again, as far as it goes: until then another
// node must not be killed.
func (c *Cluster) AwaitWhole(t testing.TB) {
	t.Helper()
	const pause = 50 * time.Millisecond
	for deadline := time.Now().Add(startLimit); ; time.Sleep(pause) {
		lacks := c.lacks(t)
		if lacks == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cluster is not whole after %v: %s", startLimit, lacks)
		}
	}
}

// Heal starts the nodes again that do not run, and waits until the cluster is whole.
func (c *Cluster) Heal(t testing.TB) {
	t.Helper()
	if err := c.each(func(n *Broker) error {
		if n.Running() {
			return nil
		}
		return n.start()
	}); err != nil {
		t.Fatal(err)
	}
	c.AwaitWhole(t)
}

// lacks names a partition that is not on all nodes, "" if there is none.
func (c *Cluster) lacks(t testing.TB) string {
	topics, err := kadm.NewClient(c.All.client).ListTopicsWithInternal(call(t))
	if err == nil {
		err = topics.Error()
	}
	if err != nil {
		return err.Error()
	}
	for name, topic := range topics {
		for id, p := range topic.Partitions {
			if p.Err != nil || p.Leader < 0 || len(p.ISR) < nodes {
				return fmt.Sprintf("%s/%d: led by %d, in sync are %v: %v", name, id, p.Leader, p.ISR, p.Err)
			}
		}
	}
	return ""
}
