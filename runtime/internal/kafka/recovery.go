package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Limits of what start-up and commit wait for. A coordinator that fails over takes about 15 s.
const (
	fenceLimit = time.Minute
	endLimit   = engine.CommitTimeout
)

// transaction is a transaction as its coordinator knows it.
type transaction struct {
	id       string // transactional id
	producer int64
	epoch    int16
	end      int16 // version of EndTxn
}

// Fence makes every producer that holds the id unable to go on, and aborts its open transaction. It returns
// when that abort is complete, or a commit that was under way.
func (c *Cluster) Fence(ctx context.Context, id string, timeout time.Duration) error {
	_, err := c.take(ctx, id, timeout)
	return err
}

// take initialises a producer under the id, which fences all others.
func (c *Cluster) take(ctx context.Context, id string, timeout time.Duration) (transaction, error) {
	const none = -1
	t, err := c.initialise(ctx, transaction{id, none, none, c.txns}, timeout)
	switch {
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		return t, tooLong(timeout, "the cluster refuses it")
	case err != nil:
		return t, c.failed(needs(err, writesTxns(id)), "fence transactional id %s", id)
	}
	return t, nil
}

// initialise moves the epoch of a transactional id, if the id is still that of the given producer and epoch (KIP-360),
// or of whomever if they are -1. The error is that of the broker. While the coordinator completes
// a transaction of the id it answers CONCURRENT_TRANSACTIONS.
func (c *Cluster) initialise(ctx context.Context, t transaction, timeout time.Duration) (transaction, error) {
	ctx, cancel := context.WithTimeout(ctx, fenceLimit)
	defer cancel()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = &t.id, t.producer, t.epoch
	req.TransactionTimeoutMillis = int32(timeout.Milliseconds())
	err := persist(ctx, func() error {
		resp, err := req.RequestWith(ctx, c.client(t.end))
		if err != nil {
			return err
		}
		if resp.ErrorCode == 0 {
			t.producer, t.epoch = resp.ProducerID, resp.ProducerEpoch
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	return t, err
}

// EndTxn commits the transaction that the committable names, as often as asked. One without a transactional id
// belongs to a pipeline without exactly_once sinks: there is nothing to commit.
func (c *Cluster) EndTxn(ctx context.Context, committable checkpoint.Committable) (engine.Outcome, error) {
	if committable.ClusterID != "" && committable.ClusterID != c.id {
		return engine.Undecided, failure.New(failure.Cluster, "set EO_BROKERS to the cluster that the state belongs to", nil,
			"checkpoint %d has a transaction in cluster %s, this is cluster %s", committable.Checkpoint, committable.ClusterID, c.id)
	}
	if committable.TransactionalID == "" {
		return engine.CommittedNow, nil
	}
	t := of(committable)
	_, err := c.end(ctx, c.client(t.end), t, true)
	switch {
	case err == nil:
		return engine.CommittedNow, nil
	case among(err, fencing()):
		c.log.Debug("EndTxn leaves the outcome open", "transactional_id", t.id, "producer", t.producer, "epoch", t.epoch, "err", err)
		return engine.Undecided, nil
	default:
		return engine.Undecided, c.failed(needs(err, writesTxns(t.id)), "commit the transaction of checkpoint %d (transactional id %s)", committable.Checkpoint, t.id)
	}
}

// of is the transaction that a committable names.
func of(c checkpoint.Committable) transaction {
	return transaction{c.TransactionalID, c.ProducerID, c.Epoch, c.EndTxnVersion}
}

// end commits or aborts a transaction. The error is that of the broker. It returns who may write the
// next one: with V2 the broker has moved the epoch, and the producer id when its epochs were used up.
// UNKNOWN_SERVER_ERROR says nothing of the outcome, so it is asked again: a repetition is answered as the first request was.
func (c *Cluster) end(ctx context.Context, client *kgo.Client, t transaction, commit bool) (transaction, error) {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = t.id, t.producer, t.epoch, commit
	err := persist(ctx, func() error {
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		if resp.Version >= endV2 && resp.ErrorCode == 0 {
			t.producer, t.epoch = resp.ProducerID, resp.ProducerEpoch
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	}, kerr.UnknownServerError)
	return t, err
}

// Describe says what the coordinator knows of a transactional id.
func (c *Cluster) Describe(ctx context.Context, id string) (engine.TxnState, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var state engine.TxnState
	err := persist(ctx, func() error {
		described, err := c.admin.DescribeTransactions(ctx, id)
		if err != nil {
			return err
		}
		d, ok := described[id]
		if !ok || errors.Is(d.Err, kerr.TransactionalIDNotFound) {
			state = engine.TxnState{}
			return nil
		}
		state = engine.TxnState{State: d.State, ProducerID: d.ProducerID, Epoch: d.ProducerEpoch}
		return d.Err
	})
	if err != nil {
		return engine.TxnState{}, c.failed(needs(err, writesTxns(id)), "describe transactional id %s", id)
	}
	return state, nil
}
