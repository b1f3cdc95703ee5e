//go:build unix

package kafkatest

import (
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestClientsOutliveBrokenConnections: a node that is killed breaks connections before their first answer, and helpers ask again.
func TestClientsOutliveBrokenConnections(t *testing.T) {
	b := brokers.Broker(t, 2)
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	go func() {
		for n := 0; ; n++ {
			conn, err := front.Accept()
			if err != nil {
				return // the test has ended
			}
			if n < 3 {
				conn.Close()
				continue
			}
			behind, err := net.Dial("tcp", b.Addr)
			if err != nil {
				conn.Close()
				continue
			}
			go func() { defer behind.Close(); _, _ = io.Copy(behind, conn) }() // until one of them ends
			go func() { defer conn.Close(); _, _ = io.Copy(conn, behind) }()
		}
	}()
	client, err := (&Broker{Addr: front.Addr().String()}).dial()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kmsg.NewPtrMetadataRequest().RequestWith(call(t), client); err != nil { // a ping would not ask again
		t.Error(err)
	}
}
