//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/e2e/program"
)

// Compiler and program have colours on a terminal, unless NO_COLOR has any text or the terminal is dumb, and none elsewhere.
func TestColours(t *testing.T) {
	dir := t.TempDir()
	faulty := filepath.Join(dir, "faulty.eo")
	if err := os.WriteFile(faulty, []byte("stream x {"), 0o666); err != nil {
		t.Fatal(err)
	}
	eoc, err := exec.LookPath("eoc") // testscript's: this very code
	if err != nil {
		t.Fatal(err)
	}
	orders := filepath.Join(dir, "orders")
	goIn(t, root, "build", "-o", orders, "./golden/orders")
	for _, c := range []struct {
		path string
		args []string
		says string
	}{
		{eoc, []string{"check", faulty}, "faulty.eo:1:"},
		{orders, []string{"doctor", "--brokers", "127.0.0.1:1"}, "127.0.0.1:1"},
	} {
		for env, want := range map[string]bool{"NO_COLOR=": true, "NO_COLOR=1": false, "NO_COLOR=no": false, "TERM=dumb": false} {
			for _, terminal := range []bool{true, false} {
				p := program.Start(t, c.path, program.Config{Args: c.args, Env: []string{"TERM=xterm", "NO_COLOR=", "CI=", env}, Terminal: terminal})
				p.Wait(t, patience, "answer")
				if got := strings.Contains(p.Log(), "\x1b["); got != (want && terminal) || !strings.Contains(p.Log(), c.says) {
					t.Errorf("%s with %s, on a terminal %v: colours %v\n%q", filepath.Base(c.path), env, terminal, got, p.Log())
				}
			}
		}
	}
}
