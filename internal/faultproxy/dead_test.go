package faultproxy

import (
	"bytes"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A client that is killed leaves requests behind, which the proxy reads when it is gone. A fault that cannot be done to them any more waits for the next one.
func TestDeadClient(t *testing.T) {
	for name, deed := range map[string]Deed{"pass": Pass, "lose": Lose, "mute": Mute, "repeat": Repeat, "forge": Forge} {
		t.Run(name, func(t *testing.T) {
			broker := newMute(t)
			p := Start(t, broker.Addr().String())
			fault := Fault{Key: kmsg.ListGroups, Do: deed}
			if deed == Forge {
				fault.Answer = busy
			}
			a := p.Arm(fault)
			s := &stand{t: t, Proxy: p}

			dead := s.call()
			dead.send()
			_, gone := broker.next(t)
			ok(t, dead.Close())
			if _, err := gone.Read(make([]byte, 1)); err == nil {
				t.Fatal("the connection to the broker stays")
			}
			s.call().send()
			r, left := broker.next(t)
			_, err := left.Write(r.encode(kmsg.NewPtrListGroupsResponse()))
			ok(t, err)
			a.Await(t)
			if conns := a.Conns(); !slices.Equal(conns, []int{2}) {
				t.Errorf("it was done to requests of the connections %v, want 2", conns)
			}
			if want := map[bool]int{true: 1}[deed == Repeat]; len(a.kept) != want {
				t.Errorf("%d requests are kept, want %d", len(a.kept), want)
			}
		})
	}
}

// mute is a broker that says what the test says.
type mute struct {
	net.Listener
	asked chan asked
}

type asked struct {
	request *Request
	conn    net.Conn
}

func newMute(t *testing.T) *mute {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	m := &mute{l, make(chan asked, 1)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			if r, err := readRequest(conn); err == nil {
				m.asked <- asked{r, conn}
			}
		}
	}()
	return m
}

// next is the first request of the next connection.
func (m *mute) next(t *testing.T) (*Request, net.Conn) {
	t.Helper()
	select {
	case a := <-m.asked:
		return a.request, a.conn
	case <-time.After(testTimeout):
		t.Fatal("no request comes")
		return nil, nil
	}
}

// AwaitAlone also waits for the request that a dead client has left and that meets a fault late, when its connection has long been broken.
func TestAwaitAlone(t *testing.T) {
	p := Start(t, newMute(t).Addr().String())
	a := p.Arm(Fault{Key: kmsg.ListGroups, Do: Cut})
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrListGroupsRequest(), 1)
	client := &late{frame: bytes.NewReader(frame), let: make(chan struct{}), closed: make(chan struct{})}
	broker, far := net.Pipe()
	if !p.connect(&line{proxy: p, client: client, broker: broker, broken: make(chan struct{})}) {
		t.Fatal("the proxy is closed")
	}
	ok(t, far.Close())
	<-client.closed
	if n := p.connections(); n != 1 {
		t.Errorf("%d connections are left, want 1: a request of it is not passed on", n)
	}
	close(client.let)
	p.AwaitAlone(t)
	if a.Hits() != 1 {
		t.Errorf("the fault was done to %d requests, want 1", a.Hits())
	}
}

// late is a connection of which the reader finds a frame, and nothing behind it, no sooner than it is let, be it closed or not: it has got no processor.
type late struct {
	net.Conn
	frame       io.Reader
	let, closed chan struct{}
	once        sync.Once
}

func (c *late) Read(b []byte) (int, error) {
	<-c.let
	return c.frame.Read(b)
}

func (c *late) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}
