package engine

import (
	"math"
	"slices"
	"sync"
	"time"
)

const (
	minTime = math.MinInt64
	maxTime = math.MaxInt64
)

// tracker knows where the watermark of every partition stands, and from that W of every
// operator: the least of the active partitions of its sources.
//
// Lateness is decided by source tasks, windows are closed by keyed tasks, and no window may
// close for which a row is still on its way. That holds because of three rules:
//
//   - A source task tells the tracker of a partition's watermark only after it has sent the rows
//     that the watermark covers.
//   - A keyed task takes as its W the least of what all source tasks have sent it in band, and each
//     sends nothing but the tracker's W.
//   - A partition that wakes gets W of that moment as its floor, under the tracker's lock. Its rows are
//     judged by max(watermark, floor), and it holds W there. What any source task has sent
//     before is not greater.
type tracker struct {
	mu    sync.Mutex
	ops   []opTrack
	parts []partTrack // by slot
	subs  []chan struct{}
}

type opTrack struct {
	sources []bool // by source: does it feed the operator
	w       int64
	first   int64 // the first watermark that any of its partitions had, maxTime before
}

type partTrack struct {
	source    int
	watermark int64
	floor     []int64 // by operator
	next      int64   // offset of the record to read next
	active    bool
	woken     bool // has a floor that its task does not know of yet
	busy      bool // records are being processed: it cannot become idle
	finished  bool // at its bound: holds nothing back, but is not idle either
}

// newTracker starts with W of each operator as a checkpoint holds it, or minTime.
func newTracker(spec *Spec, w []int64) *tracker {
	t := &tracker{}
	for i, op := range spec.Operators {
		o := opTrack{sources: make([]bool, len(spec.Sources)), w: w[i], first: maxTime}
		for _, s := range op.Sources {
			o.sources[s] = true
		}
		t.ops = append(t.ops, o)
	}
	return t
}

// subscribe returns a channel that gets a signal when W of any operator has moved, or a partition is finished. It has
// one already: who subscribes does not know what happened before.
func (t *tracker) subscribe() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(chan struct{}, 1)
	c <- struct{}{}
	t.subs = append(t.subs, c)
	return c
}

// add makes a partition known and returns its slot. Its floor is W: for one that was active when
// the checkpoint was taken nothing changes, since W was not ahead of it; one that had
// woken behind W had just this floor.
func (t *tracker) add(source int, next, watermark int64, active bool) (slot int, floor []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := partTrack{source: source, next: next, watermark: watermark, active: active, floor: t.levels()}
	t.parts = append(t.parts, p)
	t.see(&p)
	return len(t.parts) - 1, p.floor
}

// begin says that records of a partition are about to be processed. If it was idle it holds W again, and floor is what it
// got when it woke; else floor is nil.
func (t *tracker) begin(slot int) (floor []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.parts[slot]
	t.rouse(p)
	p.busy = true
	if p.woken {
		p.woken = false
		return p.floor
	}
	return nil
}

// wake makes an idle partition hold W before its records are processed: they are there, but others may be read first.
func (t *tracker) wake(slot int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rouse(&t.parts[slot])
}

func (t *tracker) rouse(p *partTrack) {
	if !p.active {
		p.active, p.woken, p.floor = true, true, t.levels()
	}
}

// advance says that the records up to offset next have been processed and the rows they made are sent. It returns
// whether W of any operator moved.
func (t *tracker) advance(slot int, next, watermark int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.parts[slot]
	p.next, p.watermark, p.busy = next, watermark, false
	t.see(p)
	return t.recompute()
}

func (t *tracker) see(p *partTrack) {
	for i := range t.ops {
		if o := &t.ops[i]; o.sources[p.source] && p.watermark != minTime {
			o.first = min(o.first, p.watermark)
		}
	}
}

// idle says that the broker had nothing new for a partition beyond offset next. It stops holding W
// back, unless it has read on meanwhile: that is the answer.
func (t *tracker) idle(slot int, next int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.parts[slot]
	if p.busy || p.next != next {
		return false
	}
	p.active = false
	t.recompute()
	return true
}

// finish says that a partition is at its bound.
func (t *tracker) finish(slot int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts[slot].finished = true
	if !t.recompute() {
		t.signal() // it may have been the last one
	}
}

// end moves W of every operator to the end of time.
func (t *tracker) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.ops {
		t.ops[i].w = maxTime
	}
	t.signal()
}

// pass lets d of time pass: W of an operator all of whose partitions are idle moves on by it from
// where it stood, so that the last windows of a quiet topic close too.
func (t *tracker) pass(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	moved := false
	for i := range t.ops {
		if o := &t.ops[i]; o.w != minTime && o.w < maxTime-d.Microseconds() && t.allIdle(i) {
			o.w += d.Microseconds()
			moved = true
		}
	}
	if moved {
		t.signal()
	}
}

// allIdle: no partition of the operator is active, and none is finished.
func (t *tracker) allIdle(op int) bool {
	for i := range t.parts {
		if p := &t.parts[i]; t.ops[op].sources[p.source] && (p.active || p.finished) {
			return false
		}
	}
	return true
}

// level is where an active partition holds W of an operator.
func (p *partTrack) level(op int) int64 { return max(p.watermark, p.floor[op]) }

// least is the least watermark that holds W of an operator, maxTime if none does.
func (t *tracker) least(op int) int64 {
	w := int64(maxTime)
	for i := range t.parts {
		if p := &t.parts[i]; t.ops[op].sources[p.source] && p.active && !p.finished {
			w = min(w, p.level(op))
		}
	}
	return w
}

// seen is the least watermark of an operator's partitions that have had records, minTime if none has.
func (t *tracker) seen(op int) int64 {
	w := int64(maxTime)
	for i := range t.parts {
		if p := &t.parts[i]; t.ops[op].sources[p.source] && p.watermark != minTime {
			w = min(w, p.watermark)
		}
	}
	if w == maxTime {
		return minTime
	}
	return w
}

// recompute raises W of every operator. With no partition left to hold it, W stays: time or the end
// moves it. But a partition that never had a record and is the last to be idle has only held it back: what the others
// have seen is where W stands then, as if it had been idle before them.
func (t *tracker) recompute() bool {
	moved := false
	for i := range t.ops {
		w := t.least(i)
		if w == maxTime && t.ops[i].w == minTime && t.allIdle(i) {
			w = t.seen(i)
		}
		if w != maxTime && w > t.ops[i].w {
			t.ops[i].w = w
			moved = true
		}
	}
	if moved {
		t.signal()
	}
	return moved
}

func (t *tracker) signal() {
	for _, c := range t.subs {
		select {
		case c <- struct{}{}:
		default: // it has a signal to look at already
		}
	}
}

func (t *tracker) levels() []int64 {
	w := make([]int64, len(t.ops))
	for i := range t.ops {
		w[i] = t.ops[i].w
	}
	return w
}

// now copies W of each operator to dst.
func (t *tracker) now(dst []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.ops {
		dst[i] = t.ops[i].w
	}
}

// view is W of each operator, and all partitions by slot, as they are at one moment.
func (t *tracker) view() ([]int64, []partTrack) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.levels(), slices.Clone(t.parts)
}

// state is how far a partition is and whether it holds W.
func (t *tracker) state(slot int) (next int64, active, finished bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.parts[slot]
	return p.next, p.active, p.finished
}

// allFinished reports whether every partition is at its bound.
func (t *tracker) allFinished() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.parts {
		if !t.parts[i].finished {
			return false
		}
	}
	return true
}

// Limits on how far a partition may run ahead of W before it is paused: that many windows, but at
// least a minute. Else a backlog that is read unevenly would hold all its windows in memory.
const (
	aheadWindows = 10
	aheadLeast   = int64(time.Minute / time.Microsecond)
)

// ahead reports whether the partition's watermark is so far ahead of an operator's W that reading on
// would only fill memory. A partition that holds W never is.
func (t *tracker) ahead(slot int, spec *Spec) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.parts[slot]
	if p.watermark == minTime || p.finished {
		return false
	}
	for i := range t.ops {
		o := &t.ops[i]
		if !o.sources[p.source] {
			continue
		}
		// Before W has a value, the first watermark stands for it.
		base := max(o.w, min(o.first, p.watermark))
		if limit := max(aheadWindows*spec.Operators[i].Size, aheadLeast); base < maxTime-limit && p.watermark > base+limit {
			return true
		}
	}
	return false
}
