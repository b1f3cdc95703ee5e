package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/dev"
	"github.com/eoc-lang/eoc/internal/devkafka"
)

// lifeLimit is how long one life of the program may last, beside the time that its data takes (sample.limit). Only a fault reaches it.
const lifeLimit = time.Minute

// process is one life of the program, under a guard: it dies with eoc.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	log   string
	ended chan struct{}
}

// start starts a command, which is a guard's, and writes what it says to the file log.
func start(command []string, environment []string, log string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(withoutSettings(os.Environ()), environment...)
	cmd.Stdout, cmd.Stderr = file, file
	devkafka.OwnGroup(cmd) // an interrupt at the terminal is eoc's
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the program: %w", err)
	}
	p := &process{cmd: cmd, stdin: stdin, log: log, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		cmd.Wait() // ProcessState says how it ended
	}()
	return p, nil
}

// withoutSettings leaves out what is said to programs: they are told everything here.
func withoutSettings(environment []string) []string {
	var out []string
	for _, pair := range environment {
		if !strings.HasPrefix(pair, "EO_") {
			out = append(out, pair)
		}
	}
	return out
}

// errStuck says that a life did not end.
var errStuck = errors.New("it still ran")

// wait waits for the end of the life, which is kill -9 after a while if that is not 0, and returns its exit code. At the limit
// it kills the program and returns errStuck.
func (p *process) wait(ctx context.Context, limit, after time.Duration) (code int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w after %v and was killed", errStuck, limit))
	defer cancel()
	var moment <-chan time.Time
	if after > 0 {
		timer := time.NewTimer(after)
		defer timer.Stop()
		moment = timer.C
	}
	select {
	case <-p.ended:
	case <-moment:
		p.kill()
	case <-ctx.Done():
		p.kill()
		return dev.ExitKilled, context.Cause(ctx)
	}
	return p.cmd.ProcessState.ExitCode(), nil
}

// kill is kill -9: the guard does it when its standard input ends.
func (p *process) kill() {
	p.stdin.Close()
	<-p.ended
}
