package kafkatest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// takePort gives the broker a port, which is its own until it is discarded, also while it is stopped.
func (b *Broker) takePort() (int, error) {
	port, release, err := freePort()
	if err != nil {
		return 0, err
	}
	b.ports = append(b.ports, release)
	return port, nil
}

// freePort finds a port of loopback that nobody listens on, between 20,000 and 32,000, and holds the lock of its file until it is released. So the
// tests of other packages pass it over, though nobody listens there for a while.
func freePort() (port int, release func(), err error) {
	const first, count, tries = 20_000, 12_000, 100
	for range tries {
		n, err := rand.Int(rand.Reader, big.NewInt(count))
		if err != nil {
			return 0, nil, err
		}
		port := first + int(n.Int64())
		path, err := portFile(port)
		if err != nil {
			return 0, nil, err
		}
		release, err := tryLock(path)
		if errors.Is(err, errLocked) || errors.Is(err, fs.ErrPermission) { // another test's, or another user's
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			release()
			continue
		}
		return port, release, l.Close()
	}
	return 0, nil, fmt.Errorf("no free port from %d to %d in %d tries", first, first+count, tries)
}

// portFile is the file whose lock who uses a port has. The files stay: one that is removed could be locked by two.
func portFile(port int) (string, error) {
	dir := filepath.Join(os.TempDir(), "eoc-ports")
	if err := os.Mkdir(dir, 0o777); err == nil {
		err = os.Chmod(dir, 0o777|os.ModeSticky) // for all users
		if err != nil {
			return "", err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return filepath.Join(dir, strconv.Itoa(port)), nil
}
