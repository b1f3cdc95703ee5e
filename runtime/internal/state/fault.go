package state

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"syscall"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// diskError is a failure of the disk or the file system: no rights, no space, an input/output error. If the path is that of no directory, it is what
// was said that is wrong.
func diskError(err error, what string, args ...any) error {
	kind, help := failure.Disk, "nothing is lost: free space or repair the disk, then start again"
	switch {
	case errors.Is(err, syscall.ELOOP):
		help = "it is a symbolic link, which is not followed: remove it. The directory itself may be one"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, fs.ErrExist):
		kind, help = failure.Usage, wantsDirectory
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		help = "the user of the program needs the right to read and write there, or --state names another directory"
	}
	return failure.New(kind, help, err, what, args...)
}

const wantsDirectory = "--state wants a directory, or a path at which one can be made"

// damagedError says that the file cannot be trusted. It never leads to an empty start.
func damagedError(path string, err error) error {
	return failure.New(failure.State, failure.StateHelp, err, "state file %s is damaged", path)
}

// later marks an entry that is whole, and has a field that this version does not know.
type later struct{ error }

func (l *later) Unwrap() error { return l.error }

// laterError says that the file is of a later version. It is well, so nothing that gives it up is proposed.
func laterError(path string, err error) error {
	return failure.New(failure.State, laterHelp, err, "state file %s was written by a later version of eoc", path)
}

const laterHelp = "run the program that made it, or compile this pipeline with that version of eoc or a later one; nothing is lost"

func isLater(err error) bool {
	var l *later
	return errors.As(err, &l)
}

// guarded runs fn and turns a panic of bbolt, which it raises on pages that make no sense, and a fault in its memory map, which the kernel
// raises when the disk cannot give a page, into an error.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &damage{fmt.Errorf("%v", r)}
		}
	}()
	return fn()
}

// damage marks an error as found in the file, not in reaching it.
type damage struct{ error }

func (d *damage) Unwrap() error { return d.error }

// found says where damage is.
func found(what string, args ...any) error { return &damage{fmt.Errorf(what, args...)} }

func isDamage(err error) bool {
	var d *damage
	return !isLater(err) && (errors.As(err, &d) || errors.Is(err, errDamaged))
}
