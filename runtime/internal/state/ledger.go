package state

import (
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// The ledger is the sum of the hashes of all entries, and the number of the bbolt tx that wrote it last. A disk that loses a page which it said
// was synced leaves an older page in its place, whose checksums are right. Then the sum is wrong.

// ledger is 16 bytes: tx and sum.
type ledger struct{ tx, sum uint64 }

func (l ledger) seal() []byte {
	return seal(keyLedger, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, l.tx), l.sum))
}

func readLedger(tx *bbolt.Tx) (ledger, error) {
	return parseLedger(tx.Bucket(bucketMeta).Get(keyLedger))
}

func parseLedger(value []byte) (l ledger, err error) {
	data, err := unseal(keyLedger, value)
	if err != nil || len(data) != 16 {
		return l, found("ledger: %w", errDamaged)
	}
	return ledger{binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])}, nil
}

// checkLedger compares the file with what was written.
func checkLedger(tx *bbolt.Tx) error {
	l, err := readLedger(tx)
	if err != nil {
		return err
	}
	if l.tx != uint64(tx.ID()) {
		return found("its newest tx is %d, but its entries are of tx %d", tx.ID(), l.tx)
	}
	sum := uint64(0)
	for _, name := range buckets() {
		_ = each(tx, name, func(k, v []byte) error { sum += entryHash(name, k, v); return nil })
	}
	if sum != l.sum {
		return found("its entries are not those that were written: a page is missing or old")
	}
	return nil
}

// entryHash is FNV-1a of bucket, key and the checksum with which every value begins. The ledger itself counts as nothing.
func entryHash(bucket, key, value []byte) uint64 {
	if string(key) == string(keyLedger) {
		return 0
	}
	h := uint64(0xcbf29ce484222325)
	for _, part := range [...][]byte{bucket, {0}, key, value[:min(4, len(value))]} {
		for _, c := range part {
			h = (h ^ uint64(c)) * 0x100000001b3
		}
	}
	return h
}

// writer is a bbolt tx that keeps the ledger.
type writer struct {
	tx  *bbolt.Tx
	sum uint64
}

// write runs a bbolt tx and closes the ledger.
func write(db *bbolt.DB, fn func(*writer) error) error {
	return db.Update(func(tx *bbolt.Tx) error {
		w := &writer{tx: tx}
		if tx.Bucket(bucketMeta) != nil {
			l, err := readLedger(tx)
			if err != nil {
				return err
			}
			w.sum = l.sum
		}
		if err := fn(w); err != nil {
			return err
		}
		return tx.Bucket(bucketMeta).Put(keyLedger, ledger{uint64(tx.ID()), w.sum}.seal())
	})
}

func (w *writer) put(bucket, key, value []byte) error {
	if err := w.delete(bucket, key); err != nil {
		return err
	}
	w.sum += entryHash(bucket, key, value)
	b := w.tx.Bucket(bucket)
	if !alone(bucket) {
		return b.Put(key, value)
	}
	own, err := b.CreateBucket(key)
	if err != nil {
		return err
	}
	return own.Put(keyValue, value)
}

// delete deletes an entry, if it is there.
func (w *writer) delete(bucket, key []byte) error {
	b := w.tx.Bucket(bucket)
	value := get(b, key)
	if value == nil {
		return nil
	}
	w.sum -= entryHash(bucket, key, value)
	if alone(bucket) {
		return b.DeleteBucket(key)
	}
	return b.Delete(key)
}

// deleteRange deletes the keys from first up to end, which is not one of them.
func (w *writer) deleteRange(bucket, first, end []byte) error {
	c := w.tx.Bucket(bucket).Cursor()
	for k, _ := c.Seek(first); k != nil && string(k) < string(end); k, _ = c.Seek(first) {
		if err := w.delete(bucket, k); err != nil {
			return err
		}
	}
	return nil
}

// wipe empties the file.
func (w *writer) wipe() error {
	w.sum = 0
	for _, name := range buckets() {
		if err := w.tx.DeleteBucket(name); err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
			return err
		}
		if _, err := w.tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return nil
}
