package state

import (
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// The rules of the protocol that a store holds by itself, whoever calls it: what breaks one is a bug of ours, and nothing is written.

// inOrder: a checkpoint follows the newest one, which is confirmed (I5). Checkpoint 0 may always come. And it names all that a start needs to finish its transaction.
func inOrder(c, newest *checkpoint.Checkpoint, confirmed int64) error {
	id := c.Committable.TransactionalID
	switch {
	case c.Number == 0:
		return nil
	case c.Exactly != (id != "") || id != "" && !slices.Contains(c.IDs, id) || c.Exactly && c.Group == "":
		return failure.New(failure.Internal, "", nil, "checkpoint %d does not fit its transaction: exactly-once %v, id %q of %q, group %q", c.Number, c.Exactly, id, c.IDs, c.Group)
	case newest == nil || c.Number != newest.Number+1 || c.Incarnation != newest.Incarnation:
		return failure.New(failure.Internal, "", nil, "checkpoint %d does not follow the newest one", c.Number)
	case confirmed != newest.Number:
		return failure.New(failure.Internal, "", nil, "checkpoint %d may not be stored before %d is confirmed", c.Number, newest.Number)
	}
	return nil
}

// confirmable: the newest checkpoint only. Confirming it again changes nothing.
func confirmable(n int64, newest *checkpoint.Checkpoint) error {
	if newest == nil || newest.Number != n {
		return failure.New(failure.Internal, "", nil, "checkpoint %d is not the newest one, so it cannot be confirmed", n)
	}
	return nil
}

// droppable: the newest checkpoint, while the one before is kept, which is while it is not confirmed.
func droppable(n int64, newest, before *checkpoint.Checkpoint) error {
	if newest == nil || newest.Number != n || before == nil {
		return failure.New(failure.Internal, "", nil, "there is no unconfirmed checkpoint %d with one before it to go back to", n)
	}
	return nil
}

func adoptable(newest *checkpoint.Checkpoint) error {
	if newest == nil {
		return failure.New(failure.Internal, "", nil, "there is no checkpoint to put transactional ids into")
	}
	return nil
}

// header is c without its deltas, which the store keeps apart.
func header(c *checkpoint.Checkpoint) *checkpoint.Checkpoint {
	h := *c
	h.Deltas = nil
	return &h
}

func copied(c *checkpoint.Checkpoint) *checkpoint.Checkpoint {
	if c == nil {
		return nil
	}
	return header(c)
}
