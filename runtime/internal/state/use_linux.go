package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// useOf looks for the lock file in the kernel's list of locks (proc_locks(5)). A line names the inode as MAJOR:MINOR:INODE; some
// file systems show another device there than stat does, so the process id in the file counts as well. Locks of processes outside
// of the container are not in it.
func useOf(path string) (Use, int) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Free, 0
	}
	stat, ok := infoOf(info)
	locks, e := os.ReadFile("/proc/locks")
	if err != nil || e != nil || !ok {
		return UseUnknown, writtenPid(path)
	}
	major, minor := (stat.Dev>>8)&0xfff, stat.Dev&0xff|(stat.Dev>>12)&0xfff00
	file := fmt.Sprintf("%02x:%02x:%d", major, minor, stat.Ino)
	inode, written := fmt.Sprintf(":%d", stat.Ino), writtenPid(path)
	for line := range strings.Lines(string(locks)) {
		f := strings.Fields(line) // 1: FLOCK ADVISORY WRITE 4711 00:2b:123 0 EOF
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], inode) {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && (f[5] == file || pid == written) {
			return InUse, pid
		}
	}
	return Free, 0
}

func infoOf(info fs.FileInfo) (*syscall.Stat_t, bool) {
	if info == nil {
		return nil, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return stat, ok
}
