//go:build unix

package state_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// TestWrongPath: where there is no disk at fault, the flag is. Who looks is told what a start is told, and nothing is made.
func TestWrongPath(t *testing.T) {
	top := t.TempDir()
	file, stored, link := filepath.Join(top, "file"), filepath.Join(top, "state.db"), filepath.Join(top, "link")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.WriteFile(stored, nil, 0o600))
	must(t, os.Symlink(filepath.Join(top, "nowhere"), link))
	cases := map[string]string{
		file:                                   file + " is a file; --state wants a directory",
		filepath.Join(file, "state"):           "there cannot be a state directory " + file + "/state: " + file + " is a file",
		filepath.Join(file, "a", "b"):          file + " is a file",
		stored:                                 "--state wants the directory that the file is in: " + top,
		link:                                   link + " is a symbolic link that leads nowhere",
		filepath.Join(link, "state"):           link + " is a symbolic link that leads nowhere",
		"/dev/null":                            "/dev/null is a special file",
		"/dev/null/state":                      "/dev/null is a special file",
		"/tmp/" + strings.Repeat("long", 1000): "file name too long",
	}
	if runtime.GOOS == "linux" {
		cases["/proc/none/state"] = "/proc is where the system shows processes (proc), so nothing can be made there"
	}
	for path, want := range cases {
		_, started := state.OpenBolt(path, options())
		wantKind(t, started, failure.Usage, want)
		_, looked := state.LookAt(path)
		_, read := state.Look(path)
		for _, err := range []error{looked, read} {
			if err == nil || err.Error() != started.Error() {
				t.Errorf("%s: who looks is told %v, who starts %v", path, err, started)
			}
		}
	}
	if left, err := os.ReadDir(top); err != nil || len(left) != 3 {
		t.Errorf("there are %v now, %v", left, err)
	}
}
