package kafka

import (
	"log/slog"
	"net"
	"testing"
)

// TestBrokerHangsUp has an address before the broker's at which connections are taken and broken, as a balancer does before a broker that is down. Everything
// is done all the same, by way of the other.
func TestBrokerHangsUp(t *testing.T) {
	for name, linger := range map[string]int{"closed": 1, "reset": 0} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 2)
			dead := hangUp(t, linger)
			const times = 8 // the client begins at any of its addresses
			for n := int64(1); n <= times; n++ {
				c, err := Open(b.ctx, Config{Brokers: []string{dead, b.Addr}, ClientID: "test", Logger: slog.New(slog.DiscardHandler)})
				b.must(err)
				b.fence(c)
				if _, err := c.Marker(b.ctx, b.group); err != nil {
					t.Fatal(err)
				}
				s := b.sink(c, b.config())
				b.must(s.Commit(b.ctx, b.prepare(s, n, "a")))
				s.Close()
				c.Close()
			}
			b.marked(times)
		})
	}
}

// hangUp listens at an address and breaks every connection.
func hangUp(t *testing.T, linger int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*net.TCPConn).SetLinger(linger) // 0: the other side gets a reset
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close() // nobody listens any more, whatever it says
		<-done
	})
	return l.Addr().String()
}
