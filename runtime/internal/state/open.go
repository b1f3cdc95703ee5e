package state

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

const (
	fileName = "state.db"
	lockName = "lock"
	// mapSize is the size of the first memory map, address space only. While the file is smaller, growing it does not
	// map it anew, which would have to wait for readers.
	mapSize = 1 << 30
	// boltLockWait bounds the wait for bbolt's own lock, which only a foreign tool can hold: the directory is locked already.
	boltLockWait = time.Second
)

// OpenBolt opens the state directory, and makes it if it is not there. It fails with failure.Usage if it is no directory, or not
// the pipeline's own, with failure.Fenced if another process uses it, with failure.State if its file is damaged or of another program, with failure.Disk
// if it cannot be read or written.
func OpenBolt(dir string, opt Options) (*Bolt, error) {
	if _, err := standing(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, diskError(err, "cannot make state directory %s", dir)
	}
	if err := checkOwn(dir); err != nil {
		return nil, err
	}
	l, err := lock(dir)
	if err != nil {
		return nil, err
	}
	b := &Bolt{dir: dir, path: filepath.Join(dir, fileName), opt: opt, lock: l, confirmed: -1}
	err = b.open()
	if opt.Fresh && (isDamage(err) || isLater(err)) {
		if err = b.setAside(); err == nil {
			err = b.open()
		}
	}
	if err != nil {
		if b.db != nil {
			_ = guarded(b.db.Close) // it is not usable anyway
		}
		if l != nil {
			l.Close()
		}
		switch {
		case isLater(err):
			return nil, laterError(b.path, err)
		case isDamage(err):
			return nil, damagedError(b.path, err)
		}
		return nil, err
	}
	return b, nil
}

// open checks the file, opens it and reads its headers. What it finds wrong with the contents is damage.
func (b *Bolt) open() error {
	var size, live int64
	err := checkFile(b.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = b.replace(func(*bbolt.DB) error { return nil })
	case err == nil:
		if err = settle(b.path); err == nil {
			size, live, err = verifyFile(b.path)
		}
	}
	if err == nil {
		err = b.openFile()
	}
	if err == nil {
		err = guarded(func() error { return b.db.View(b.readHeaders) })
	}
	if err == nil && size > cmp.Or(b.opt.compactAbove, compactAbove) && size > compactShare*live {
		err = b.compact()
	}
	return b.classify(err)
}

func (b *Bolt) openFile() error {
	return guarded(func() (err error) {
		if b.db, err = bbolt.Open(b.path, 0o600, boltOptions()); err == nil {
			b.db.AllocSize = cmp.Or(b.opt.allocSize, b.db.AllocSize)
		}
		return err
	})
}

// boltOptions are bbolt's. The list of free pages is not written with every tx: after bases are rewritten it can be long, and verifyFile walks
// the tree at each start anyway. The map form of the list finds adjacent pages for large values in constant time.
func boltOptions() *bbolt.Options {
	return &bbolt.Options{
		Timeout: boltLockWait, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		InitialMmapSize: mapSize, NoStatistics: true,
	}
}

// replace makes a file under another name, and gives it its name when it is whole: state.db is never half made, and an empty one is damage.
func (b *Bolt) replace(fill func(*bbolt.DB) error) error {
	temp := b.path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(temp, 0o600, boltOptions())
	if err != nil {
		return err
	}
	if err := errors.Join(guarded(func() error { return fill(db) }), db.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, b.path); err != nil {
		return err
	}
	if err := syncDirs(b.dir); err != nil {
		return renamed{err}
	}
	return nil
}

// settle makes durable what the last process has left. It may have been killed between a write and its sync, or between a new file and the sync of its name: the
// system shows both to the next process, and the next loss of power takes them away. What a start commits or builds on has to stay.
func settle(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), syncDirs(filepath.Dir(path)))
}

// renamed is an error of replace after the new file has taken its name: the old one is gone, and who has it open must not go on with it.
type renamed struct{ error }

func (r renamed) Unwrap() error { return r.error }

// syncDirs makes the names in dir and dir's own name durable. A directory above that may not be read is somebody else's, and so is the name in it.
func syncDirs(dir string) error {
	if err := syncDir(dir); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(dir)); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// setAside renames a damaged file so that it can be looked at.
func (b *Bolt) setAside() error {
	if b.db != nil {
		_ = guarded(b.db.Close)
		b.db = nil
	}
	b.newest, b.before, b.confirmed, b.print = nil, nil, -1, fingerprint{}
	name := b.path + time.Now().UTC().Format(".damaged-20060102T150405.000000Z")
	if err := os.Rename(b.path, name); err != nil {
		return diskError(err, "cannot rename the damaged state file %s", b.path)
	}
	return nil
}

// classify makes err one of this package: damage and failures stay what they are, anything else is the disk's.
func (b *Bolt) classify(err error) error {
	var known *failure.Error
	switch {
	case err == nil || isDamage(err) || isLater(err) || errors.As(err, &known):
		return err
	case errors.Is(err, berrors.ErrTimeout):
		return failure.New(failure.Fenced, "close the program that has it open", nil, "state file %s is in use", b.path)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return &damage{err}
	}
	return diskError(err, "cannot open state file %s", b.path)
}

// readHeaders reads what the file says about itself and its checkpoints.
func (b *Bolt) readHeaders(tx *bbolt.Tx) error {
	if name, _ := tx.Cursor().First(); name == nil {
		return nil // new: no checkpoint was ever stored
	}
	for _, name := range buckets() {
		if tx.Bucket(name) == nil {
			return found("bucket %s is missing", name)
		}
	}
	if err := checkLedger(tx); err != nil {
		return err
	}
	if err := b.readFingerprint(tx); err != nil {
		return err
	}
	if err := b.readCheckpoints(tx); err != nil {
		return err
	}
	if err := b.checkNumbers(tx); err != nil {
		return err
	}
	return b.fold.measure(tx)
}

func (b *Bolt) readFingerprint(tx *bbolt.Tx) error {
	b.print = fingerprint{}
	if err := unsealJSON(keyFingerprint, tx.Bucket(bucketMeta).Get(keyFingerprint), &b.print); err != nil {
		return found("fingerprint: %w", err)
	}
	if b.opt.Fresh {
		return nil
	}
	return b.print.check(b.opt.fingerprint(), b.dir)
}

func (b *Bolt) readCheckpoints(tx *bbolt.Tx) error {
	var err error
	if b.confirmed, err = confirmedNumber(tx.Bucket(bucketMeta).Get(keyConfirmed)); err != nil {
		return err
	}
	return each(tx, bucketCheckpoints, func(k, v []byte) error {
		c := new(checkpoint.Checkpoint)
		if err := unsealJSON(k, v, c); err != nil {
			return found("checkpoint %x: %w", k, err)
		}
		b.before, b.newest = b.newest, c
		return nil
	})
}

// confirmedNumber reads the value of keyConfirmed; -1 if there is none.
func confirmedNumber(value []byte) (int64, error) {
	if value == nil {
		return -1, nil
	}
	data, err := unseal(keyConfirmed, value)
	if err != nil || len(data) != 8 {
		return -1, found("confirmed: %w", errDamaged)
	}
	return int64(binary.BigEndian.Uint64(data)), nil
}

// checkHeaders holds the headers against each other.
func checkHeaders(newest, before *checkpoint.Checkpoint, confirmed int64) error {
	switch {
	case newest == nil:
		return found("it holds no checkpoint")
	case before == nil && newest.Number != confirmed && (newest.Number != 0 || confirmed != -1),
		before != nil && (before.Number != confirmed || newest.Number != confirmed+1):
		return found("checkpoint %d is the newest, %d is confirmed", newest.Number, confirmed)
	}
	return nil
}

// checkNumbers holds the headers against each other and against the deltas.
func (b *Bolt) checkNumbers(tx *bbolt.Tx) error {
	if err := checkHeaders(b.newest, b.before, b.confirmed); err != nil {
		return err
	}
	return each(tx, bucketDeltas, func(k, _ []byte) error {
		if n, _, err := splitDeltaKey(k); err != nil || n > b.newest.Number {
			return found("deltas %x do not belong to a checkpoint up to %d", k, b.newest.Number)
		}
		return nil
	})
}
