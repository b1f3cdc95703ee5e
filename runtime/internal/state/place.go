package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Place is a state directory as the file system shows it.
type Place struct {
	Dir    string
	Exists bool
	Mode   fs.FileMode // its permissions, if it exists
	// Denied says why the program may not write there, or where the directory is to be made; nil: it may, as far as the system tells.
	Denied error
	// Free is how many bytes the user of the program can still write there; Unknown if the system does not say.
	Free int64
	Use  Use
	User int // process id of who has taken the directory; 0: not known
}

// Unknown is what Place.Free is where the system does not say.
const Unknown = -1

// Use says whether a process has taken a directory.
type Use uint8

const (
	UseUnknown Use = iota // the system does not tell, or not about processes of another container
	Free
	InUse
)

// String is the use in a word or two.
func (u Use) String() string { return [...]string{"unknown", "free", "in use"}[u] }

// LookAt looks at a directory without taking its lock: to try a lock is to have it for a moment, in which a program that starts would be refused.
func LookAt(dir string) (Place, error) {
	p := Place{Dir: dir, Free: Unknown}
	info, err := os.Stat(dir)
	where := dir
	switch {
	case err == nil && !info.IsDir():
		return p, diskError(&fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}, "cannot make state directory %s", dir)
	case err == nil:
		p.Exists, p.Mode = true, info.Mode().Perm()
		p.Use, p.User = useOf(filepath.Join(dir, lockName))
	case errors.Is(err, fs.ErrNotExist):
		p.Use = Free
		if where, err = ancestor(dir); err != nil {
			return p, diskError(err, "cannot make state directory %s", dir)
		}
	default:
		return p, diskError(err, "cannot look at state directory %s", dir)
	}
	if p.Exists {
		p.Denied = checkOwn(dir)
	}
	if err := mayWrite(where); err != nil {
		p.Denied = diskError(&fs.PathError{Op: "write", Path: where, Err: err}, "cannot use state directory %s", dir)
	}
	p.Free = freeSpace(where)
	return p, nil
}

// ancestor is the nearest directory above dir that exists.
func ancestor(dir string) (string, error) {
	for up := filepath.Dir(filepath.Clean(dir)); ; up = filepath.Dir(up) {
		info, err := os.Stat(up)
		switch {
		case err == nil && !info.IsDir():
			return "", &fs.PathError{Op: "mkdir", Path: up, Err: fs.ErrExist}
		case err == nil:
			return up, nil
		case !errors.Is(err, fs.ErrNotExist) || up == filepath.Dir(up):
			return "", err
		}
	}
}

// writtenPid is the process id in a lock file, 0 if there is none.
func writtenPid(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
