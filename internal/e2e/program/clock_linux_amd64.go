package program

import (
	"bytes"
	"debug/elf"
	endian "encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/skip"
)

// clock is a wall clock of a process's own. Programs read the clock by calling clock_gettime of the vDSO, code that the kernel maps into
// every process. Here that is replaced by code that asks the kernel and adds to the answer, for the wall clock
// alone: the monotonic clock goes on as if nothing had happened, as it does when a machine's clock is set.
type clock struct {
	pid int
	at  int64 // where the seconds stand that are added
}

// ahead is clock_gettime(clock in edi, *timespec in rsi). The seconds stand behind it.
var ahead = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, 228: the system call clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi: 0 is CLOCK_REALTIME
	0x75, 0x0a, // jne ret
	0x48, 0x8b, 0x0d, 6, 0, 0, 0, // mov rcx, [seconds]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3,       // ret
	0xcc, 0xcc, // the seconds are aligned
}

// traced makes a process stop before its first instruction.
func traced(attr *syscall.SysProcAttr) { attr.Ptrace = true }

// newClock gives a process that has stopped before its first instruction its own clock, and lets it run. The calling thread has to be the one that
// started the process.
func newClock(pid int, by time.Duration) (*clock, error) {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if err == nil {
			break
		}
		if err != syscall.EINTR {
			return nil, os.NewSyscallError("wait4", err)
		}
	}
	if !status.Stopped() {
		return nil, fmt.Errorf("the process has not stopped before its first instruction: status %#x", status)
	}
	address, err := clockGettime(pid)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoClock, err)
	}
	c := &clock{pid: pid, at: address + int64(len(ahead))}
	if err := c.write(address, ahead); err != nil {
		return nil, err
	}
	if err := c.set(by); err != nil {
		return nil, err
	}
	return c, os.NewSyscallError("ptrace", syscall.PtraceDetach(pid))
}

// clockGettime finds the function in a process.
func clockGettime(pid int) (int64, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(line, "[vdso]\n") {
			continue
		}
		var from, to int64
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			return 0, err
		}
		image := make([]byte, to-from)
		memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			return 0, err
		}
		defer memory.Close()
		if _, err := memory.ReadAt(image, from); err != nil {
			return 0, err
		}
		file, err := elf.NewFile(bytes.NewReader(image))
		if err != nil {
			return 0, err
		}
		symbols, err := file.DynamicSymbols()
		if err != nil {
			return 0, err
		}
		for _, s := range symbols {
			if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(ahead)+8) {
				return from + int64(s.Value), nil
			}
		}
	}
	return 0, fmt.Errorf("process %d has no clock_gettime of %d bytes in its vDSO", pid, len(ahead)+8)
}

// forbidden marks the errors of systems on which nobody may write the memory of another process, or not over its code.
func forbidden(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%w: %w", errNoClock, err)
	}
	return err
}

func (c *clock) write(at int64, data []byte) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_WRONLY, 0)
	if err != nil {
		return forbidden(err)
	}
	defer memory.Close()
	_, err = memory.WriteAt(data, at)
	return forbidden(err)
}

func (c *clock) set(by time.Duration) error {
	return c.write(c.at, endian.LittleEndian.AppendUint64(nil, uint64(int64(by/time.Second))))
}

func (p *Process) gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// SetClock sets the process's own wall clock, ahead of the machine's by so many seconds, behind if it is negative.
func (p *Process) SetClock(t testing.TB, by time.Duration) {
	t.Helper()
	if err := p.clock.set(by); noClock(err) && !p.gone() {
		skip.Loudly(t, "a clock that jumps is not tried: %v", err)
	} else if err != nil {
		t.Fatalf("set the clock of the program: %v; the end of its log:\n%s", err, p.Tail(20))
	}
}
