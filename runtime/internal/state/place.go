package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
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
	p := Place{Dir: dir, Free: Unknown, Use: Free}
	where, err := standing(dir)
	if err != nil {
		return p, err
	}
	if where == filepath.Clean(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return p, diskError(err, "cannot look at state directory %s", dir)
		}
		p.Exists, p.Mode = true, info.Mode().Perm()
		p.Use, p.User = useOf(filepath.Join(dir, lockName))
		p.Denied = checkOwn(dir)
	}
	if denied := mayUse(where, p.Exists); denied != nil {
		p.Denied = diskError(denied, "cannot use state directory %s", dir)
	}
	p.Free = freeSpace(where)
	return p, nil
}

// mayUse says why the program may not write in a directory, or to the files of a state that are there already. They may be another user's, who has
// started the program once.
func mayUse(where string, own bool) error {
	if err := mayWrite(where, true); err != nil {
		return &fs.PathError{Op: "write", Path: where, Err: err}
	}
	for _, name := range []string{lockName, fileName} {
		path := filepath.Join(where, name)
		if _, err := os.Lstat(path); !own || err != nil {
			continue
		}
		if err := mayWrite(path, false); err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
	}
	return nil
}

// standing is the directory itself, or the nearest one above it that exists. It fails if the path is that of something else, or if nothing can be
// made at it, as a start would find out: nothing is made for that.
func standing(dir string) (string, error) {
	whole := filepath.Clean(dir)
	for at := whole; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && info.IsDir():
			if shows := shown(at); at != whole && shows != "" {
				return "", noDirectory(dir, at, "where the system shows "+shows+", so nothing can be made there", "")
			}
			return at, nil
		case err == nil:
			return "", noDirectory(dir, at, kindOf(info.Mode()), filepath.Base(at))
		case errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at):
			if _, err := os.Lstat(at); err == nil {
				return "", noDirectory(dir, at, "a symbolic link that leads nowhere", "")
			}
		case !errors.Is(err, syscall.ENOTDIR): // else there is a file further up
			return "", diskError(err, "cannot look at state directory %s", dir)
		}
	}
}

// noDirectory refuses a path at which there is no directory and cannot be one, since something else is at it or above. name is that of a file.
func noDirectory(dir, at, what, name string) error {
	help := wantsDirectory
	if name == fileName {
		help = "--state wants the directory that the file is in: " + filepath.Dir(at)
	}
	if at == filepath.Clean(dir) {
		return failure.New(failure.Usage, help, nil, "a directory is expected for the state, and %s is %s", dir, what)
	}
	return failure.New(failure.Usage, help, nil, "there cannot be a state directory %s: %s is %s", dir, at, what)
}

// Where names a directory for people. One that is relative depends on where the program was started, which is easily another place than thought.
func Where(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil && !filepath.IsAbs(dir) {
		return dir + " (" + abs + ")"
	}
	return dir
}

// None says that there is no state in a directory, or not even the directory.
func None(dir string) error {
	where := Where(dir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		where += ", which does not exist"
	}
	return failure.New(failure.State, "name the directory of the pipeline with --state; one that was never started has none yet", nil, "there is no state in %s", where)
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
