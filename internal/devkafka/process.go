package devkafka

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// startLimit is how long a broker may take until it says its address.
	startLimit = 30 * time.Second
	// paceLimit is how long a broker may take until it has a pace.
	paceLimit = 30 * time.Second
	// stopLimit is how long a broker may take to end.
	stopLimit = 10 * time.Second
)

// Process is a broker that runs as a child of this process.
type Process struct {
	Addr string // host:port

	cmd   *exec.Cmd
	stdin io.WriteCloser // its end ends the broker, also when this process is killed
	said  chan string    // lines of its standard output, closed behind the last
	ended chan error
}

// Start starts a broker with a command that calls Serve with its standard input and output, such as
// `eoc __broker`. It writes its complaints to stderr. An interrupt at the terminal does not reach it: who
// uses it wants it until they have ended themselves.
func Start(ctx context.Context, stderr io.Writer, command string, args ...string) (*Process, error) {
	cmd := exec.Command(command, args...)
	cmd.Stderr = stderr
	OwnGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close it while the address is being read.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		read.Close()
		write.Close()
		return nil, fmt.Errorf("start the embedded broker: %w", err)
	}
	write.Close()
	p := &Process{cmd: cmd, stdin: stdin, said: make(chan string, 1), ended: make(chan error, 1)}
	go func() { p.ended <- cmd.Wait() }()

	go func() {
		defer read.Close()
		defer close(p.said)
		for lines := bufio.NewScanner(read); lines.Scan(); { // the pipe ends with the broker
			p.said <- strings.TrimSpace(lines.Text())
		}
	}()
	timeout := time.NewTimer(startLimit)
	defer timeout.Stop()
	select {
	case p.Addr = <-p.said: // "" when the broker ends first
		if p.Addr != "" {
			return p, nil
		}
		err = errors.New("the embedded broker ended before it said its address")
	case <-timeout.C:
		err = fmt.Errorf("the embedded broker said no address within %v", startLimit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, p.Stop())
}

// Pace has the broker answer each fetch with one batch of records, after a pause, so that topics that are full come in as if
// somebody wrote them meanwhile. A pause of 0, which it begins with, is as fast as it can. It is for readers that begin afterwards:
// those that read already keep the size of what they are handed out. It returns when the broker has the pace; two calls must not be under way at once.
func (p *Process) Pace(pause time.Duration) error {
	line := fmt.Sprint(paceCommand, " ", pause)
	if _, err := fmt.Fprintln(p.stdin, line); err != nil {
		return fmt.Errorf("set the pace of the embedded broker: %w", err)
	}
	timeout := time.NewTimer(paceLimit)
	defer timeout.Stop()
	select {
	case said, ok := <-p.said:
		if !ok {
			return errors.New("set the pace of the embedded broker: it has ended")
		}
		if said != line {
			return fmt.Errorf("set the pace of the embedded broker: it answers %q, expected %q", said, line)
		}
		return nil
	case <-timeout.C:
		return fmt.Errorf("set the pace of the embedded broker: no answer within %v", paceLimit)
	}
}

// Stop ends the broker and waits for it. It is sent no signal: one that came when it had ended its work already would kill it.
func (p *Process) Stop() error {
	p.stdin.Close()
	timeout := time.NewTimer(stopLimit)
	defer timeout.Stop()
	select {
	case err := <-p.ended:
		p.ended <- nil // for a second Stop
		if err != nil {
			return fmt.Errorf("the embedded broker: %w", err)
		}
		return nil
	case <-timeout.C:
		p.cmd.Process.Kill()
		return fmt.Errorf("the embedded broker did not end within %v and was killed", stopLimit)
	}
}
