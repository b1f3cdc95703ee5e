package dev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// folders are the temporary folders of eoc dev, in that of the system.
const folders = "eoc-dev-*"

// makeDir makes the folder for state and log. release gives it up: a temporary one is removed.
func (d *dev) makeDir() (release func() error, err error) {
	if d.Keep == "" {
		removeAbandoned()
		return d.makeTemporary()
	}
	if info, err := os.Stat(d.Keep); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("--keep is %s, which is no folder", d.Keep)
	}
	if err := os.MkdirAll(d.Keep, 0o777); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.Keep)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("the folder %s is not empty: what it holds belongs to a broker that is gone; choose another for --keep", d.Keep)
	}
	d.dir = d.Keep
	return func() error { return nil }, err
}

func (d *dev) makeTemporary() (release func() error, err error) {
	if d.dir, err = os.MkdirTemp("", folders); err != nil {
		return nil, err
	}
	letGo, err := hold(d.dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.dir))
	}
	return func() error {
		defer letGo() // nobody else is to begin with it before
		return os.RemoveAll(d.dir)
	}, nil
}

// removeAbandoned removes temporary folders whose eoc was killed. What cannot be removed stays, as it has until now.
func removeAbandoned() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), folders))
	if err != nil {
		return // the name of the system's folder is no pattern
	}
	for _, dir := range dirs {
		if abandoned(dir) {
			os.RemoveAll(dir)
		}
	}
}
