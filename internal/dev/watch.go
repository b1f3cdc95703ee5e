package dev

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/eoc-lang/eoc/dsl"
)

// settle is how long a file has to rest before it counts as saved: editors write it in several steps.
const settle = 50 * time.Millisecond

// watchFile says when the contents of a file have changed. Folders are watched, since most editors put a new file in the place of
// the old one. stop ends it.
func watchFile(name string) (changed <-chan struct{}, stop func(), err error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, nil, fmt.Errorf("watch %s: %w", name, err)
	}
	// The file itself may be elsewhere, and the name a link to it.
	dirs := []string{filepath.Dir(name)}
	if target, err := filepath.EvalSymlinks(name); err == nil && filepath.Dir(target) != dirs[0] {
		dirs = append(dirs, filepath.Dir(target))
	}
	for _, dir := range dirs {
		if err := w.Add(dir); err != nil {
			w.Close()
			return nil, nil, fmt.Errorf("watch %s: %w", dir, err)
		}
	}
	out, done := make(chan struct{}, 1), make(chan struct{})
	last := contents(name)
	go func() {
		defer close(done)
		var rested <-chan time.Time
		for {
			select {
			case _, ok := <-w.Events:
				if !ok {
					return
				}
				rested = time.After(settle)
			case _, ok := <-w.Errors: // an overflow: something has happened
				if !ok {
					return
				}
				rested = time.After(settle)
			case <-rested:
				rested = nil
				now := contents(name)
				if now == nil || last != nil && *now == *last {
					continue // not there, for a moment; or the same
				}
				last = now
				select {
				case out <- struct{}{}:
				default: // it is known already
				}
			}
		}
	}()
	return out, func() { w.Close(); <-done }, nil
}

// contents is a hash of a file, of no more than what can be compiled; nil if it cannot be read. What is no file of the disk may be without an end, or
// have nothing to read until somebody writes.
func contents(name string) *[sha256.Size]byte {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, dsl.MaxSource+1)); err != nil {
		return nil
	}
	return (*[sha256.Size]byte)(sum.Sum(nil))
}
