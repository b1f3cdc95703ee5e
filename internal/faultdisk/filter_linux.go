//go:build linux && (amd64 || arm64)

package faultdisk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopped lists the system calls that the filter stops.
var stopped = []uint32{
	unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FADVISE64,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT,
}

// notice and answer are struct seccomp_notif and seccomp_notif_resp of linux/seccomp.h.
type notice struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// install puts the filter in front of all threads of this process, once. It stays until the process ends.
var install = sync.OnceValue(func() error {
	listener := make(chan int)
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: this thread answers
		fd, err := listen()
		if err != nil {
			failed <- fmt.Errorf("%w: %w", ErrUnsupported, err)
			return
		}
		listener <- fd
		serve(fd)
	}()
	select {
	case err := <-failed:
		return err
	case <-listener:
		return nil
	}
})

// listen installs the filter. No thread may get rights by exec afterwards, without which only root may install one.
func listen() (int, error) {
	arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	const nr, archAt = 0, 4 // in struct seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: uint8(yes), Jf: uint8(no)}
	}
	program := []unix.SockFilter{load(archAt), equal(arch, 0, len(stopped)+1), load(nr)}
	for i, call := range stopped {
		program = append(program, equal(call, len(stopped)-i, 0))
	}
	program = append(program,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH |
		unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV // no signal interrupts a call that was received, which then came twice
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return 0, errno
	}
	unix.CloseOnExec(int(fd))
	return int(fd), nil
}

// serve answers until the process ends. It must not make a call that the filter stops: nobody would answer.
func serve(fd int) {
	for {
		var n notice
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			if errno == unix.EINTR || errno == unix.ENOENT { // a signal, or who asked is gone
				continue
			}
			panic(fmt.Sprintf("faultdisk: receiving a call: %v", errno))
		}
		a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if errno := n.note(); errno != 0 {
			a = answer{id: n.id, err: -int32(errno)}
		}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a))); errno != 0 && errno != unix.ENOENT {
			panic(fmt.Sprintf("faultdisk: answering a call: %v", errno))
		}
	}
}

// note finds the watched directory that a call is about, and tells it. It returns how the call is to fail.
func (n *notice) note() syscall.Errno {
	path, call := n.path()
	if path == "" {
		return 0
	}
	watched.mu.Lock()
	defer watched.mu.Unlock()
	for _, d := range watched.disks {
		switch {
		case path == d.dir && call.Op == Sync:
			return d.note(Call{Op: SyncDir, Name: "."})
		case filepath.Dir(path) == d.dir:
			n.read(&call)
			call.Name = filepath.Base(path)
			return d.note(call)
		}
	}
	return 0
}

// path is the file that a call is about; "" if it is about none.
func (n *notice) path() (string, Call) {
	var c Call
	switch uint32(n.nr) {
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		to := n.text(n.args[3])
		c.Op, c.To = Rename, filepath.Base(to)
		if file, err := inode(to); err == nil {
			c.file = file
		}
		return n.text(n.args[1]), c
	case unix.SYS_UNLINKAT:
		c.Op = Remove
		path := n.text(n.args[1])
		file, err := inode(path)
		if err != nil {
			return "", c // there is nothing to remove
		}
		c.file = file
		return path, c
	case unix.SYS_PWRITE64:
		c.Op, c.Offset = Write, int64(n.args[3])
	case unix.SYS_FTRUNCATE:
		c.Op, c.Offset = Truncate, int64(n.args[1])
	case unix.SYS_FADVISE64:
		c.Op = Forget
	default:
		c.Op = Sync
	}
	path, err := os.Readlink(n.link())
	if err != nil || strings.HasSuffix(path, " (deleted)") { // what has no name is in no directory
		return "", c
	}
	return path, c
}

// link is where the system shows the open file of a call.
func (n *notice) link() string { return fmt.Sprintf("/proc/%d/fd/%d", n.pid, int32(n.args[0])) }

// read takes what a call about an open file writes.
func (n *notice) read(c *Call) {
	if c.Op == Rename || c.Op == Remove {
		return
	}
	var err error
	if c.file, err = inode(n.link()); err != nil {
		panic(fmt.Sprintf("faultdisk: the file of a call: %v", err))
	}
	if c.Op == Write {
		c.Data = n.memory(n.args[1], int(n.args[2]))
		if len(c.Data) != int(n.args[2]) {
			panic("faultdisk: a call's data cannot be read")
		}
	}
}

// text is a string of the process that calls.
func (n *notice) text(at uint64) string {
	text, _, _ := strings.Cut(string(n.memory(at, unix.PathMax)), "\x00")
	return text
}

// memory reads up to size bytes of the process that calls; fewer where its memory ends.
func (n *notice) memory(at uint64, size int) []byte {
	b := make([]byte, size)
	if size == 0 {
		return b
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(size)
	got := 0
	const page = 4096 // remote parts by page, since a part is read as a whole or not at all
	var remote []unix.RemoteIovec
	for from := uintptr(at); from < uintptr(at)+uintptr(size); {
		end := min((from/page+1)*page, uintptr(at)+uintptr(size))
		remote = append(remote, unix.RemoteIovec{Base: from, Len: int(end - from)})
		from = end
	}
	for len(remote) > 0 {
		part := remote[:min(len(remote), 1024)] // IOV_MAX
		local[0].Base = &b[got]
		local[0].SetLen(size - got)
		read, err := unix.ProcessVMReadv(int(n.pid), local, part, 0)
		if err != nil || read == 0 {
			break
		}
		got += read
		remote = remote[len(part):]
	}
	return b[:got]
}

func inodeOf(info fs.FileInfo) (uint64, error) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, ErrUnsupported
	}
	return s.Ino, nil
}
