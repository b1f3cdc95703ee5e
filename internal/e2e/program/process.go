package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/skip"
)

// Config is how a program is started: its flags, and its environment as "NAME=value". Nothing of the
// test's own EO_ variables reaches it.
type Config struct {
	Args     []string
	Env      []string
	Clock    *time.Duration // it has a wall clock of its own, so far ahead; Linux on amd64 alone
	Terminal bool           // its output goes to a terminal
}

// Process is a program that runs or has run.
type Process struct {
	cmd   *exec.Cmd
	log   string
	done  chan struct{} // closed when it is gone
	clock *clock        // its own, if it has one
}

// Exit is how a process ended: by a signal, or with a code.
type Exit struct {
	Code   int // -1 if a signal ended it
	Signal syscall.Signal
}

func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("killed by signal %d (%v)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// killed is the exit of a process that SIGKILL has ended.
var killed = Exit{Code: -1, Signal: syscall.SIGKILL}

// Killed says whether SIGKILL has ended the process.
func (e Exit) Killed() bool { return e == killed }

// Start starts a binary. The process is gone when the test is over.
func Start(t testing.TB, path string, c Config) *Process {
	t.Helper()
	dir := t.TempDir()
	p := &Process{log: filepath.Join(dir, "log"), done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	ends := func() { out.Close() }
	var to *os.File = out
	if c.Terminal {
		control, tty := openTerminal(t)
		to = tty
		copied := make(chan struct{})
		go func() {
			defer close(copied)
			io.Copy(out, control) // ends with an error, when the last one has closed the terminal
		}()
		ends = func() {
			<-copied
			control.Close()
			out.Close()
		}
	}
	p.cmd = exec.Command(path, c.Args...)
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = to, to
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "EO_") {
			p.cmd.Env = append(p.cmd.Env, pair)
		}
	}
	p.cmd.Env = append(p.cmd.Env, c.Env...)
	tie(p.cmd)
	if c.Clock != nil {
		if p.cmd.SysProcAttr == nil {
			p.cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		traced(p.cmd.SysProcAttr)
	}
	begun := make(chan error)
	go func() {
		// Linux ties the process to the thread that started it, so the thread has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		if err == nil && c.Clock != nil {
			if p.clock, err = newClock(p.cmd.Process.Pid, *c.Clock); err != nil {
				_ = p.cmd.Process.Kill() // it may be gone already
				_ = p.cmd.Wait()
			}
		}
		if c.Terminal {
			to.Close()
		}
		begun <- err
		if err == nil {
			_ = p.cmd.Wait() // ProcessState says how it ended
		}
		ends()
		if err == nil {
			close(p.done)
		}
	}()
	if err := <-begun; err != nil {
		if c.Clock != nil && noClock(err) {
			skip.Loudly(t, "a program with a clock of its own is not tried: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may be gone already
		<-p.done
	})
	return p
}

// errNoClock is a system on which a process cannot get a clock of its own.
var errNoClock = errors.New("no clock of its own for a process")

// noClock says whether it is the system that keeps a process from having a clock of its own: it has another vDSO, or forbids what debuggers do.
func noClock(err error) bool {
	return errors.Is(err, errNoClock) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS)
}

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how the process ended. It may be called when Done is closed.
func (p *Process) Exit() Exit {
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return Exit{Code: -1, Signal: status.Signal()}
	}
	return Exit{Code: status.ExitStatus()}
}

// Wait waits until the process is gone. If it is not within the limit, the test fails and says what was awaited.
func (p *Process) Wait(t testing.TB, limit time.Duration, what string) Exit {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		t.Fatalf("%s: the program still runs after %v; the end of its log:\n%s", what, limit, p.Tail(40))
	}
	return p.Exit()
}

// Signal sends a signal. A process that is gone already fails the test.
func (p *Process) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%v to the program: %v; the end of its log:\n%s", s, err, p.Tail(40))
	}
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	const limit = time.Minute // a process in the kernel's hands can take a moment
	p.Signal(t, syscall.SIGKILL)
	if exit := p.Wait(t, limit, "kill"); !exit.Killed() {
		t.Fatalf("kill: %v; the end of its log:\n%s", exit, p.Tail(40))
	}
}

// Pid is the id of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Usage is what the process has used. It may be called when Done is closed.
func (p *Process) Usage() *syscall.Rusage { return p.cmd.ProcessState.SysUsage().(*syscall.Rusage) }

// Log is all that the process has printed so far.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Tail is the last n lines of the log.
func (p *Process) Tail(n int) string {
	lines := strings.SplitAfter(p.Log(), "\n")
	return strings.Join(lines[max(0, len(lines)-n-1):], "")
}

// SignalIfAlive sends a signal to a process that may be gone.
func (p *Process) SignalIfAlive(s syscall.Signal) error { return p.cmd.Process.Signal(s) }
