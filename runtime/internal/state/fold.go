package state

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

const (
	// foldAfter is the number of checkpoints whose deltas are kept before they are folded: a restore looks at each of them for each group.
	foldAfter = 64
	// foldBytes is how many bytes of deltas are kept, if there are not more bytes of segments.
	foldBytes = 8 << 20
	// foldBatch is about how many bytes one bbolt tx of the background writes: a checkpoint has to wait for it.
	foldBatch = 4 << 20
	// foldGrowth is how many times larger than what is folded a segment must be to be left alone.
	foldGrowth = 2
	// fullEvery is how often a fold takes all segments of a group, of whatever size, and so drops what closed windows left in them. The first
	// one after a start does.
	fullEvery = 16
)

// folder decides when to fold, and runs one fold at a time in the background.
type folder struct {
	due   foldDue
	folds int
	run   *foldRun // the newest one, perhaps over
}

// foldDue counts what has gathered.
type foldDue struct {
	checkpoints int   // since the last fold
	deltas      int64 // bytes of them
	segments    int64 // bytes of all segments, as the last fold left them
}

func (d foldDue) now(opt Options) bool {
	return d.checkpoints >= cmp.Or(opt.foldAfter, foldAfter) || d.deltas > max(foldBytes, d.segments)
}

func (d *foldDue) saved(c *checkpoint.Checkpoint) {
	d.checkpoints++
	for _, delta := range c.Deltas {
		d.deltas += int64(len(delta.Data))
	}
}

// confirmed starts a fold of what is confirmed, if it is time. It returns the error of an earlier one.
func (f *folder) confirmed(b *Bolt, c *checkpoint.Checkpoint) error {
	if f.run != nil {
		select {
		case <-f.run.over:
			if f.run.err != nil {
				return f.run.err
			}
			f.due.segments, f.run = f.run.segments, nil
		default:
			return nil // still at it
		}
	}
	if b.opt.Merge == nil || !f.due.now(b.opt) {
		return nil
	}
	full := f.folds%fullEvery == 0
	f.folds++
	f.due.checkpoints, f.due.deltas = 0, 0
	f.run = &foldRun{
		db: b.db, gate: &b.gate, merge: b.opt.Merge, upTo: c.Number, watermarks: c.Watermarks, full: full,
		quit: make(chan struct{}), over: make(chan struct{}),
	}
	go f.run.do()
	return nil
}

// stop ends the fold at work and waits for it.
func (f *folder) stop() {
	if f.run != nil {
		f.run.stop.Do(func() { close(f.run.quit) })
		<-f.run.over
	}
}

// measure counts what a file holds.
func (f *folder) measure(tx *bbolt.Tx) error {
	last := int64(-1)
	err := each(tx, bucketDeltas, func(k, v []byte) error {
		n, _, err := splitDeltaKey(k)
		if n != last {
			f.due.checkpoints, last = f.due.checkpoints+1, n
		}
		f.due.deltas += int64(len(v))
		return err
	})
	if err != nil {
		return err
	}
	return each(tx, bucketSegments, func(_, v []byte) error {
		f.due.segments += int64(len(v))
		return nil
	})
}

// foldRun folds all deltas up to one checkpoint, which is confirmed. It can be cut short at any place: a group is folded in one tx, and deltas
// are deleted when all groups are.
type foldRun struct {
	db         *bbolt.DB
	gate       *gate
	merge      checkpoint.Merge
	upTo       int64
	watermarks []checkpoint.Watermark
	full       bool

	stop sync.Once
	quit chan struct{}
	over chan struct{}

	err      error // when over is closed
	segments int64
}

func (r *foldRun) do() {
	defer close(r.over)
	r.err = guarded(func() error {
		jobs, err := r.plan()
		if err != nil {
			return err
		}
		for len(jobs) > 0 {
			select {
			case <-r.quit:
				return nil
			default:
			}
			n := batch(jobs)
			if err := r.fold(jobs[:n]); err != nil {
				return err
			}
			jobs = jobs[n:]
		}
		return r.gate.write(r.db, r.forget)
	})
}

// foldJob is the work on one group: the segments and deltas that become one segment.
type foldJob struct {
	id       groupID
	segments []int64 // numbers of those that are taken along, oldest first
	after    int64   // number of the newest segment, -1 for none: the deltas behind it
	size     int64
}

// batch is how many of the jobs go into one tx.
func batch(jobs []foldJob) int {
	size := int64(0)
	for i, j := range jobs {
		if size += j.size; size >= foldBatch {
			return i + 1
		}
	}
	return len(jobs)
}

// plan finds the groups with work, in the order of their keys.
func (r *foldRun) plan() (jobs []foldJob, err error) {
	held, fresh := map[groupID][]segment{}, map[groupID]int64{}
	err = r.db.View(func(tx *bbolt.Tx) error {
		err := each(tx, bucketSegments, func(k, v []byte) error {
			operator, group, n, err := splitSegmentKey(k)
			id := groupID{operator, group}
			held[id] = append(held[id], segment{n, int64(len(v))})
			return err
		})
		if err != nil {
			return err
		}
		return eachDelta(tx, func(id groupID, n int64, s section) error {
			if n <= r.upTo && n > newest(held[id]) {
				fresh[id] += int64(len(s.data))
			}
			return nil
		})
	})
	for id, list := range held {
		if _, ok := fresh[id]; ok || r.full {
			jobs = append(jobs, r.job(id, list, fresh[id]))
		}
	}
	for id, size := range fresh {
		if held[id] == nil {
			jobs = append(jobs, r.job(id, nil, size))
		}
	}
	slices.SortFunc(jobs, func(a, b foldJob) int {
		return cmp.Or(cmp.Compare(a.id.operator, b.id.operator), cmp.Compare(a.id.group, b.id.group))
	})
	return jobs, err
}

// segment is the number and size of a segment.
type segment struct{ number, size int64 }

// newest is the checkpoint up to which segments hold a group, -1 for none.
func newest(list []segment) int64 {
	if len(list) == 0 {
		return -1
	}
	return list[len(list)-1].number
}

// job takes along the segments that are not much larger than what comes behind them.
func (r *foldRun) job(id groupID, list []segment, size int64) foldJob {
	j := foldJob{id: id, after: newest(list), size: size}
	for i := len(list) - 1; i >= 0 && (r.full || list[i].size <= foldGrowth*j.size); i-- {
		j.segments = append(j.segments, list[i].number)
		j.size += list[i].size
	}
	slices.Reverse(j.segments)
	return j
}

// fold merges the groups of some jobs, and writes their segments in one tx.
func (r *foldRun) fold(jobs []foldJob) error {
	merged := make([][]byte, len(jobs))
	if err := r.db.View(func(tx *bbolt.Tx) error {
		parts, err := r.read(tx, jobs)
		if err != nil {
			return err
		}
		for i, j := range jobs {
			if merged[i], err = r.merge(j.id.operator, j.id.group, parts[j.id], watermarkOf(r.watermarks, j.id.operator)); err != nil {
				return found("folding %s, group %d: %w", j.id.operator, j.id.group, err)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return r.gate.write(r.db, func(w *writer) error {
		for i, j := range jobs {
			for _, n := range j.segments {
				if err := w.delete(bucketSegments, segmentKey(j.id.operator, j.id.group, n)); err != nil {
					return err
				}
			}
			if len(merged[i]) == 0 {
				continue // every window of it has closed
			}
			key := segmentKey(j.id.operator, j.id.group, r.upTo)
			if err := w.put(bucketSegments, key, seal(key, merged[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// read checks and collects what the jobs fold, oldest first. It lies in the memory map of tx.
func (r *foldRun) read(tx *bbolt.Tx, jobs []foldJob) (map[groupID][][]byte, error) {
	parts, after := make(map[groupID][][]byte, len(jobs)), make(map[groupID]int64, len(jobs))
	for _, j := range jobs {
		after[j.id] = j.after
		for _, n := range j.segments {
			key := segmentKey(j.id.operator, j.id.group, n)
			data, err := unseal(key, get(tx.Bucket(bucketSegments), key))
			if err != nil {
				return nil, found("segment of %s, group %d, checkpoint %d: %w", j.id.operator, j.id.group, n, err)
			}
			parts[j.id] = append(parts[j.id], data)
		}
	}
	err := eachDelta(tx, func(id groupID, n int64, s section) error {
		if from, ok := after[id]; !ok || n <= from || n > r.upTo {
			return nil
		}
		if !s.ok() {
			return found("delta of %s, group %d, checkpoint %d: %w", id.operator, id.group, n, errDamaged)
		}
		parts[id] = append(parts[id], s.data)
		return nil
	})
	return parts, err
}

func watermarkOf(list []checkpoint.Watermark, operator string) int64 {
	for _, w := range list {
		if w.Operator == operator {
			return w.W
		}
	}
	return math.MinInt64
}

// forget deletes the deltas that are in segments now, and measures what is left.
func (r *foldRun) forget(w *writer) error {
	if err := w.deleteRange(bucketDeltas, nil, numberKey(r.upTo+1)); err != nil {
		return err
	}
	return each(w.tx, bucketSegments, func(_, v []byte) error {
		r.segments += int64(len(v))
		return nil
	})
}
