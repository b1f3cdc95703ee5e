//go:build linux || darwin || freebsd

package state

import "golang.org/x/sys/unix"

// mayWrite asks the system whether files can be made in a directory, without making one (access(2)).
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// freeSpace is how many bytes the file system of a directory has left for who is not root (statfs(2)).
func freeSpace(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Unknown
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
