package kafka

import (
	"sync"
	"time"
)

// sayAgain is how long something that happens to many records is not mentioned again.
const sayAgain = time.Minute

// occasions counts what happens to records without ending anything, and tells of it: of the first ones at once, then at most
// once each sayAgain, and of all at the end.
type occasions struct {
	tell func(total int64)
	note func(n int64) // is told every time

	mu     sync.Mutex
	n      int64
	told   int64       // what n was when it was told of last
	pause  *time.Timer // runs while nothing is told
	closed bool
}

// add counts n more.
func (o *occasions) add(n int64) {
	o.note(n)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n += n
	if o.pause == nil && !o.closed {
		o.say()
	}
}

// say tells what is new, and pauses.
func (o *occasions) say() {
	if o.n == o.told {
		return
	}
	o.told = o.n
	o.tell(o.n)
	if !o.closed {
		o.pause = time.AfterFunc(sayAgain, o.over)
	}
}

// over ends a pause.
func (o *occasions) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pause = nil
	if !o.closed {
		o.say()
	}
}

// close tells what was not told, and is the last word.
func (o *occasions) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	if o.pause != nil {
		o.pause.Stop()
	}
	o.say()
}
