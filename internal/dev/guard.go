package dev

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// stopLine is what a guard is told when the program is to stop.
const stopLine = "stop"

// ExitKilled is the code of a program that a signal has ended, as shells have it for SIGKILL.
const ExitKilled = 137

// Guard runs a program and returns its exit code. A line "stop" from in asks the program to stop. When in ends, the program
// is killed: whoever wanted it is gone, and it would wait for its broker for ever.
func Guard(in io.Reader, out, err io.Writer, command []string) (code int, _ error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, err
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the program: %w", err)
	}
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			if lines.Text() == stopLine {
				// Where there are no signals, a kill loses nothing either.
				if cmd.Process.Signal(syscall.SIGTERM) != nil {
					cmd.Process.Kill()
				}
			}
		}
		cmd.Process.Kill()
	}()
	failure := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case failure == nil:
		return 0, nil
	case errors.As(failure, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case errors.As(failure, &exit):
		return ExitKilled, nil
	}
	return 0, fmt.Errorf("wait for the program: %w", failure)
}
