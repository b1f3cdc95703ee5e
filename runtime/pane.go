package runtime

import (
	"iter"
	"unsafe"
)

// Pane is the state of one window: an open-addressing table without pointers.
type Pane[S any] struct {
	Start, End Time

	closeAt Time // when W gets here
	slots   []slot[S]
	used    int
	long    []byte  // long keys
	dirty   []dirty // slots that changed since the last checkpoint
	room    *room
}

// dirty is the number of a slot, and above it the key group: it is known when the slot changes, and a barrier need not
// look for it.
type dirty uint64

func newDirty(slot, hash uint64) dirty { return dirty(uint64(groupOf(hash))<<32 | slot) }
func (d dirty) group() int             { return int(d >> 32) }
func (d dirty) slot() uint32           { return uint32(d) }

type slot[S any] struct {
	a, b  uint64 // the key, see key
	n     uint32 // its length + 1; 0: free
	epoch uint32 // the checkpoint interval in which it changed last
	state S
}

const minSlots = 64

func (p *Pane[S]) mask() uint64 { return uint64(len(p.slots) - 1) }

// Len is the number of keys.
func (p *Pane[S]) Len() int { return p.used }

// bytes is how much memory it takes.
func (p *Pane[S]) bytes() int64 {
	return int64(len(p.slots))*int64(unsafe.Sizeof(slot[S]{})) + int64(cap(p.long)) + int64(cap(p.dirty))*int64(unsafe.Sizeof(dirty(0)))
}

// All yields every key with its state. The key is valid until the next one.
func (p *Pane[S]) All() iter.Seq2[[]byte, *S] {
	return func(yield func([]byte, *S) bool) {
		var buf [inlineKey]byte
		text := buf[:0]
		for i := range p.slots {
			s := &p.slots[i]
			if s.n == 0 {
				continue
			}
			text = appendKey(text[:0], s.a, s.b, int(s.n-1), p.long)
			if !yield(text, &s.state) {
				return
			}
		}
	}
}

// state finds or makes the state of k, which is about to change. It is the short
// way: a short key that is there already.
func (p *Pane[S]) state(k *key, long []byte, epoch uint32) *S {
	i := k.hash & p.mask()
	s := &p.slots[i]
	for s.n != k.n || s.a != k.a || s.b != k.b || k.isLong() {
		if s.n == 0 || k.isLong() {
			return p.slowState(k, long, epoch)
		}
		i = (i + 1) & p.mask()
		s = &p.slots[i]
	}
	if s.epoch != epoch {
		s.epoch = epoch
		p.dirty = append(p.dirty, newDirty(i, k.hash))
	}
	return &s.state
}

// slowState is state for a long key and for a new one.
func (p *Pane[S]) slowState(k *key, long []byte, epoch uint32) *S {
	i := p.find(k, long)
	s := &p.slots[i]
	if s.epoch != epoch {
		s.epoch = epoch
		p.dirty = append(p.dirty, newDirty(i, k.hash))
	}
	return &s.state
}

// find finds or makes the slot of k, whose text is in long if it is long.
func (p *Pane[S]) find(k *key, long []byte) uint64 {
	if p.used >= len(p.slots)/4*3 {
		p.grow()
	}
	i := k.hash & p.mask()
	s := &p.slots[i]
	for s.n != 0 && !p.holds(s, k, long) {
		i = (i + 1) & p.mask()
		s = &p.slots[i]
	}
	if s.n == 0 {
		p.used++
		s.a, s.b, s.n = k.a, k.b, k.n
		if k.isLong() {
			s.b = uint64(len(p.long))
			p.long = append(p.long, k.in(long)...)
		}
	}
	return i
}

// holds reports whether s is the slot of k, whose text is in long if it is long.
func (p *Pane[S]) holds(s *slot[S], k *key, long []byte) bool {
	if s.n != k.n || s.a != k.a {
		return false
	}
	if k.isLong() {
		return string(p.long[s.b:s.b+uint64(s.n-1)]) == string(k.in(long))
	}
	return s.b == k.b
}

// touch reads the slot of a hash and the one behind it, since a slot may lie across two cache lines. The result
// means nothing, but the compiler must not drop the reads.
func (p *Pane[S]) touch(hash uint64) uint64 {
	mask := p.mask()
	return p.slots[hash&mask].a + p.slots[(hash+1)&mask].a
}

// hash is the hash of the key in s.
func (s *slot[S]) hash() uint64 {
	if s.n > inlineKey+1 {
		return s.a
	}
	return hash2(s.a, s.b, int(s.n-1))
}

// reserve makes room for n keys in an empty table.
func (p *Pane[S]) reserve(n int) {
	size := len(p.slots)
	for size/4*3 <= n {
		size *= 2
	}
	if size > len(p.slots) {
		p.resize(size)
	}
}

// resize makes an empty table of so many slots, if there is room for it.
func (p *Pane[S]) resize(size int) bool {
	bytes := int64(size) * int64(unsafe.Sizeof(slot[S]{}))
	return p.room.take(size, bytes, func() { p.slots = make([]slot[S], size) })
}

// grow doubles the table, if there is room for that. Slots move, so the list of dirty ones is made anew.
func (p *Pane[S]) grow() {
	var epoch uint32 // of the dirty ones
	if len(p.dirty) > 0 {
		epoch = p.slots[p.dirty[0].slot()].epoch
	}
	old := p.slots
	if !p.resize(2 * len(old)) {
		return
	}
	p.dirty = p.dirty[:0]
	for i := range old {
		s := &old[i]
		if s.n == 0 {
			continue
		}
		hash := s.hash()
		at := hash & p.mask()
		for p.slots[at].n != 0 {
			at = (at + 1) & p.mask()
		}
		p.slots[at] = *s
		if epoch != 0 && s.epoch == epoch {
			p.dirty = append(p.dirty, newDirty(at, hash))
		}
	}
}
