package runtime

import (
	"encoding/binary"
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// snapshots is what taking a snapshot needs, kept for the next one: a barrier comes every second, and
// fresh memory would cost it as much as its work.
type snapshots[S any] struct {
	slots   []uint32 // dirty ones of all windows
	dealt   []dealtPane[S]
	encoded []byte // what the last snapshot handed over
}

// dealtPane is the dirty slots of a window, dealt by key group: those of group g are slots[from[g]:from[g+1]].
type dealtPane[S any] struct {
	pane  *Pane[S]
	slots []uint32
	from  [checkpoint.Groups + 1]uint32
}

func (w *Tumbling[S, V]) snapshot(to []checkpoint.Delta) []checkpoint.Delta {
	w.deal()
	w.encoded = w.encoded[:0]
	var ends [checkpoint.Groups]int
	for g := range checkpoint.Groups {
		begin := len(w.encoded)
		for i := range w.dealt {
			d := &w.dealt[i]
			slots := d.slots[d.from[g]:d.from[g+1]]
			if len(slots) == 0 {
				continue
			}
			if len(w.encoded) == begin {
				w.encoded = append(w.encoded, deltaFormat)
			}
			w.encode(d.pane, slots)
		}
		ends[g] = len(w.encoded)
	}
	clear(w.dealt) // it shall not keep windows that close
	start := 0
	for g, end := range ends {
		if end > start {
			to = append(to, checkpoint.Delta{Operator: w.spec.Name, Group: g, Data: w.encoded[start:end:end]})
		}
		start = end
	}
	return to
}

// encode appends slots of a window in the form of a delta.
func (w *Tumbling[S, V]) encode(p *Pane[S], slots []uint32) {
	b := appendDeltaWindow(w.encoded, p.Start, len(slots))
	for _, i := range slots {
		s := &p.slots[i]
		b = binary.AppendUvarint(b, uint64(s.n-1))
		b = appendKey(b, s.a, s.b, int(s.n-1), p.long)
		b = append(b, 0)
		state := len(b)
		b = w.spec.Append(b, &s.state)
		if n := len(b) - state; n < 0x80 {
			b[state-1] = byte(n) // a uvarint of one byte
		} else {
			b = appendSized(b[:state-1], slices.Clone(b[state:]))
		}
	}
	w.encoded = b
}

// deal deals the dirty slots of all windows by key group, and begins new lists of them.
func (w *windows[S]) deal() {
	n := 0
	for _, p := range w.panes {
		n += len(p.dirty)
	}
	s := &w.snapshots
	s.slots = slices.Grow(s.slots[:0], n)
	s.dealt = s.dealt[:0]
	for _, p := range w.panes {
		if n := len(p.dirty); n > 0 {
			all := len(s.slots)
			s.slots = s.slots[:all+n]
			s.dealt = append(s.dealt, p.deal(s.slots[all:]))
		}
	}
	w.epoch++
}

// deal is a counting sort of the dirty slots by key group.
func (p *Pane[S]) deal(slots []uint32) dealtPane[S] {
	d := dealtPane[S]{pane: p, slots: slots}
	for _, at := range p.dirty {
		d.from[at.group()+1]++
	}
	for g := range checkpoint.Groups {
		d.from[g+1] += d.from[g]
	}
	next := d.from
	for _, at := range p.dirty {
		g := at.group()
		slots[next[g]] = at.slot()
		next[g]++
	}
	p.dirty = p.dirty[:0]
	return d
}
