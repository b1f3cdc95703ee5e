package kafka

import (
	"runtime"
	"sync"
	"weak"
)

// lent knows what memory of a pool is with the client or behind it, and how much is taken by the records in it. Most comes back. What does not, since the client
// has thrown fetched records away, was collected or will be: so it is known by weak pointers.
type lent struct {
	mu    sync.Mutex
	takes map[weak.Pointer[byte]]int
	total int  // of what is not large
	large bool // one that is large is out
	wants int  // what was refused last takes, and there was no room for it since; 0: nothing waits
}

// isLarge says that memory takes more than may be out of others together. One such goes out beside them: if it had to wait until
// nothing is out, others that are unpacked faster would be out again each time that it is asked for.
func isLarge(takes int) bool { return takes > heldMost }

// add takes note of memory that goes out, unless that becomes too much.
func (l *lent) add(memory []byte, beside int) bool {
	if cap(memory) == 0 { // does not come back
		return true
	}
	name, takes := weak.Make(&memory[:1][0]), cap(memory)+beside
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fits(takes) {
		l.sweep()
	}
	if !l.fits(takes) {
		l.wants = takes
		return false
	}
	if l.takes == nil {
		l.takes = map[weak.Pointer[byte]]int{}
	}
	l.takes[name] = takes
	if isLarge(takes) {
		l.large = true
	} else {
		l.total += takes
	}
	return true
}

// fits says whether so much more may go out. l.mu is held.
func (l *lent) fits(takes int) bool {
	if isLarge(takes) {
		return !l.large
	}
	return l.total+takes <= heldMost
}

// back takes note of memory that has come back. Some never went out.
func (l *lent) back(memory []byte) {
	if cap(memory) == 0 {
		return
	}
	name := weak.Make(&memory[:1][0])
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone(name)
}

// isFull says that something was refused and waits for room. Until there is some, nothing else is tried: it would cost the unpacking of a batch, and take the room.
func (l *lent) isFull() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wants > 0 {
		l.sweep()
	}
	return l.wants > 0
}

// collect finds memory that nobody has any more.
func (l *lent) collect() {
	l.mu.Lock()
	l.sweep()
	full := l.wants > 0
	l.mu.Unlock()
	if !full {
		return
	}
	runtime.GC()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
}

// sweep forgets what was collected. l.mu is held.
func (l *lent) sweep() {
	for name := range l.takes {
		if name.Value() == nil {
			l.gone(name)
		}
	}
}

// gone forgets memory, if it is known. l.mu is held.
func (l *lent) gone(name weak.Pointer[byte]) {
	takes, known := l.takes[name]
	if !known {
		return
	}
	delete(l.takes, name)
	if isLarge(takes) {
		l.large = false
	} else {
		l.total -= takes
	}
	if l.fits(l.wants) {
		l.wants = 0
	}
}
