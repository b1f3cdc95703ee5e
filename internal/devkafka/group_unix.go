//go:build unix

package devkafka

import (
	"os/exec"
	"syscall"
)

// OwnGroup makes the process a group of its own, which signals of the terminal do not reach.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
