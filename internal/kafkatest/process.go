package kafkatest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// process is a running broker.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed when the broker has said that it is up
	done  chan struct{} // closed when the process is gone; err is set before
	err   error
}

// started is what a broker logs when it serves requests.
const started = "Kafka Server started"

// run starts the command with its output in a file. It returns when the command has been started.
//
// The goroutine keeps its thread until the process is gone, since Linux ties the
// process to the thread that started it, not to the program.
func run(cmd *exec.Cmd, logPath string) (*process, error) {
	out, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	tie(cmd)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		out.Close()
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	p := &process{cmd: cmd, ready: make(chan struct{}), done: make(chan struct{})}
	begun := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer out.Close()
		err := cmd.Start()
		begun <- err
		if err != nil {
			return
		}
		p.watch(pipe, out)
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, <-begun
}

// watch copies the output until it ends, and says when the broker is ready.
func (p *process) watch(from io.Reader, to io.Writer) {
	ready := false
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(to, line) // a log that cannot be written must not stop the broker
		if !ready && strings.Contains(line, started) {
			ready = true
			close(p.ready)
		}
		if err != nil {
			return
		}
	}
}

// awaitReady waits until the broker serves requests.
func (p *process) awaitReady(limit time.Duration) error {
	select {
	case <-p.ready:
		return nil
	case <-p.done:
		return fmt.Errorf("the broker ended before it was up: %v", p.err)
	case <-time.After(limit):
		return fmt.Errorf("the broker was not up after %v", limit)
	}
}

// awaitEnd waits until the process is gone.
func (p *process) awaitEnd(limit time.Duration) error {
	select {
	case <-p.done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("process %d was not gone after %v", p.cmd.Process.Pid, limit)
	}
}

// ended reports whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
