package faultdisk

import (
	"fmt"
	"testing"

	"github.com/eoc-lang/eoc/internal/skip"
	"golang.org/x/sys/unix"
)

// Tmpfs mounts a small file system for the test, with options such as size=4m. Who may not skips the test.
func Tmpfs(t testing.TB, options string) string {
	t.Helper()
	dir, err := Mount(t, options)
	if err != nil {
		skip.Loudly(t, "a real file system that is full or cannot be written is not tried: %v", err)
	}
	return dir
}

// Mount is Tmpfs for tests that can do without.
func Mount(t testing.TB, options string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		return "", fmt.Errorf("mounting one needs root: %w", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, nil
}

// ReadOnly mounts a file system of Tmpfs anew, so that nobody may write there.
func ReadOnly(t testing.TB, dir string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}
