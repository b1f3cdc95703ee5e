package state

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
)

// Options is what a store has to know of the program.
type Options struct {
	Pipeline string
	Forms    []checkpoint.Form
	// Merge folds deltas. Without it they are kept as they are, and the file grows with every checkpoint.
	Merge checkpoint.Merge
	// Fresh takes a directory whatever is in it: the program begins with checkpoint 0. The ids in the old state can still be
	// loaded, to be fenced. A damaged file is kept under another name.
	Fresh bool

	foldAfter int // for tests; 0 is foldAfter
	allocSize int // for tests: how far the file grows at a time; 0 is bbolt's choice

	compactAbove int64 // for tests; 0 is compactAbove
}

// Bolt is a store in a bbolt file. Its methods may be called from any goroutine; Save, Confirm, Drop and Adopt wait for each other.
type Bolt struct {
	dir, path string
	opt       Options
	lock      *os.File
	db        *bbolt.DB
	gate      gate

	mu             sync.Mutex // of what follows, and of every change but folding
	newest, before *checkpoint.Checkpoint
	confirmed      int64       // -1: none
	print          fingerprint // that is in the file
	broken         error       // a write has failed: what is on disk is known again only after a new start
	fold           folder
	scratch        []byte // memory of blobs, until their tx is over
}

// keepScratch is how much of that memory is kept for the next checkpoint.
const keepScratch = 16 << 20

// Load returns the newest checkpoint, and the one before if the newest is not confirmed.
func (b *Bolt) Load() (newest, before *checkpoint.Checkpoint, confirmed bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.newest == nil {
		return nil, nil, false, nil
	}
	return copied(b.newest), copied(b.before), b.confirmed == b.newest.Number, nil
}

// Save makes c durable in one bbolt tx with one fsync of its pages and one of the page that makes them valid.
func (b *Bolt) Save(c *checkpoint.Checkpoint) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := inOrder(c, b.newest, b.confirmed); err != nil {
		return err
	}
	if c.Number == 0 {
		b.fold.stop()
	}
	err := b.update(fmt.Sprintf("cannot store checkpoint %d", c.Number), func(w *writer) error {
		if c.Number == 0 {
			if err := b.begin(w); err != nil {
				return err
			}
		} else if err := b.raise(w); err != nil {
			return err
		}
		if err := putCheckpoint(w, c); err != nil {
			return err
		}
		if err := b.putDeltas(w, c); err != nil {
			return err
		}
		failpoint.Hit(failpoint.InsideStore)
		return nil
	})
	if err != nil {
		return err
	}
	if c.Number == 0 {
		b.newest, b.confirmed, b.fold, b.print = nil, -1, folder{}, b.opt.fingerprint()
	}
	b.print.Format = formatVersion
	b.before, b.newest = b.newest, header(c)
	b.fold.due.saved(c)
	return nil
}

// begin empties the file and writes the program's fingerprint.
func (b *Bolt) begin(w *writer) error {
	if err := w.wipe(); err != nil {
		return err
	}
	return putFingerprint(w, b.opt.fingerprint())
}

func putCheckpoint(w *writer, c *checkpoint.Checkpoint) error {
	key := numberKey(c.Number)
	value, err := sealJSON(key, c)
	if err != nil {
		return err
	}
	return w.put(bucketCheckpoints, key, value)
}

func (b *Bolt) putDeltas(w *writer, c *checkpoint.Checkpoint) error {
	if b.scratch = b.scratch[:0]; cap(b.scratch) > keepScratch {
		b.scratch = nil
	}
	part, last := 0, ""
	for _, run := range byOperator(c.Deltas) {
		if part++; run[0].Operator != last {
			part, last = 0, run[0].Operator
		}
		key := deltaKey(c.Number, last, part)
		start := len(b.scratch)
		b.scratch = appendBlob(b.scratch, key, run)
		if err := w.put(bucketDeltas, key, b.scratch[start:]); err != nil {
			return err
		}
	}
	return nil
}

// Confirm records that the transaction of checkpoint n is committed, and lets n-1 go.
func (b *Bolt) Confirm(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := confirmable(n, b.newest); err != nil {
		return err
	}
	if b.confirmed == n {
		return nil
	}
	err := b.update(fmt.Sprintf("cannot confirm checkpoint %d", n), func(w *writer) error {
		if err := w.put(bucketMeta, keyConfirmed, seal(keyConfirmed, numberKey(n))); err != nil {
			return err
		}
		if b.before == nil {
			return nil
		}
		return w.delete(bucketCheckpoints, numberKey(b.before.Number))
	})
	if err != nil {
		return err
	}
	b.before, b.confirmed = nil, n
	if err := b.fold.confirmed(b, b.newest); err != nil {
		b.broken = b.failed("cannot fold deltas", err)
	}
	return nil
}

// Drop goes back from checkpoint n, which is not confirmed, to the one before.
func (b *Bolt) Drop(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := droppable(n, b.newest, b.before); err != nil {
		return err
	}
	err := b.update(fmt.Sprintf("cannot drop checkpoint %d", n), func(w *writer) error {
		if err := w.delete(bucketCheckpoints, numberKey(n)); err != nil {
			return err
		}
		return w.deleteRange(bucketDeltas, numberKey(n), numberKey(n+1))
	})
	if err != nil {
		return err
	}
	b.newest, b.before = b.before, nil
	return nil
}

// Adopt makes ids the transactional ids of the newest checkpoint.
func (b *Bolt) Adopt(ids []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := adoptable(b.newest); err != nil {
		return err
	}
	c := copied(b.newest)
	c.IDs = ids
	err := b.update("cannot store the transactional ids", func(w *writer) error {
		if err := b.raise(w); err != nil {
			return err
		}
		return putCheckpoint(w, c)
	})
	if err != nil {
		return err
	}
	b.newest, b.print.Format = c, formatVersion
	return nil
}

// update runs a bbolt tx. One that fails may or may not be on disk: both are states of the protocol, but this process cannot
// tell which, so it writes nothing more.
func (b *Bolt) update(what string, fn func(*writer) error) error {
	if b.broken != nil {
		return b.broken
	}
	err := b.gate.write(b.db, fn)
	if err == nil {
		return nil
	}
	b.broken = b.failed(what, err)
	return b.broken
}

func (b *Bolt) failed(what string, err error) error {
	if isDamage(err) {
		return damagedError(b.path, err)
	}
	return diskError(err, "%s in %s", what, b.path)
}

// Size is how many bytes the file has. It shrinks at a start only, if little of it is in use.
func (b *Bolt) Size() (int64, error) {
	info, err := os.Stat(b.path)
	if err != nil {
		return 0, diskError(err, "cannot look at state file %s", b.path)
	}
	return info.Size(), nil
}

// Close ends the background work and gives the directory free.
func (b *Bolt) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fold.stop()
	err := guarded(b.db.Close)
	if b.gate.shut() {
		err = errors.Join(err, forget(b.path))
	}
	if b.lock != nil {
		err = errors.Join(err, b.lock.Close())
	}
	return err
}
