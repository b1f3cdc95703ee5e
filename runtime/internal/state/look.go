package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// View is what a state file holds, as far as its headers and keys say it.
type View struct {
	Path    string
	Bytes   int64     // of the file
	Live    int64     // of them, in pages that are in use
	Written time.Time // when the file was last written: not later than a moment after the newest checkpoint, unless it was copied

	Pipeline string
	Format   int // version of the file's layout
	Groups   int // key groups
	Forms    []checkpoint.Form

	// As Store.Load has them. Newest nil: no checkpoint was ever stored.
	Newest, Before *checkpoint.Checkpoint
	Confirmed      bool

	Operators []OperatorView // sorted by id
}

// OperatorView is what is stored of an operator's windows: folded state in segments, and behind it what changed since.
type OperatorView struct {
	ID           string
	Groups       int // key groups that have segments
	Segments     int
	SegmentBytes int64
	Deltas       int // checkpoints whose deltas are not folded yet
	DeltaBytes   int64
}

// Bytes is all that is stored of the operator.
func (o OperatorView) Bytes() int64 { return o.SegmentBytes + o.DeltaBytes }

// Limits of trying to read a file that changes.
const (
	lookTries = 1000
	lookLimit = 10 * time.Second
)

// Look reads what the state directory holds without changing anything, without a lock, and so also while a program runs with it; nil: there
// is no state file. It fails with failure.State if the file is damaged, with failure.Disk if it cannot be read, with failure.Usage if dir is no directory.
//
// bbolt never overwrites a page that the newest tx uses; the tx that is under way writes to free pages. So a walk that is over
// before the next tx is, has seen one moment. One that is not may have seen pages of several; the ledger, which names the tx
// and is the sum of all entries, says so, and the walk is done again. Which tx is the newest may be misread too, while its page is
// being written: so a file is damaged, or empty, only if two walks in a row have found the same tx so, and it is still the newest.
func Look(dir string) (*View, error) {
	if _, err := standing(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileName)
	var refused *failure.Error
	if _, err := regular(path); errors.As(err, &refused) {
		return nil, err
	}
	began := time.Now()
	suspect, suspected := uint64(0), false
	for tries := 1; ; tries++ {
		view, tx, err := look(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err == nil && view.Newest != nil:
			return view, nil // the ledger vouches for it
		case isLater(err):
			return nil, laterError(path, err)
		case err != nil && !isDamage(err):
			return nil, diskError(err, "cannot read state file %s", path)
		}
		if now, e := newestTx(path); suspected && tx == suspect && (e != nil || now == tx) {
			if err == nil {
				return view, nil
			}
			return nil, damagedError(path, err)
		}
		suspect, suspected = tx, true
		if tries == lookTries || time.Since(began) > lookLimit {
			return nil, failure.New(failure.Fenced, "try again, or stop the program that runs with it", nil, "state file %s changes faster than it can be read", path)
		}
	}
}

// Fits says why a program cannot go on from what the directory holds, nil if it can.
func (v *View) Fits(dir string, opt Options) error {
	return fingerprint{Format: v.Format, Pipeline: v.Pipeline, Groups: v.Groups, Forms: v.Forms}.check(opt.fingerprint(), dir)
}

func newestTx(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	v := newVerifier(f, info.Size())
	err = v.readMeta()
	return v.tx, err
}

// look is one try. The number is that of the bbolt tx that it has read.
func look(path string) (*View, uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	w := &viewer{
		view: &View{Path: path, Bytes: info.Size(), Written: info.ModTime()},
		meta: map[string][]byte{}, operators: map[string]*OperatorView{}, held: map[groupID]bool{}, unfolded: map[string]map[int64]bool{},
	}
	v := newVerifier(f, info.Size())
	v.visit = w.visit
	if err = v.walk(); err == nil {
		err = w.finish(v.tx)
	}
	w.view.Live = v.live()
	return w.view, v.tx, err
}

// viewer gathers a View from the entries of a file.
type viewer struct {
	view      *View
	meta      map[string][]byte
	operators map[string]*OperatorView
	held      map[groupID]bool
	unfolded  map[string]map[int64]bool // by operator: checkpoints with deltas
	last      int64                     // greatest of them all
	sum       uint64                    // for the ledger
}

// visit takes a value. Of deltas and segments only the size and the checksum are read.
func (w *viewer) visit(path [][]byte, key []byte, v value) error {
	if len(path) == 0 {
		return found("the key %x is in no bucket", key)
	}
	bucket, n := path[0], v.size
	if len(path) > 1 { // in a bucket of its own
		key, n = path[1], 4
	}
	data, err := v.first(n)
	if err != nil {
		return err
	}
	w.sum += entryHash(bucket, key, data)
	switch {
	case string(bucket) == string(bucketMeta):
		w.meta[string(key)] = data
	case string(bucket) == string(bucketCheckpoints):
		return w.checkpoint(key, data)
	case string(bucket) == string(bucketDeltas):
		n, operator, err := splitDeltaKey(key)
		if err != nil {
			return found("deltas %x: %w", key, err)
		}
		o := w.operator(operator)
		if w.unfolded[operator][n] = true; n > w.last {
			w.last = n
		}
		o.DeltaBytes += v.size
	case string(bucket) == string(bucketSegments):
		operator, group, _, err := splitSegmentKey(key)
		if err != nil {
			return found("segment %x: %w", key, err)
		}
		o := w.operator(operator)
		w.held[groupID{operator, group}] = true
		o.Segments, o.SegmentBytes = o.Segments+1, o.SegmentBytes+v.size
	}
	return nil
}

func (w *viewer) checkpoint(key, data []byte) error {
	c := new(checkpoint.Checkpoint)
	if err := unsealJSON(key, data, c); err != nil {
		return found("checkpoint %x: %w", key, err)
	}
	w.view.Before, w.view.Newest = w.view.Newest, c
	return nil
}

func (w *viewer) operator(id string) *OperatorView {
	o := w.operators[id]
	if o == nil {
		o = &OperatorView{ID: id}
		w.operators[id], w.unfolded[id] = o, map[int64]bool{}
	}
	return o
}

// finish checks what was seen as OpenBolt does.
func (w *viewer) finish(tx uint64) error {
	if len(w.meta) == 0 && w.view.Newest == nil {
		return nil // new: no checkpoint was ever stored
	}
	l, err := parseLedger(w.meta[string(keyLedger)])
	switch {
	case err != nil:
		return err
	case l.tx != tx:
		return found("its newest tx is %d, but its entries are of tx %d", tx, l.tx)
	case l.sum != w.sum:
		return found("its entries are not those that were written: a page is missing or old")
	}
	var print fingerprint
	if err := unsealJSON(keyFingerprint, w.meta[string(keyFingerprint)], &print); err != nil {
		return found("fingerprint: %w", err)
	}
	v := w.view
	v.Pipeline, v.Format, v.Groups, v.Forms = print.Pipeline, print.Format, print.Groups, print.Forms
	confirmed, err := confirmedNumber(w.meta[string(keyConfirmed)])
	if err != nil {
		return err
	}
	if err := checkHeaders(v.Newest, v.Before, confirmed); err != nil {
		return err
	}
	if w.last > v.Newest.Number {
		return found("it has deltas of checkpoint %d, but its newest checkpoint is %d", w.last, v.Newest.Number)
	}
	v.Confirmed = v.Newest.Number == confirmed
	for id := range w.held {
		w.operators[id.operator].Groups++
	}
	for id, o := range w.operators {
		o.Deltas = len(w.unfolded[id])
		v.Operators = append(v.Operators, *o)
	}
	slices.SortFunc(v.Operators, func(a, b OperatorView) int { return strings.Compare(a.ID, b.ID) })
	return nil
}
