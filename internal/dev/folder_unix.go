//go:build unix

package dev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// held is a file in a temporary folder that the eoc which works there has locked. The kernel gives the lock up for a process that dies.
const held = "held"

// hold has this process hold a folder until letGo is called. The file gets its name when it is locked: without it a folder is not looked at.
func hold(dir string) (letGo func(), err error) {
	file, err := os.Create(filepath.Join(dir, held+".new"))
	if err != nil {
		return nil, err
	}
	err = lock(file)
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, held))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hold the folder %s: %w", dir, err), file.Close())
	}
	return func() { file.Close() }, nil
}

// abandoned says whether the process that has held a folder is gone.
func abandoned(dir string) bool {
	file, err := os.OpenFile(filepath.Join(dir, held), os.O_RDWR, 0)
	if err != nil {
		return false // it is just being made, or another user's
	}
	defer file.Close()
	return lock(file) == nil
}

func lock(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
