package engine

import "sync"

// message is what a source task sends to a keyed task: rows, or W, or a barrier.
type message struct {
	op      int
	rows    Rows
	w       []int64 // W of each operator, covering all rows before it
	barrier *barrier
}

func (m message) bytes() int {
	if m.rows == nil {
		return 0
	}
	return m.rows.Bytes()
}

// Limits of what one sender may have waiting in an inbox, enough for both sides to keep busy: messages, of which one with rows is a batch of
// at most 256, and bytes of keys, unless a single message has more.
const (
	inboxDepth = 8
	inboxBytes = 256 << 10
)

// inbox is the mailbox of a keyed task: a bounded queue for each source task, and barrier
// alignment. Once a barrier has come from one sender, nothing more of that sender is handed out until the
// same barrier has come from all. A sender that waits for room here holds nothing that
// another sender needs, so alignment cannot deadlock.
type inbox struct {
	mu      sync.Mutex
	changed sync.Cond
	queues  [][]message // by sender
	bytes   []int       // by sender: of its queue
	blocked []bool      // by sender: its barrier is out, others are missing
	aligned int         // how many are blocked
	next    int         // sender to look at first, so that none starves
	closed  bool
}

func newInbox(senders int) *inbox {
	b := &inbox{queues: make([][]message, senders), bytes: make([]int, senders), blocked: make([]bool, senders)}
	b.changed.L = &b.mu
	return b
}

// close makes put and get return false from now on.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}

// put waits for room and appends a message of a sender.
func (b *inbox) put(sender int, m message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes := m.bytes()
	for !b.hasRoom(sender, bytes) && !b.closed {
		b.changed.Wait()
	}
	if b.closed {
		return false
	}
	b.queues[sender] = append(b.queues[sender], m)
	b.bytes[sender] += bytes
	b.changed.Broadcast()
	return true
}

func (b *inbox) hasRoom(sender, bytes int) bool {
	waiting := len(b.queues[sender])
	return waiting == 0 || waiting < inboxDepth && b.bytes[sender]+bytes <= inboxBytes
}

// get waits for the next message. A barrier is handed out once, when it has come from every sender.
func (b *inbox) get() (sender int, m message, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed {
		for i := range b.queues {
			s := (b.next + i) % len(b.queues)
			if b.blocked[s] || len(b.queues[s]) == 0 {
				continue
			}
			m := b.take(s)
			if m.barrier == nil {
				b.next = s + 1
				return s, m, true
			}
			b.blocked[s] = true
			if b.aligned++; b.aligned == len(b.queues) {
				clear(b.blocked)
				b.aligned = 0
				return s, m, true
			}
		}
		b.changed.Wait()
	}
	return 0, message{}, false
}

// take removes the first message of a sender and wakes who waits for the room.
func (b *inbox) take(sender int) message {
	q := b.queues[sender]
	m := q[0]
	n := copy(q, q[1:])
	q[n] = message{}
	b.queues[sender] = q[:n]
	b.bytes[sender] -= m.bytes()
	b.changed.Broadcast()
	return m
}
