package kafka

import (
	"context"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// markerLimit is how long a look waits for a transaction that is writing the marker: a running program does at each checkpoint, in a moment.
const markerLimit = 3 * time.Second

// Bystander is a cluster in which the transactions with some ids, which a start would end before it looks at the marker, are still open.
type Bystander struct {
	*Cluster
	ids []string
}

// Beside is the cluster for who looks and ends nothing. The ids are those that a start would fence.
func (c *Cluster) Beside(ids []string) Bystander { return Bystander{c, ids} }

// Marker is what a start would find: if one of the ids has a transaction open, that writes no marker.
func (b Bystander) Marker(ctx context.Context, group string) (*checkpoint.Marker, error) {
	m, _, err := b.Look(ctx, group)
	return m, err
}

// Look reads the marker. pending says that a transaction with one of the ids is writing another one.
func (b Bystander) Look(ctx context.Context, group string) (m *checkpoint.Marker, pending bool, err error) {
	m, err = b.marker(ctx, group, markerLimit, b.ids)
	if err == nil || failure.KindOf(err) != failure.Transient || len(b.ids) == 0 {
		return m, false, err
	}
	open, e := b.Transactions(ctx, b.ids)
	if e != nil {
		return nil, false, err
	}
	for _, t := range open {
		pending = pending || t.State == "Ongoing"
	}
	if !pending {
		return nil, false, err
	}
	m, err = b.LastMarker(ctx, group)
	return m, true, err
}

// Groupless is a cluster in which no group was ever used: to ask for one would make the topic that keeps them.
type Groupless struct{ *Cluster }

// Groupless is the cluster as such a one.
func (c *Cluster) Groupless() Groupless { return Groupless{c} }

// Marker is none.
func (Groupless) Marker(context.Context, string) (*checkpoint.Marker, error) { return nil, nil }
