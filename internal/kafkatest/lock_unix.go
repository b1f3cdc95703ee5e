//go:build unix

package kafkatest

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errLocked is a lock that somebody else has.
var errLocked = errors.New("locked by somebody else")

// lock waits for the lock of a file, which the kernel gives up for a process that dies.
func lock(path string) (unlock func(), err error) { return flock(path, unix.LOCK_EX) }

// tryLock is lock, and returns errLocked instead of waiting.
func tryLock(path string) (unlock func(), err error) {
	unlock, err = flock(path, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errLocked
	}
	return unlock, err
}

func flock(path string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return func() { f.Close() }, nil
}
