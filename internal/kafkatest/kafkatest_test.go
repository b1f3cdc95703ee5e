//go:build unix

package kafkatest

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

var brokers Pool

func TestMain(m *testing.M) { os.Exit(brokers.Main(m)) }

func TestReadCommittedSeesCommitsOnly(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("V%d", version), func(t *testing.T) {
			b := brokers.Broker(t, version)
			b.CreateTopic(t, "in", 2)
			at := time.UnixMilli(86_400_123)
			b.Produce(t, "in", Record{Partition: 1, Value: []byte("plain"), Time: at})
			b.ProduceTxn(t, false, "in", Record{Value: []byte("aborted")}, Record{Partition: 1, Value: []byte("aborted")})
			b.ProduceTxn(t, true, "in", Record{Key: []byte("k"), Value: []byte("committed"), Headers: []Header{{"h", []byte("v")}}})
			b.AwaitSettled(t, "in")

			got := b.ReadCommitted(t, "in")
			if len(got) != 2 {
				t.Fatalf("read %d records, want 2: %v", len(got), got)
			}
			if r := got[0]; r.Partition != 0 || r.Offset != 2 || string(r.Key) != "k" || string(r.Value) != "committed" ||
				len(r.Headers) != 1 || string(r.Headers[0].Value) != "v" {
				t.Errorf("committed record: %+v", r)
			}
			if r := got[1]; r.Partition != 1 || r.Offset != 0 || r.Key != nil || string(r.Value) != "plain" || !r.Time.Equal(at) {
				t.Errorf("plain record: %+v", r)
			}
		})
	}
}

func TestRestartKeepsData(t *testing.T) {
	b := Start(t, Options{Settings: map[string]string{"num.io.threads": "2"}})
	b.CreateTopic(t, "in", 1, "cleanup.policy=compact")
	b.Produce(t, "in", Record{Key: []byte("k"), Value: []byte("before")})
	b.Stop(t)
	b.Restart(t)
	b.Produce(t, "in", Record{Key: []byte("k"), Value: []byte("between")})
	b.Kill(t)
	pid := b.Pid()
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d after Kill: %v, want %v", pid, err, syscall.ESRCH)
	}
	b.Restart(t)
	b.Produce(t, "in", Record{Key: []byte("k"), Value: []byte("after")})
	got := b.ReadCommitted(t, "in")
	if len(got) != 3 || string(got[2].Value) != "after" {
		t.Errorf("read %v, want three records", got)
	}
}
