package kafkatest

import (
	"os/exec"
	"syscall"
)

// tie makes the kernel kill the process when the thread that started it ends.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
