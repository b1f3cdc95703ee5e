package runtime

import (
	"cmp"
	"iter"
	"slices"
)

// windows is the half of a windowed operator behind the exchange: its open windows. State is kept window
// by window, so closing one is a walk over a table and a drop.
type windows[S any] struct {
	panes   []*Pane[S] // oldest first
	current *Pane[S]   // where the last row went, or &none
	none    *Pane[S]   // a window that takes no row
	free    []*Pane[S] // closed ones, for their memory
	closed  Time       // W: what it has passed is closed
	epoch   uint32     // counts checkpoints; 0 is what a checkpoint before has
	room    *room

	snapshots[S]
}

// maxFree is how many closed windows keep their memory for the next ones.
const maxFree = 2

// maxWaste is how many slots a window may have for each key and still keep its memory: after a peak it shrinks.
const maxWaste = 16

func newWindows[S any](allocate func(bytes int64, take func()) error) windows[S] {
	none := &Pane[S]{Start: MaxTime, End: MinTime}
	return windows[S]{current: none, none: none, closed: MinTime, epoch: 1, room: &room{allocate: allocate}}
}

// open finds or opens a window. It returns nil if the window is closed.
func (w *windows[S]) open(at span) *Pane[S] {
	if at.closeAt <= w.closed {
		return nil
	}
	i, found := slices.BinarySearchFunc(w.panes, at.start, func(p *Pane[S], start Time) int { return cmp.Compare(p.Start, start) })
	if found {
		w.current = w.panes[i]
		return w.current
	}
	p := w.newPane()
	p.Start, p.End, p.closeAt = at.start, at.end, at.closeAt
	w.panes = slices.Insert(w.panes, i, p)
	w.current = p
	return p
}

// newPane takes the memory of a closed window: the next one has about as many keys.
func (w *windows[S]) newPane() *Pane[S] {
	n := len(w.free)
	if n == 0 {
		return &Pane[S]{slots: make([]slot[S], minSlots), room: w.room}
	}
	p := w.free[n-1]
	w.free = w.free[:n-1]
	clear(p.slots)
	*p = Pane[S]{slots: p.slots, long: p.long[:0], dirty: p.dirty[:0], room: w.room}
	return p
}

func (w *windows[S]) held(yield func(start Time, keys int, bytes int64)) {
	for _, p := range w.panes {
		yield(p.Start, p.used, p.bytes())
	}
}

// closeUpTo moves W on and yields the windows that it passes, oldest first.
func (w *windows[S]) closeUpTo(at Time) iter.Seq[*Pane[S]] {
	return func(yield func(*Pane[S]) bool) {
		w.closed = max(w.closed, at)
		for len(w.panes) > 0 && w.panes[0].closeAt <= w.closed {
			p := w.panes[0]
			if !yield(p) {
				return
			}
			w.panes = slices.Delete(w.panes, 0, 1)
			w.current = w.none
			if len(w.free) < maxFree && p.used*maxWaste >= len(p.slots) {
				w.free = append(w.free, p)
			}
		}
	}
}
