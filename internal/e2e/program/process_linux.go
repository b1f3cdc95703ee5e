package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// tie makes the kernel kill the process when the test that started it dies.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// Stopped says whether a process is stopped, with all its threads: a moment after SIGSTOP some of them may still run.
func Stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		_, state, _ := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" ")) // the name before it may have any character
		if os.IsNotExist(err) {
			continue // it has ended meanwhile
		}
		if err != nil || len(state) == 0 || state[0] != 'T' && state[0] != 't' {
			return false
		}
	}
	return true
}
