package program

import (
	"os/exec"
	"syscall"
)

// tie makes the kernel kill the process when the test that started it dies.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
