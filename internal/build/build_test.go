package build

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/skip"
)

// hello is a program that needs the runtime to compile.
const hello = `package main

import rt "github.com/eoc-lang/eoc/runtime"

func main() {
	if rt.API1 == 1 {
		println("hello")
	}
}
`

// request builds text from and into a folder that is no checkout of eoc, with a cache of its own.
func request(t *testing.T, text string) Request {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	// Go's build cache stays where it is: XDG_CACHE_HOME would move it, and everything be compiled anew.
	t.Setenv("GOCACHE", goEnv(t, "GOCACHE"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	source := filepath.Join(dir, "hello.eo")
	if err := os.WriteFile(source, []byte("job hello {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return Request{
		Program: map[string][]byte{"main.go": []byte(text)},
		Source:  source, Output: filepath.Join(dir, "hello"), Name: "hello", Version: "v1.2.3",
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// The user's settings for other builds, a foreign module around and no network do not matter.
func TestBuildIgnoresHostileEnvironment(t *testing.T) {
	r := request(t, hello)
	if err := os.WriteFile("go.mod", []byte("module other\n\ngo 1.99\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOPROXY": "off", "GOFLAGS": "-mod=mod -tags=other -ldflags=-s", "GOWORK": "/nowhere/go.work", "GO111MODULE": "off",
		"GOTOOLCHAIN": "go1.99.0", "CGO_ENABLED": "1", "PWD": "/nowhere",
	} {
		t.Setenv(name, value)
	}
	began := false
	r.Progress = func() func() { began = true; return func() { began = false } }
	binary, err := Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary).CombinedOutput()
	if err != nil || string(out) != "hello\n" {
		t.Errorf("the binary says %q (%v)", out, err)
	}
	if began {
		t.Error("the end of compiling was not told")
	}
	assertNoLeftovers(t, filepath.Dir(r.Output))
}

func assertNoLeftovers(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{filepath.Join(dir, ".*.tmp"), filepath.Join(dir, "cache", "eoc", "build", "new-*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestOutputFollowsTheSystem(t *testing.T) {
	r := request(t, hello)
	t.Setenv("GOOS", "windows")
	t.Setenv("GOARCH", "arm64")
	tool, err := findToolchain(t.Context(), []byte("go 1.26.0\n"))
	if err != nil || tool.system != "windows/arm64" {
		t.Fatalf("builds for %q (%v)", tool.system, err)
	}
	for output, want := range map[string]string{
		"bin/":            filepath.Join("bin", "hello.exe"), // made
		filepath.Dir("."): "hello.exe",                       // there already
		"some.bin":        "some.bin",
	} {
		r.Output = output
		if got, err := r.outputPath(tool); err != nil || got != want {
			t.Errorf("output %s is %s (%v), want %s", output, got, err, want)
		}
	}
}

func TestBuildReportsBug(t *testing.T) {
	r := request(t, strings.Replace(hello, "println", "printn", 1))
	_, err := Build(t.Context(), r)
	var bug *BugError
	if !errors.As(err, &bug) {
		t.Fatalf("got %v, want a BugError", err)
	}
	for _, want := range []string{"eoc      v1.2.3\n", "go       go1.", "hello.eo, sha256 ", "main.go:7:3: undefined: printn"} {
		if !strings.Contains(bug.Report, want) {
			t.Errorf("%q is missing in\n%s", want, bug.Report)
		}
	}
	if _, err := os.Stat(r.Output); !os.IsNotExist(err) {
		t.Errorf("a binary is there: %v", err)
	}
	assertNoLeftovers(t, filepath.Dir(r.Output))
}

func TestBuildBlamesTheMachine(t *testing.T) {
	fakeGo := func(script string) func(*testing.T, *Request) {
		return func(t *testing.T, _ *Request) {
			if runtime.GOOS == "windows" {
				skip.Loudly(t, "the fake go command is a shell script")
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir)
		}
	}
	setenv := func(name, value string) func(*testing.T, *Request) {
		return func(t *testing.T, _ *Request) { t.Setenv(name, value) }
	}
	for _, c := range []struct {
		name, want string
		change     func(*testing.T, *Request)
	}{
		{"no go", "the go command was not found", setenv("PATH", "")},
		{"old go", "is go1.21.3, but eoc needs Go 1.26", fakeGo(`echo '{"GOVERSION": "go1.21.3"}'`)},
		{"broken go", "cannot say its version: boom", fakeGo("echo boom >&2; exit 1")},
		{"empty module cache", "GOPROXY=off forbids", func(t *testing.T, r *Request) {
			t.Setenv("GOMODCACHE", t.TempDir())
			t.Setenv("GOPROXY", "off")
			r.Program["more.go"] = []byte("package main\n\nimport _ \"github.com/spf13/pflag\"\n")
		}},
		{"unknown system", "Go does not know this system", setenv("GOOS", "amiga")},
		{"no C compiler", "--race needs a C compiler", func(t *testing.T, r *Request) {
			t.Setenv("CC", "/nowhere/cc")
			r.Race = true
		}},
		{"output is the source", "would replace its source", func(t *testing.T, r *Request) { r.Output = r.Source }},
		{"output cannot be written", "cannot write /nowhere/hello: the folder /nowhere: no such file", func(t *testing.T, r *Request) { r.Output = "/nowhere/hello" }},
		{"no cache folder", "cannot make the cache folder", func(t *testing.T, r *Request) { t.Setenv("XDG_CACHE_HOME", r.Source) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request(t, hello)
			c.change(t, &r)
			_, err := Build(t.Context(), r)
			var environment *EnvironmentError
			if !errors.As(err, &environment) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		have, want string
		older      bool
	}{
		{"go1.26.0", "1.26.0", false},
		{"go1.26", "1.26.0", true}, // a release is never called so
		{"go1.25.9", "1.26.0", true},
		{"go1.27rc1", "1.26.0", false},
		{"devel go1.27-0abc Thu", "1.26.0", false},
		{"devel go1.25-0abc Thu", "1.26.0", true},
		{"something else", "1.26.0", false},
	} {
		if got := older(c.have, c.want); got != c.older {
			t.Errorf("older(%q, %q) = %v", c.have, c.want, got)
		}
	}
}

// The tree's time is what pruning goes by.
func TestPruneRemovesWhatIsUnused(t *testing.T) {
	c := cache{t.TempDir()}
	dir := func(name string, age time.Duration) string {
		path := filepath.Join(c.dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kept := []string{dir("young", unusedFor/2), dir("in-use", 2*unusedFor)}
	gone := []string{dir("old", 2*unusedFor), dir("new-left", 2*unusedFor)}
	c.prune(kept[1])
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone", path)
		}
	}
	for _, path := range gone {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there", path)
		}
	}
}
