//go:build !linux

package faultdisk

import (
	"testing"

	"github.com/eoc-lang/eoc/internal/skip"
)

// Tmpfs mounts a small file system for the test on Linux, and skips it here.
func Tmpfs(t testing.TB, _ string) string {
	t.Helper()
	skip.Loudly(t, "a real file system that is full or cannot be written is not tried: only on Linux")
	return ""
}

// ReadOnly mounts a file system of Tmpfs anew, so that nobody may write there.
func ReadOnly(testing.TB, string) {}
