// Package faultproxy is the network between clients and Kafka brokers as a test wants it: a proxy that passes everything on, but for
// requests that it delays, drops, repeats, cuts off or answers itself. It works before a real broker and before an embedded one.
package faultproxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// A Proxy stands before the brokers of a cluster.
type Proxy struct {
	Addrs []string // host:port for each of the brokers, in their order

	listeners []net.Listener
	moved     [][2][]byte // how brokers tell their address, and how the proxy does
	running   sync.WaitGroup

	mu     sync.Mutex
	lines  map[*line]bool
	made   int // connections so far
	armed  []*Armed
	closed chan struct{}
	end    sync.Once
}

// Start starts a proxy that ends with the test. Brokers are on 127.0.0.1 and need not run yet.
func Start(t testing.TB, brokers ...string) *Proxy {
	t.Helper()
	p, err := listen(brokers)
	t.Cleanup(p.close)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Addr is the address of the first broker.
func (p *Proxy) Addr() string { return p.Addrs[0] }

func listen(brokers []string) (*Proxy, error) {
	p := &Proxy{lines: map[*line]bool{}, closed: make(chan struct{})}
	for range brokers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return p, err
		}
		p.listeners = append(p.listeners, l)
		p.Addrs = append(p.Addrs, l.Addr().String())
	}
	for i, broker := range brokers {
		from, err := told(broker)
		if err != nil {
			return p, err
		}
		to, err := told(p.Addrs[i])
		if err != nil {
			return p, err
		}
		p.moved = append(p.moved, [2][]byte{from, to})
	}
	for i, broker := range brokers {
		p.running.Go(func() { p.accept(p.listeners[i], broker) })
	}
	return p, nil
}

// AwaitAlone waits until no connection is left, also none of a client that was killed: what that has sent is passed on, and meets no fault that is
// armed from now on.
func (p *Proxy) AwaitAlone(t testing.TB) {
	t.Helper()
	const limit, pause = 3 * time.Minute, 5 * time.Millisecond
	for _, addr := range p.Addrs { // connections are accepted in order, so those before are, too, when this one breaks
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			err = conn.(*net.TCPConn).CloseWrite()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Read(make([]byte, 1)) // it ends, and so it has come through
		_ = conn.Close()
	}
	for end := time.Now().Add(limit); p.connections() > 0; time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("%d connections are left after %v", p.connections(), limit)
		}
	}
}

func (p *Proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// told is an address as brokers tell it in whatever answer: the host, and behind it the port in four bytes.
func told(addr string) ([]byte, error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host != "127.0.0.1" {
		return nil, errors.New("a broker behind the proxy is on 127.0.0.1, not on " + host)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return binary.BigEndian.AppendUint32([]byte(host), uint32(port)), err
}

// redirect puts the proxy's addresses in the place of the brokers', so that clients come to it. They are equally long.
func (p *Proxy) redirect(frame []byte) {
	for _, m := range p.moved {
		for rest := frame; ; {
			i := bytes.Index(rest, m[0])
			if i < 0 {
				break
			}
			copy(rest[i:], m[1])
			rest = rest[i+len(m[0]):]
		}
	}
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.end.Do(func() { close(p.closed) })
	for _, l := range p.listeners {
		_ = l.Close() // nobody can connect any more, whatever it says
	}
	for l := range p.lines {
		l.close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Proxy) accept(from net.Listener, target string) {
	for {
		client, err := from.Accept()
		if err != nil {
			return
		}
		broker, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close() // the broker is down, and so is the proxy
			continue
		}
		if !p.connect(&line{proxy: p, target: target, client: client, broker: broker, broken: make(chan struct{})}) {
			return
		}
	}
}

// connect begins to pass on what comes, unless the proxy is closed.
func (p *Proxy) connect(l *line) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		l.close()
		return false
	default:
	}
	p.made++
	l.number = p.made
	p.lines[l] = true
	p.running.Go(func() {
		l.run()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.lines, l)
	})
	return true
}
