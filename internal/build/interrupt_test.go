//go:build unix

package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// slowGo is a go command that says that it has begun to build, and ends when it is interrupted.
const slowGo = `#!/bin/sh
if [ "$1" = env ]; then
	echo '{"GOVERSION": "go1.99.0"}'
	exit
fi
trap 'echo interrupted > "$DIR/end"; exit 1' INT
echo begun > "$DIR/begin"
while :; do sleep 0.1; done
`

// Ctrl-C reaches the go command, which takes its work away, and nothing of ours is left.
func TestInterruptReachesTheCompiler(t *testing.T) {
	r := request(t, hello)
	dir := t.TempDir()
	t.Setenv("DIR", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(slowGo), 0o755); err != nil {
		t.Fatal(err)
	}
	begin := filepath.Join(dir, "begin")
	if err := syscall.Mkfifo(begin, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		os.ReadFile(begin) // waits until the compiler writes
		cancel()
	}()
	if _, err := Build(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if end, err := os.ReadFile(filepath.Join(dir, "end")); err != nil || string(end) != "interrupted\n" {
		t.Errorf("the compiler was not interrupted: %q (%v)", end, err)
	}
	assertNoLeftovers(t, filepath.Dir(r.Output))
}
