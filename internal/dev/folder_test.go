//go:build unix

package dev

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A folder that was left behind by a process that was killed is removed at the next start, and no other one.
func TestAbandonedFolders(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	holder := exec.Command(os.Args[0], "hold")
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	name := make([]byte, 4096)
	n, err := out.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	others := string(name[:n])
	if err := os.WriteFile(filepath.Join(others, "program.log"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(temporary, "eoc-dev-fresh") // of an eoc that has not come to holding it
	if err := os.Mkdir(fresh, 0o777); err != nil {
		t.Fatal(err)
	}
	mine := &dev{}
	release, err := mine.makeDir()
	if err != nil {
		t.Fatal(err)
	}
	there := func(dir string, want bool) {
		t.Helper()
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v (%v)", dir, !want, err)
		}
	}
	there(others, true)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, out)
	holder.Wait()
	next := &dev{}
	releaseNext, err := next.makeDir()
	if err != nil {
		t.Fatal(err)
	}
	there(others, false)
	there(fresh, true)
	there(mine.dir, true)
	for _, release := range []func() error{release, releaseNext} {
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	there(mine.dir, false)
	there(next.dir, false)
}
