package faultproxy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Key is a kind of request: https://kafka.apache.org/protocol#protocol_api_keys.
type Key = kmsg.Key

// Any is every kind of request.
const Any Key = -1

// Deed is what becomes of a request.
type Deed int

const (
	// Pass does nothing: the request is counted.
	Pass Deed = iota
	// Cut breaks the connection. The broker never gets the request.
	Cut
	// Lose breaks the connection when the broker has carried the request out: the answer is lost.
	Lose
	// Drop lets the request vanish. The connection stays, and nothing is answered on it any more, as by a broker that is stuck.
	Drop
	// Mute is Drop for the answer: the broker carries the request out, and nobody hears of it.
	Mute
	// Hold keeps the request, and what comes behind it on its connection, until Release.
	Hold
	// Strand breaks the connection. The broker gets the request at Release, when its sender has long given it up.
	Strand
	// Repeat passes the request, and the broker gets it once more at Release.
	Repeat
	// Answer answers in the place of the broker, which never gets the request.
	Answer
	// Forge gives another answer than the broker, which carries the request out.
	Forge
)

// Fault says which requests something happens to, and what. The faults of a proxy are looked through in the order in which they were armed;
// the first that a request falls under is done. When is called while the proxy is locked: it must call neither the proxy nor one of its faults, and
// wait for nothing that goes through the proxy.
type Fault struct {
	Key    Key
	Conn   int                          // only on this connection, by its number from 1; 0: on any
	When   func(*Request) bool          // only to those; nil: to all
	Nth    int                          // from the nth of them on; 0: from the first
	Count  int                          // to so many; 0: to one, -1: to all, until Disarm
	Do     Deed                         // what
	For    time.Duration                // Hold: at most so long; 0: until Release
	Answer func(*Request) kmsg.Response // what Answer and Forge say
}

// Armed is a fault that waits for its requests.
type Armed struct {
	// Done is closed when the fault has been done to the last of its requests: when the broker has carried out what it gets, and
	// what shall break is broken, and before anybody has the answer to it. With a Count of -1 it never is.
	Done <-chan struct{}

	Fault
	proxy    *Proxy
	done     chan struct{}
	released chan struct{}
	release  sync.Once

	// Held by proxy.mu:
	seen, taken, met int
	conns            []int // on which it was done
	kept             []*Request
}

// Arm adds a fault.
func (p *Proxy) Arm(f Fault) *Armed {
	a := &Armed{Fault: f, proxy: p, done: make(chan struct{}), released: make(chan struct{})}
	a.Done = a.done
	a.Nth, a.Count = cmp.Or(a.Nth, 1), cmp.Or(a.Count, 1)
	if (f.Do == Answer || f.Do == Forge) != (f.Answer != nil) {
		panic("faultproxy: Answer and Forge, and they alone, need an answer")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = append(p.armed, a)
	return a
}

// take finds the fault that a request falls under, nil if there is none.
func (p *Proxy) take(r *Request) *Armed {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.armed {
		if a.taken == a.Count || a.Key != Any && a.Key != r.Key || a.Conn != 0 && a.Conn != r.Conn || a.When != nil && !a.When(r) {
			continue
		}
		if a.seen++; a.seen < a.Nth {
			continue
		}
		a.taken++
		return a
	}
	return nil
}

// note counts a request to which the fault was done.
func (x *exchange) note() {
	a := x.fault
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	if x.counted {
		return // it was given back
	}
	x.counted = true
	a.conns = append(a.conns, x.request.Conn)
	if a.met++; a.met == a.Count {
		close(a.done)
		a.forget() // each was counted, so none is given back
	}
}

// giveBack leaves a fault to the next request it is for, if the connection of this one broke before it was done: a client that was killed may leave requests behind.
func (x *exchange) giveBack() {
	a := x.fault
	if a == nil {
		return
	}
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	if !x.counted {
		x.counted = true
		a.taken--
		a.kept = slices.DeleteFunc(a.kept, func(r *Request) bool { return r == x.request })
	}
}

// keep keeps a request for Release.
func (a *Armed) keep(r *Request) {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	a.kept = append(a.kept, r)
}

// Hits is how many requests the fault has been done to.
func (a *Armed) Hits() int { return len(a.Conns()) }

// Conns are the numbers of the connections of those requests.
func (a *Armed) Conns() []int {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return slices.Clone(a.conns)
}

// Disarm ends the fault. What is held stays so until Release.
func (a *Armed) Disarm() {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	a.forget()
}

// forget takes the fault from those that requests are looked at for. The caller holds proxy.mu.
func (a *Armed) forget() {
	a.proxy.armed = slices.DeleteFunc(a.proxy.armed, func(b *Armed) bool { return a == b })
}

// Await waits until Done, for a few minutes.
func (a *Armed) Await(t testing.TB) {
	t.Helper()
	const limit = 3 * time.Minute
	select {
	case <-a.Done:
	case <-time.After(limit):
		t.Fatalf("no %s within %v that the fault is for; it was done to %d", a, limit, a.Hits())
	}
}

func (a *Armed) String() string {
	if a.Key == Any {
		return "request"
	}
	return "request " + a.Key.Name()
}

// Release lets go what Hold, Strand and Repeat have kept. Of the last two it returns what the broker answers, in the order of the requests;
// they go over a connection of their own, one after the other.
func (a *Armed) Release(ctx context.Context) ([]kmsg.Response, error) {
	a.release.Do(func() { close(a.released) })
	a.proxy.mu.Lock()
	kept := a.kept
	a.kept = nil
	a.proxy.mu.Unlock()
	var answers []kmsg.Response
	for _, r := range kept {
		answer, err := r.deliver(ctx)
		if err != nil {
			return answers, fmt.Errorf("%s that was kept: %w", r.Key.Name(), err)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}
