package state_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/eoc-lang/eoc/internal/skip"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// asNobody does something as a user who has no rights. The thread that has become that user ends with it.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	const nobody = 65534
	refused := make(chan syscall.Errno, 1)
	go func() {
		runtime.LockOSThread() // for good
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody)
		if errno == 0 {
			do()
		}
		refused <- errno
	}()
	if errno := <-refused; errno != 0 {
		skip.Loudly(t, "a thread cannot become another user: %v", errno)
	}
}

// TestNoRights: whether the program may make and write what it needs is seen without doing it.
func TestNoRights(t *testing.T) {
	top := t.TempDir()
	must(t, os.Chmod(filepath.Dir(top), 0o755))
	must(t, os.Chmod(top, 0o755))
	var seen error
	asNobody(t, func() { _, seen = os.ReadDir(top) })
	if seen != nil {
		skip.Loudly(t, "temporary files are in a directory that others may not enter: %v", seen)
	}
	open, used, locked := filepath.Join(top, "open"), filepath.Join(top, "used"), filepath.Join(top, "locked")
	must(t, os.Mkdir(open, 0o700))
	fill(t, used, 3) // by somebody else
	fill(t, locked, 3)
	must(t, os.Chmod(filepath.Join(used, "lock"), 0o666))
	for _, dir := range []string{open, used, locked} {
		must(t, os.Chmod(dir, 0o777))
	}
	for dir, denied := range map[string]string{
		filepath.Join(open, "state"): "", // it can be made
		open:                         "",
		filepath.Join(top, "a", "b"): top + ": permission denied",
		top:                          top + ": permission denied",
		used:                         filepath.Join(used, "state.db") + ": permission denied",
		locked:                       filepath.Join(locked, "lock") + ": permission denied",
	} {
		var place state.Place
		var err error
		asNobody(t, func() { place, err = state.LookAt(dir) })
		must(t, err)
		if denied != "" {
			wantKind(t, place.Denied, failure.Disk, denied, "needs the right to read and write there")
		} else if place.Denied != nil {
			t.Errorf("%s: %v", dir, place.Denied)
		}
	}
}
