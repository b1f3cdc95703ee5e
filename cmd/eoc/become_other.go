//go:build !unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

// become runs the program as a child. An interrupt of the console reaches both; eoc leaves it to the program and waits.
func become(_ context.Context, binary string, args []string, io streams) error {
	signal.Ignore(os.Interrupt)
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = io.in, io.out, io.err
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return programError(exit.ExitCode())
	}
	return fmt.Errorf("cannot run %s: %w", binary, err)
}
