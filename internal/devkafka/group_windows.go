package devkafka

import (
	"os/exec"
	"syscall"
)

// OwnGroup makes the process a group of its own, which Ctrl-C at the console does not reach.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
