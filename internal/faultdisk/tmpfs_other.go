//go:build !linux

package faultdisk

import (
	"errors"
	"testing"

	"github.com/eoc-lang/eoc/internal/skip"
)

// Tmpfs mounts a small file system for the test on Linux, and skips it here.
func Tmpfs(t testing.TB, _ string) string {
	t.Helper()
	_, err := Mount(t, "")
	skip.Loudly(t, "a real file system that is full or cannot be written is not tried: %v", err)
	return ""
}

// Mount is Tmpfs for tests that can do without.
func Mount(testing.TB, string) (string, error) { return "", errors.New("only on Linux") }

// ReadOnly mounts a file system of Tmpfs anew, so that nobody may write there.
func ReadOnly(testing.TB, string) {}
