//go:build !linux || !amd64

package program

import (
	"fmt"
	"syscall"
	"time"
)

type clock struct{}

func traced(*syscall.SysProcAttr) {}

// newClock is for Linux on amd64 alone, and so are the tests that need it.
func newClock(int, time.Duration) (*clock, error) {
	return nil, fmt.Errorf("%w: only on Linux on amd64", errNoClock)
}
