package state

import (
	"errors"

	"go.etcd.io/bbolt"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// bbolt uses free pages again, but never gives them back. So a file that was large once is copied at a start.
const (
	compactAbove = 64 << 20 // smaller files stay as they are
	compactShare = 4        // how many times larger than what is in use a file must be
	compactBatch = 16 << 20 // bytes in one tx of the copy
)

// compact copies what is in use into a new file. It is no reason to refuse a start if the disk has no room for the copy.
func (b *Bolt) compact() error {
	err := b.replace(func(to *bbolt.DB) error {
		to.AllocSize = b.db.AllocSize
		if err := bbolt.Compact(to, b.db, compactBatch); err != nil {
			return err
		}
		return write(to, func(*writer) error { return nil }) // the ledger names a tx of this file
	})
	var late renamed
	if failure.KindOf(b.classify(err)) == failure.Disk && !isDamage(err) && !errors.As(err, &late) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.db.Close(); err != nil {
		return err
	}
	if err := b.openFile(); err != nil {
		return err
	}
	return guarded(func() error { return b.db.View(checkLedger) })
}
