//go:build unix

package program

import (
	"syscall"
	"testing"
	"time"
)

// Freeze stops the process, and returns when nothing of it runs any more.
func (p *Process) Freeze(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGSTOP)
	AwaitStopped(t, p.Pid())
}

// AwaitStopped waits until a process, which somebody stops, has stopped.
func AwaitStopped(t testing.TB, pid int) {
	t.Helper()
	const limit, pause = time.Minute, time.Millisecond
	for deadline := time.Now().Add(limit); !Stopped(pid); time.Sleep(pause) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d has not stopped within %v", pid, limit)
		}
	}
}
