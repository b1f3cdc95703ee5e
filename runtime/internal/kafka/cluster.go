// Package kafka connects the engine to Apache Kafka: it implements engine.Cluster on franz-go, which
// no other package of the runtime imports.
//
// What it relies on is Kafka's protocol (https://kafka.apache.org/protocol), transactions as KIP-98
// introduced them (here V1) and as KIP-890 changed them (V2: the broker moves a producer's epoch at the end of each
// transaction), and KIP-447, offsets that are stable.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/secure"
)

// Limits of waiting for the cluster.
const (
	openLimit = 10 * time.Second // the first contact
	callLimit = 20 * time.Second // a question that changes nothing
)

// Config says which cluster, and who asks.
type Config struct {
	Brokers    []string // host:port
	Unnamed    string   // how they are named, if nobody has: they are a default then
	Connection secure.Config
	ClientID   string // in the broker's log and quotas
	Logger     *slog.Logger
	Written    []string // topics that the pipeline writes, for messages about rights: it reads the others
}

// Cluster is a Kafka cluster. Its methods may be called from several goroutines.
type Cluster struct {
	cfg  Config
	log  *slog.Logger
	id   string
	txns int16 // version of EndTxn for new transactions: endV1 or endV2
	dial dialWatch

	sent dieAfterSend

	v1, v2 *kgo.Client // for requests that belong to no producer or reader
	admin  *kadm.Client
}

var _ engine.Cluster = (*Cluster)(nil)

// Versions of EndTxn. A transaction ends with the version that belongs to how it ran: the other one is
// carried out as well, but then a repetition with the right one is answered with an error.
const (
	endV1 = 4
	endV2 = 5
)

// Open makes contact with a cluster. An error is of kind failure.Transient if no broker can be reached.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	if len(cfg.Brokers) == 0 {
		return nil, failure.New(failure.Usage, "set EO_BROKERS to host:port, several with commas between", nil, "no Kafka broker is named")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cluster{cfg: cfg, log: cfg.Logger}
	c.dial.log = cfg.Logger
	var err error
	if c.v2, err = kgo.NewClient(c.options(endV2)...); err == nil {
		c.v1, err = kgo.NewClient(c.options(endV1)...)
	}
	if err != nil {
		c.Close()
		return nil, failure.New(failure.Usage, "check the brokers, and what is set for TLS and SASL", err, "the connection to Kafka at %s cannot be set up", c.brokers())
	}
	c.admin = kadm.NewClient(c.v2)
	if err := c.meet(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// meet learns the cluster's id and how its transactions run.
func (c *Cluster) meet(ctx context.Context) error {
	if err := c.knock(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	about, err := c.admin.BrokerMetadata(ctx)
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return c.failed(err, "Kafka at %s does not believe who the program is", c.brokers())
	case err != nil:
		return c.failed(err, "cannot reach Kafka at %s", c.brokers())
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "eoc", "1"
	versions, err := req.RequestWith(ctx, c.v2)
	if err == nil {
		err = kerr.ErrorForCode(versions.ErrorCode)
	}
	if err != nil {
		return c.failed(err, "ask Kafka at %s for its versions", c.brokers())
	}
	if s := c.cfg.Connection; s.SASL != nil && s.SASL.Mechanism.Bare() && s.TLS == nil {
		c.log.Warn("the secret goes to Kafka in clear text: use TLS", "mechanism", string(s.SASL.Mechanism))
	}
	c.id, c.txns = about.Cluster, endV1
	for _, f := range versions.FinalizedFeatures {
		if f.Name == "transaction.version" && f.MaxVersionLevel >= 2 {
			c.txns = endV2
		}
	}
	c.log.Debug("connected to Kafka", "brokers", c.cfg.Brokers, "cluster", c.id, "protection", c.cfg.Connection.String(), "transactions", fmt.Sprintf("V%d", c.txns-endV1+1))
	return nil
}

// ID is the cluster's id.
func (c *Cluster) ID(context.Context) (string, error) { return c.id, nil }

// Address is the first broker that the program was given.
func (c *Cluster) Address() string { return c.cfg.Brokers[0] }

// Close closes all connections but those of readers and sinks.
func (c *Cluster) Close() {
	for _, client := range []*kgo.Client{c.v1, c.v2} {
		if client != nil {
			client.Close()
		}
	}
}

func (c *Cluster) brokers() string { return strings.Join(c.cfg.Brokers, ", ") }

// client speaks to the coordinator of a transaction that ends with the given version.
func (c *Cluster) client(end int16) *kgo.Client {
	if end == endV1 {
		return c.v1
	}
	return c.v2
}
