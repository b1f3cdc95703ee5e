//go:build unix

package observe

import "golang.org/x/sys/unix"

// Columns is the width of the terminal fd; 0: not known.
func Columns(fd uintptr) int {
	size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
