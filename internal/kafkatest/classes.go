package kafkatest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// archive finds the file in which the classes of a broker stand as the JVM has them in memory, with which one starts with two thirds of the work
// (class data sharing, JEP 350). The first call on a machine, for each java, has a broker write it. A file that is there
// is complete: it gets its name last. An empty one says that this java writes none, and "" goes without; so does a JVM that the file does not fit.
func (k kafka) archive() (string, error) {
	binary, err := filepath.EvalSymlinks(k.java)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return "", err
	}
	path := fmt.Sprintf("%s-%x.jsa", k.lib, info.ModTime().UnixNano())
	for {
		switch info, err := os.Stat(path); {
		case err == nil && info.Size() == 0:
			return "", nil
		case err == nil:
			return path, nil
		case !errors.Is(err, os.ErrNotExist):
			return "", err
		}
		if err := k.write(path); err != nil {
			return "", err
		}
	}
}

// write runs a broker, stops it in order, and puts the file of its classes in place.
func (k kafka) write(path string) error {
	unlock, err := lock(k.lib + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return nil // somebody else has
	}
	b := &Broker{Options: Options{TransactionVersion: latestTransactions}, kafka: k, place: place{id: 1, cluster: newClusterID()}}
	defer b.discard()
	if err := b.prepare(); err != nil {
		return err
	}
	written := b.path("classes.jsa")
	b.kafka.flags = []string{"-XX:+IgnoreUnrecognizedVMOptions", "-XX:ArchiveClassesAtExit=" + written}
	if err := b.start(); err != nil {
		return err
	}
	if err := b.process.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := b.process.awaitEnd(stopLimit); err != nil {
		return err
	}
	// A copy gets the name, since the folder of the broker may be on another disk.
	classes, err := os.ReadFile(written)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) { // of one that was killed while it wrote
		return err
	}
	if err := os.WriteFile(part, classes, 0o444); err != nil {
		return err
	}
	return os.Rename(part, path)
}
