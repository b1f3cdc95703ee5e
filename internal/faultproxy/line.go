package faultproxy

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"
)

// line is one connection through the proxy.
type line struct {
	proxy          *Proxy
	number         int
	target         string
	client, broker net.Conn
	broken         chan struct{}
	once           sync.Once

	mu      sync.Mutex
	waiting []*exchange // requests without an answer, in their order, which is that of the answers
}

// exchange is a request and its answer.
type exchange struct {
	request *Request
	fault   *Armed // of the request; nil: none
	counted bool   // the fault is done, or given back; held by proxy.mu
	own     bool   // the broker does not get the request
	answer  []byte // nil: it is not there, and nothing behind it is sent
}

var errCut = errors.New("cut")

// run moves frames both ways until one side breaks, and then breaks both. Until it ends a request that was read before may still meet a fault.
func (l *line) run() {
	var answers sync.WaitGroup
	answers.Go(func() { l.move(l.answer) })
	l.move(l.request)
	answers.Wait()
}

// move moves frames one way until it breaks.
func (l *line) move(next func() error) {
	for next() == nil {
	}
	l.once.Do(func() { close(l.broken) })
	l.mu.Lock()
	for _, x := range l.waiting {
		x.giveBack()
	}
	l.mu.Unlock()
	l.close()
}

// close breaks both sides, of which one may be broken already.
func (l *line) close() { _, _ = l.client.Close(), l.broker.Close() }

// request passes one request on.
func (l *line) request() error {
	r, err := readRequest(l.client)
	if err != nil {
		return err
	}
	r.Conn, r.target = l.number, l.target
	x := &exchange{request: r, fault: l.proxy.take(r)}
	switch x.deed() {
	case Cut:
		x.note()
		return errCut
	case Strand:
		x.fault.keep(r)
		x.note()
		return errCut
	case Drop:
		x.own = true
		l.expect(x)
		x.note()
		return nil
	case Answer:
		x.own, x.answer = true, r.encode(x.fault.Answer(r))
		l.expect(x)
		x.note() // whoever has the answer finds it counted
		return l.settle()
	case Hold:
		x.note()
		l.hold(x.fault)
	case Repeat:
		x.fault.keep(r)
	}
	if r.answered() {
		l.expect(x)
	}
	_, err = l.broker.Write(r.frame)
	return err
}

// deed is what becomes of the request.
func (x *exchange) deed() Deed {
	if x.fault == nil {
		return Pass
	}
	return x.fault.Do
}

// hold waits until a fault is released. The sender may have given up by then: that the broker gets the request all the same is the point.
func (l *line) hold(a *Armed) {
	var over <-chan time.Time
	if a.For > 0 {
		over = time.After(a.For)
	}
	select {
	case <-a.released:
	case <-over:
	case <-l.broken:
	case <-l.proxy.closed:
	}
}

// expect remembers that an answer is to come.
func (l *line) expect(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, x)
}

// settle sends the client the answers that are there and that no other has to come before.
func (l *line) settle() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 && l.waiting[0].answer != nil {
		if _, err := l.client.Write(l.waiting[0].answer); err != nil {
			return err
		}
		l.waiting = l.waiting[1:]
	}
	return nil
}

// answer passes one answer on.
func (l *line) answer() error {
	f, err := readFrame(l.broker, answerHead)
	if err != nil {
		return err
	}
	l.proxy.redirect(f)
	x := l.asked(int32(binary.BigEndian.Uint32(f[lengthBytes:])))
	if x == nil {
		return errFrame
	}
	switch deed := x.deed(); deed {
	case Lose, Mute:
		x.note()
		if deed == Lose {
			return errCut
		}
		return nil
	case Forge:
		f = x.request.encode(x.fault.Answer(x.request))
	}
	l.mu.Lock()
	x.answer = f
	l.mu.Unlock()
	switch x.deed() {
	case Forge, Repeat, Pass:
		if x.fault != nil {
			x.note() // whoever has the answer finds it counted
		}
	}
	return l.settle()
}

// asked is what the broker answers next.
func (l *line) asked(id int32) *exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.waiting {
		if x.request.id == id && !x.own {
			return x
		}
	}
	return nil
}
