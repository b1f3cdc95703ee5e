package engine

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestAlignment sends rows and barriers from several senders, each in a hurry of its own, and shows that
// what is handed out between two barriers is exactly what each sender sent between them, in order.
func TestAlignment(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		const senders, barriers, rows = 3, 50, 40
		b := newInbox(senders)
		for s := range senders {
			r := rand.New(rand.NewPCG(seed, uint64(s)))
			go func() {
				for n := range int64(barriers) {
					for i := range rows {
						time.Sleep(time.Duration(r.IntN(3)) * time.Microsecond)
						b.put(s, message{op: int(n), rows: sized(i)})
					}
					b.put(s, message{barrier: &barrier{n: n}})
				}
			}()
		}
		for n := range int64(barriers) {
			var next [senders]int
			for {
				s, m, ok := b.get()
				if !ok {
					t.Fatal("closed")
				}
				if m.barrier != nil {
					if m.barrier.n != n || next != [senders]int{rows, rows, rows} {
						t.Fatalf("barrier %d after %v rows; want barrier %d after %d of each", m.barrier.n, next, n, rows)
					}
					break
				}
				if int64(m.op) != n || m.rows != Rows(sized(next[s])) {
					t.Fatalf("row %v before barrier %d from sender %d; want row %d before barrier %d", m.rows, m.op, s, next[s], n)
				}
				next[s]++
			}
		}
	})
}

// TestInboxIsBounded shows that a sender waits when its queue is full, and only then.
func TestInboxIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox(2)
		sent := 0
		go func() {
			for sent < 2*inboxDepth && b.put(0, message{op: sent}) {
				sent++
			}
		}()
		synctest.Wait()
		if sent != inboxDepth {
			t.Fatalf("%d messages sent, want %d", sent, inboxDepth)
		}
		b.put(1, message{}) // another sender has room
		for range 3 {
			b.get()
		}
		synctest.Wait()
		if sent < inboxDepth+2 {
			t.Fatalf("%d messages sent after room was made", sent)
		}
		b.close()
	})
}

// sized are rows of so many bytes.
type sized int

func (s sized) Bytes() int { return int(s) }

// TestInboxIsBoundedInBytes shows that a sender waits when its queue has too many bytes, however few messages they are, and that one
// message may be of any size.
func TestInboxIsBoundedInBytes(t *testing.T) {
	const most = 4 // messages that the bytes leave room for
	for size, want := range map[sized]int{0: inboxDepth, inboxBytes / most: most, inboxBytes/most + 1: most - 1, inboxBytes: 1, 100 * inboxBytes: 1} {
		synctest.Test(t, func(t *testing.T) {
			b := newInbox(1)
			sent := 0
			go func() {
				for b.put(0, message{op: sent, rows: size}) {
					sent++
				}
			}()
			for taken := range 3 * most {
				synctest.Wait()
				if sent != taken+want {
					t.Fatalf("%d messages of %d bytes were sent, and %d taken; want %d to wait", sent, size, taken, want)
				}
				b.get()
			}
			b.close()
			synctest.Wait()
		})
	}
}
