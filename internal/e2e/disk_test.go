//go:build unix

package e2e

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/eoc-lang/eoc/internal/faultdisk"
)

// TestDiskFull fills the file system of the state under a running program. The program ends with the code of the disk, loses nothing and doubles
// nothing; a first start without space ends in the same way, and when there is space again, the program goes on exactly.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 2)
	disk := faultdisk.Tmpfs(t, "size=24m")
	r.state = filepath.Join(disk, "state")
	next := r.feeder.shares(3)
	next()
	p := r.start(t)
	r.awaitMore(t, p, 50)
	ballast := filepath.Join(disk, "ballast")
	fillUp(t, ballast)
	next()
	exits(t, p, 6, "no space left on device", "nothing is lost: free space or repair the disk, then start again")
	more := filepath.Join(disk, "more")
	fillUp(t, more) // its end may have made room
	state := r.state
	r.state = filepath.Join(disk, "another")
	exits(t, r.start(t), 6, "no space left on device")
	r.state = state
	for _, file := range []string{ballast, more} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	r.finish(t)
}

// fillUp makes a file as large as the file system lets it become.
func fillUp(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err = io.Copy(f, endless{}); err == nil {
		t.Fatal("the file system has no end")
	}
	for err = nil; err == nil; {
		_, err = f.Write(make([]byte, 512))
	}
}

// endless is zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestForeignState starts a program on states that are not its own: of another cluster, and of a pipeline of another name. Each is refused, nothing of it
// is changed, and its own pipeline goes on from it.
func TestForeignState(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	p := r.halfDone(t)
	r.stop(t, p)

	exits(t, r.start(t, "EO_NAME=other"), 5, "is of pipeline", r.name, "this program is pipeline", "a state directory of its own")
	elsewhere := brokers.Broker(t, 1)
	for written, topic := range r.topics {
		partitions := int32(outPartitions)
		if r.source(written) != nil {
			partitions = inPartitions
		}
		elsewhere.CreateTopic(t, topic, partitions)
	}
	exits(t, r.start(t, "EO_BROKERS="+elsewhere.Addr), 5, "the state belongs to Kafka cluster ", ", these brokers are of cluster ")
	r.finish(t)
}
