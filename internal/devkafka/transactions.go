package devkafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SetTransactionVersion lowers the cluster's feature transaction.version, with whose latest a broker begins.
func (c *Client) SetTransactionVersion(ctx context.Context, version int16) error {
	const downgrade = 2 // of UpgradeType: one that loses nothing
	request := kmsg.NewPtrUpdateFeaturesRequest()
	feature := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	feature.Feature, feature.MaxVersionLevel, feature.UpgradeType = "transaction.version", version, downgrade
	request.FeatureUpdates = append(request.FeatureUpdates, feature)
	answer, err := request.RequestWith(ctx, c.kafka)
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
		for _, result := range answer.Results {
			err = errors.Join(err, kerr.ErrorForCode(result.ErrorCode))
		}
	}
	if err != nil {
		return fmt.Errorf("set transaction.version to %d: %w", version, err)
	}
	return nil
}

// OpenTransactions are the transactional ids with a transaction under way, each with its producer.
func (c *Client) OpenTransactions(ctx context.Context) (ids []string, err error) {
	const ongoing = "Ongoing"
	listed, err := kadm.NewClient(c.kafka).ListTransactions(ctx, nil, []string{ongoing})
	if err != nil {
		return nil, fmt.Errorf("list transactions: %w", err)
	}
	for _, t := range listed.Sorted() {
		if t.State == ongoing {
			ids = append(ids, t.TxnID)
		}
	}
	return ids, nil
}

// AbortTransactions has the broker abort every transaction that is under way, as it does by itself when a transaction's timeout
// has passed. It returns how many there were.
func (c *Client) AbortTransactions(ctx context.Context) (n int, err error) {
	ids, err := c.OpenTransactions(ctx)
	for _, id := range ids {
		if err := c.fence(ctx, id); err != nil {
			return n, fmt.Errorf("abort the transaction of %s: %w", id, err)
		}
		n++
	}
	return n, err
}

// fence takes a transactional id, which aborts its open transaction.
func (c *Client) fence(ctx context.Context, id string) error {
	owner, err := kgo.NewClient(kgo.SeedBrokers(c.addr), kgo.TransactionalID(id))
	if err != nil {
		return err
	}
	defer owner.Close()
	_, _, err = owner.ProducerID(ctx)
	return err
}

// Hidden describes each partition of the topics that holds records which readers of committed records cannot see, since a
// transaction is open in it.
func (c *Client) Hidden(ctx context.Context, topics ...string) ([]string, error) {
	admin := kadm.NewClient(c.kafka)
	ends, err := admin.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the ends of %v: %w", topics, err)
	}
	stable, err := admin.ListCommittedOffsets(ctx, topics...)
	if err == nil {
		err = stable.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the last stable offsets of %v: %w", topics, err)
	}
	var hidden []string
	stable.Each(func(s kadm.ListedOffset) {
		if end, ok := ends.Lookup(s.Topic, s.Partition); ok && s.Offset < end.Offset {
			hidden = append(hidden, fmt.Sprintf("%s, partition %d, from offset %d to %d", s.Topic, s.Partition, s.Offset, end.Offset))
		}
	})
	slices.Sort(hidden)
	return hidden, nil
}
