package faultdisk

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// ErrUnsupported says that the system does not let a process watch its own calls.
var ErrUnsupported = errors.New("needs Linux 5.19 or later on amd64 or arm64, and the right to install a seccomp filter")

// Op is a kind of call.
type Op string

// The calls that are watched.
const (
	Write    Op = "write"
	Truncate Op = "truncate"
	Sync     Op = "sync"
	SyncDir  Op = "sync directory"
	Forget   Op = "forget" // the copy of a file that the system has in memory (fadvise DONTNEED)
	Rename   Op = "rename"
	Remove   Op = "remove"
)

// Call is one call to a file of a watched directory.
type Call struct {
	Op     Op
	Name   string // of the file in the directory
	To     string // of Rename: its new name
	Offset int64  // of Write; of Truncate the new size
	Data   []byte // of Write
	Failed syscall.Errno

	file uint64 // inode; of Rename and Remove that of the file that goes, 0 if there is none
	fate uint64 // of a sync that failed: what of the file is lost
}

// Disk watches one directory. Its methods may be called from any goroutine.
type Disk struct {
	dir  string
	base *replay // what was there when the watching began

	mu    sync.Mutex
	calls []Call
	rule  func(n int, c Call) syscall.Errno
	fates *rand.Rand
}

// watched is every directory that is watched at the moment.
var watched struct {
	mu    sync.Mutex
	disks []*Disk
}

// Watch begins to write down what happens to files in a directory. What is in it counts as synced. The error is ErrUnsupported
// where that is not possible.
func Watch(dir string) (*Disk, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	base := newReplay()
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		base.durable[e.Name()] = base.add(&file{disk: data, memory: data})
	}
	return watch(dir, base)
}

// Restart makes dir, which is empty, what the next process finds if this one is killed after the first calls: what was written is
// there, synced or not, because the system has it in memory. It watches dir, and knows what of it is not on the disk.
func (d *Disk) Restart(calls int, dir string) (*Disk, error) {
	base := d.replay(calls)
	for name, f := range base.names() {
		if err := os.WriteFile(filepath.Join(dir, name), f.memory, 0o600); err != nil {
			return nil, err
		}
	}
	return watch(dir, base)
}

// watch watches a directory that holds what base does.
func watch(dir string, base *replay) (*Disk, error) {
	if err := install(); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	base.files = map[uint64]*file{}
	for name, f := range base.names() {
		number, err := inode(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		base.files[number] = f
	}
	d := &Disk{dir: dir, base: base, fates: rand.New(rand.NewPCG(0, 0))}
	watched.mu.Lock()
	defer watched.mu.Unlock()
	watched.disks = append(watched.disks, d)
	return d, nil
}

// Close ends the watching.
func (d *Disk) Close() {
	watched.mu.Lock()
	defer watched.mu.Unlock()
	watched.disks = slices.DeleteFunc(watched.disks, func(o *Disk) bool { return o == d })
}

// Calls are those so far.
func (d *Disk) Calls() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Count is how many calls there were so far.
func (d *Disk) Count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.calls)
}

// Fail asks rule for the error of each call from now on; n counts all calls from 0, and 0 is no error. nil ends it. rule runs on the one
// thread that answers all calls of this process, with d locked: it must call no method of a Disk, make no call of the watched kinds on any file, and
// wait for nothing that such a call of another goroutine would bring, or the process stands still.
func (d *Disk) Fail(rule func(n int, c Call) syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rule = rule
}

// Seed seeds what is lost by syncs that fail from now on.
func (d *Disk) Seed(seed uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fates = rand.New(rand.NewPCG(seed, 0))
}

// note writes a call down and says how it fails.
func (d *Disk) note(c Call) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rule != nil {
		c.Failed = d.rule(len(d.calls), c)
	}
	if c.Op == Sync && c.Failed != 0 {
		c.fate = d.fates.Uint64()
	}
	d.calls = append(d.calls, c)
	return c.Failed
}

// Image is a directory: what its files hold.
type Image map[string][]byte

// Write writes the files into a directory.
func (i Image) Write(dir string) error {
	for name, data := range i {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Names are those of the files, sorted.
func (i Image) Names() []string { return slices.Sorted(maps.Keys(i)) }

func inode(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return inodeOf(info)
}
