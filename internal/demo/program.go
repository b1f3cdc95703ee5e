package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// stopLimit is how long the program may take for its last checkpoint: its own deadline and a little more.
const stopLimit = 30 * time.Second

// program is the compiled pipeline, of which at most one process runs.
type program struct {
	path, dir, broker string

	cmd   *exec.Cmd
	ended chan error // gets what Wait says
	asked chan struct{}
}

// start starts a process. If it ends without having been asked to, unasked is told.
func (p *program) start(unasked context.CancelCauseFunc) error {
	log, err := os.OpenFile(filepath.Join(p.dir, "orders.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.path, "--brokers", p.broker, "--state", filepath.Join(p.dir, "state"), "--checkpoint-interval", interval)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, asked := make(chan error, 1), make(chan struct{})
	p.cmd, p.ended, p.asked = cmd, ended, asked
	go func() {
		err := cmd.Wait()
		select {
		case <-asked:
		default:
			unasked(fmt.Errorf("the program has ended by itself: %v", err))
		}
		ended <- err
	}()
	return nil
}

// kill is kill -9. Without a process it does nothing.
func (p *program) kill() {
	if p.cmd == nil {
		return
	}
	close(p.asked)
	p.cmd.Process.Kill()
	<-p.ended
	p.cmd = nil
}

// stop asks the process for a last checkpoint, and wants it to end well.
func (p *program) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	close(p.asked)
	p.asked = make(chan struct{}) // for a kill, if it does not end
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.ended:
		p.cmd = nil
		if err != nil {
			return fmt.Errorf("the program did not stop well: %w", err)
		}
		return nil
	case <-ctx.Done():
		return errors.New("the program does not stop")
	}
}
