//go:build unix

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is how far a program was at a moment, and what it had used by then.
type sample struct {
	at   time.Time
	read int           // records whose results are committed
	cpu  time.Duration // of all its threads, user and system
}

// tick is the unit of /proc/PID/stat: Linux shows it as 1/100 s to programs whatever its own is (USER_HZ).
const tick = 10 * time.Millisecond

// cpuTime is the CPU time that a process has used so far; see proc(5).
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name in brackets may hold anything
	const utime, stime = 11, 12                                     // counted from behind the name
	user, err := strconv.ParseInt(string(fields[utime]), 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(string(fields[stime]), 10, 64)
	return time.Duration(user+system) * tick, err
}

// peakMemory is the greatest resident set that a process has had, in bytes. What wait4 tells is no good: it
// counts the process that forked too.
func peakMemory(pid int) (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no VmHWM", pid)
}

// steady is the part of a run between two shares of its input: how long it took and what it used. Progress shows when a
// checkpoint is committed, so between two samples it is taken to be even.
func steady(samples []sample, from, to int) (wall, cpu time.Duration) {
	a, b := between(samples, from), between(samples, to)
	return b.at.Sub(a.at), b.cpu - a.cpu
}

// between is the sample at the moment when so many records were read.
func between(samples []sample, read int) sample {
	i, _ := slices.BinarySearchFunc(samples, read, func(s sample, n int) int { return s.read - n })
	if i == 0 || i == len(samples) {
		return samples[min(i, len(samples)-1)]
	}
	a, b := samples[i-1], samples[i]
	part := float64(read-a.read) / float64(b.read-a.read)
	return sample{
		at:   a.at.Add(time.Duration(part * float64(b.at.Sub(a.at)))),
		read: read,
		cpu:  a.cpu + time.Duration(part*float64(b.cpu-a.cpu)),
	}
}

// percentile is the value that a share of the values does not exceed (nearest rank). It sorts them.
func percentile(values []time.Duration, share float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(share*float64(len(values))), len(values)-1)]
}
