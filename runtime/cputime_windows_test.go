package runtime_test

import (
	"time"

	"golang.org/x/sys/windows"
)

// cpuTime is what this process has used, collector included. Windows counts in steps of 100 ns.
func cpuTime() time.Duration {
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user); err != nil {
		panic(err)
	}
	steps := func(t windows.Filetime) time.Duration {
		return time.Duration(t.HighDateTime)<<32 | time.Duration(t.LowDateTime)
	}
	return 100 * (steps(kernel) + steps(user))
}
