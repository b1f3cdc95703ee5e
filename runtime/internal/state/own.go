package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// privateMode is of every file in a state directory: it holds keys and values of records.
const privateMode = 0o600

// checkOwn refuses a directory that holds other things and no state, such as / or a home: it was named by mistake, and who moves, copies or clears
// the state of a pipeline takes the directory as a whole.
func checkOwn(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return diskError(err, "cannot read state directory %s", dir)
	}
	var others []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == fileName:
			return nil
		case !isOwn(name):
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	const shown = 3
	list := strings.Join(others[:min(shown, len(others))], ", ")
	if len(others) > shown {
		list += ", …"
	}
	return failure.New(failure.Usage, "a state directory belongs to one pipeline alone: with --state name one that is empty or not there yet, such as "+filepath.Join(dir, "state"), nil,
		"directory %s holds other things (%s) and no state", dir, list)
}

// isOwn says whether a name is of a state directory, or of the file system's own in it.
func isOwn(name string) bool {
	return slices.Contains([]string{lockName, "lost+found"}, name) || strings.HasPrefix(name, fileName+".") || strings.HasPrefix(name, ".")
}

// checkFile looks at the file of a state, and takes the rights away from it that others have, as after a copy. The error is
// fs.ErrNotExist if there is none.
func checkFile(path string) error {
	mode, err := regular(path)
	if err != nil || mode.Perm()&^privateMode == 0 {
		return err
	}
	if err := os.Chmod(path, privateMode); err != nil && !errors.Is(err, fs.ErrPermission) { // another user's, who has given it to us through a group
		return err
	}
	return nil
}

// regular refuses what is no file: a link, which may lead anywhere, or a pipe, at which an open would wait.
func regular(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, failure.New(failure.Disk, "put the state itself there. --state names its directory, which may be a link", nil, "%s is no regular file but %s", path, kindOf(info.Mode()))
	}
	return info.Mode(), nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m.IsRegular():
		return "a file"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return fmt.Sprintf("a special file (%v)", m)
}

// Exposed says what rights others than owner and group have to the directory; 0 where the system knows none. Its files are private in any case, but
// who may write there can take them away.
func (b *Bolt) Exposed() (fs.FileMode, error) {
	info, err := os.Stat(b.dir)
	if err != nil {
		return 0, diskError(err, "cannot look at state directory %s", b.dir)
	}
	if runtime.GOOS == "windows" { // where every directory has the same mode
		return 0, nil
	}
	return info.Mode().Perm() & 0o007, nil
}
