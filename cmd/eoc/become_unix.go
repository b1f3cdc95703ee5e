//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// become replaces this process by the program. So a signal reaches it once, whether a terminal sends it to a whole process
// group or a supervisor to the process that it has started, and nothing stands between it and who waits for it.
func become(ctx context.Context, binary string, args []string, _ streams) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := syscall.Exec(binary, append([]string{filepath.Base(binary)}, args...), os.Environ())
	return fmt.Errorf("cannot run %s: %w", binary, err)
}
