package state

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// forget makes the system drop what it has of a file in memory, so that the next who reads the file sees the disk. After a failed sync Linux takes pages for
// written that are not, and says so once: a start would go on from pages that the next loss of power takes away.
func forget(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
}
