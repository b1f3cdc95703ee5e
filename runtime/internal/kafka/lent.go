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
	total int
	full  bool // something was refused, and too much is still out to try again
}

// add takes note of memory that goes out, unless that becomes too much. Alone, any may go.
func (l *lent) add(memory []byte, beside int) bool {
	if cap(memory) == 0 { // does not come back
		return true
	}
	name, takes := weak.Make(&memory[:1][0]), cap(memory)+beside
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total > 0 && l.total+takes > heldMost {
		l.full = true
		return false
	}
	if l.takes == nil {
		l.takes = map[weak.Pointer[byte]]int{}
	}
	l.takes[name] = takes
	l.total += takes
	return true
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

// isFull says that nothing more can go out for now. To try costs the unpacking of a batch.
func (l *lent) isFull() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// collect finds memory that nobody has any more.
func (l *lent) collect() {
	runtime.GC()
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.takes {
		if name.Value() == nil {
			l.gone(name)
		}
	}
}

// gone forgets memory. l.mu is held.
func (l *lent) gone(name weak.Pointer[byte]) {
	l.total -= l.takes[name]
	delete(l.takes, name)
	if l.total <= heldMost/2 {
		l.full = false
	}
}
