//go:build linux || darwin || freebsd

package state

import "golang.org/x/sys/unix"

// mayWrite asks the system whether files can be made in a directory, or whether a file can be read and written, without doing it (access(2)).
func mayWrite(path string, directory bool) error {
	how := uint32(unix.R_OK | unix.W_OK)
	if directory {
		how |= unix.X_OK
	}
	return unix.Access(path, how)
}

// freeSpace is how many bytes the file system of a directory has left for who is not root (statfs(2)).
func freeSpace(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Unknown
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
