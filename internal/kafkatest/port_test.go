//go:build unix

package kafkatest

import (
	"errors"
	"testing"
)

// A port that somebody has taken is passed over by everybody, whether there is a listener or not, until it is released.
func TestPortsAreTaken(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	port, release, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	path, err := portFile(port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryLock(path); !errors.Is(err, errLocked) {
		t.Errorf("taken twice: %v", err)
	}
	release()
	unlock, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
