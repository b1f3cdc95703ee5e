//go:build unix

package runtime_test

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used, collector included. Wall time says little
// on a machine with other work.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
