package state

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// Restore yields the state of the newest checkpoint. Groups are dealt out to as many goroutines as there are processors; within a group of an
// operator the order is from old to new. What yield gets is checked, and valid until Restore returns.
func (b *Bolt) Restore(ctx context.Context, yield func(checkpoint.Delta) error) error {
	// A fold that is left from before an in-process restart ends first: a bbolt tx that writes may wait for all that read, and those that
	// are about to begin wait for it, while the ones that have begun wait for them below.
	b.mu.Lock()
	b.fold.stop()
	b.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := runtime.GOMAXPROCS(0)
	var wg, read sync.WaitGroup
	read.Add(workers)
	for i := range workers {
		wg.Go(func() {
			var once sync.Once
			done := func() { once.Do(read.Done) }
			defer done()
			err := guarded(func() error {
				return b.db.View(func(tx *bbolt.Tx) error {
					defer func() { done(); read.Wait() }() // the memory map stays until all are done
					return restore(ctx, tx, func(group int) bool { return group%workers == i }, yield)
				})
			})
			if err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	err := context.Cause(ctx)
	if isDamage(err) {
		return damagedError(b.path, err)
	}
	return err
}

// restore yields segments and deltas of the groups that are wanted.
func restore(ctx context.Context, tx *bbolt.Tx, want func(group int) bool, yield func(checkpoint.Delta) error) error {
	if tx.Bucket(bucketSegments) == nil {
		return nil // new: there is nothing
	}
	folded := map[groupID]int64{} // up to which checkpoint segments hold the group
	err := each(tx, bucketSegments, func(k, v []byte) error {
		operator, group, n, err := splitSegmentKey(k)
		if err != nil {
			return found("segment %x: %w", k, err)
		}
		if !want(group) {
			return nil
		}
		data, err := unseal(k, v)
		if err != nil {
			return found("segment of %s, group %d, checkpoint %d: %w", operator, group, n, err)
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		folded[groupID{operator, group}] = n
		return yield(checkpoint.Delta{Operator: operator, Group: group, Data: slices.Clip(data)})
	})
	if err != nil {
		return err
	}
	return eachDelta(tx, func(id groupID, n int64, s section) error {
		if upTo, ok := folded[id]; !want(id.group) || ok && n <= upTo {
			return nil
		}
		if !s.ok() {
			return found("delta of %s, group %d, checkpoint %d: %w", id.operator, id.group, n, errDamaged)
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return yield(checkpoint.Delta{Operator: id.operator, Group: id.group, Data: s.data})
	})
}

// groupID is a key group of an operator.
type groupID struct {
	operator string
	group    int
}

// eachDelta visits the deltas by number, operator and group. They are not checked yet.
func eachDelta(tx *bbolt.Tx, visit func(id groupID, n int64, s section) error) error {
	return each(tx, bucketDeltas, func(k, v []byte) error {
		n, operator, err := splitDeltaKey(k)
		if err != nil {
			return found("deltas %x: %w", k, err)
		}
		list, err := sections(k, v)
		if err != nil {
			return found("deltas of %s, checkpoint %d: %w", operator, n, err)
		}
		for _, s := range list {
			if err := visit(groupID{operator, s.group}, n, s); err != nil {
				return err
			}
		}
		return nil
	})
}
