//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// lock takes the directory for this process. The kernel frees the lock when the process ends, however it ends. A link is not followed: what
// somebody else has put there would be emptied.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, diskError(err, "cannot open the lock of state directory %s", dir)
	}
	err = tryLock(f)
	for deadline := time.Now().Add(lockPatience); errors.Is(err, syscall.EWOULDBLOCK) && time.Now().Before(deadline); err = tryLock(f) {
		time.Sleep(lockEvery)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder := holderOf(f)
		f.Close()
		return nil, failure.New(failure.Fenced, "one copy of a pipeline runs at a time: stop that process first. If it runs another pipeline, choose another directory with --state", nil,
			"state directory %s is in use by %s", dir, holder)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, diskError(err, "cannot lock state directory %s", dir)
	}
	return f, nil
}

// A process that was killed holds its locks until the system has taken all its memory back, so who starts right behind waits for that.
const (
	lockPatience = 2 * time.Second
	lockEvery    = 50 * time.Millisecond
)

func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// holderOf reads who holds the lock. The holder may be between locking and writing its number.
func holderOf(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return "process " + pid
	}
	return "another process"
}
