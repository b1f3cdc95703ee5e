package build

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// EnvironmentError says that this machine cannot build: no Go, no network for what is not in the module
// cache, no room, no right to write. Neither the program nor eoc is at fault.
type EnvironmentError struct {
	What string // what is wrong, without a full stop
	Help string // what to do; may be empty
	Err  error  // the cause; may be nil
}

func (e *EnvironmentError) Error() string {
	s := e.What
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Help != "" {
		s += "; " + e.Help
	}
	return s
}

func (e *EnvironmentError) Unwrap() error { return e.Err }

// BugError says that eoc generated Go that does not compile.
type BugError struct {
	Report string // all that a report has to say, ready to be pasted
}

func (e *BugError) Error() string { return "the generated Go does not compile" }

// symptoms are what the go command says when the machine is at fault.
var symptoms = []struct{ text, what, help string }{
	{"module lookup disabled by GOPROXY=off", "a Go module is not in the module cache, and GOPROXY=off forbids to fetch it", modulesHelp},
	{"dial tcp", "a Go module is not in the module cache and cannot be fetched", modulesHelp},
	{"no such host", "a Go module is not in the module cache and cannot be fetched", modulesHelp},
	{"proxyconnect", "a Go module is not in the module cache and cannot be fetched", modulesHelp},
	{"TLS handshake", "a Go module is not in the module cache and cannot be fetched", modulesHelp},
	{"SECURITY ERROR", "a Go module differs from the one that eoc was made with", "empty the module cache with `go clean -modcache`, or ask who runs your module proxy"},
	{"no space left on device", "the disk is full", "make room; `go clean -cache` empties Go's build cache"},
	{"signal: killed", "the Go compiler was killed, perhaps for lack of memory", ""},
	{"-race is not supported", "--race is not possible for this system", "build without --race"},
	{"unsupported GOOS/GOARCH pair", "Go does not know this system", "check GOOS and GOARCH; `go tool dist list` lists what there is"},
	{"permission denied", "the Go compiler may not read or write a file that it needs", ""},
	{"read-only file system", "the Go compiler cannot write to its caches", "GOCACHE and GOMODCACHE choose other places"},
	{"build cache is", "the Go compiler has no usable build cache", "GOCACHE chooses a folder for it"},
}

const modulesHelp = "build once with a network; GOPROXY names a proxy if you have one"

// explain says why go build failed. What it does not recognise as a fault of the machine is a bug of eoc.
func explain(err error, log []byte, r Request, tool toolchain, dir string) error {
	if environment, ok := err.(*EnvironmentError); ok {
		return environment
	}
	for _, s := range symptoms {
		if line := lineWith(log, s.text); line != "" {
			return &EnvironmentError{What: s.what, Help: s.help, Err: fmt.Errorf("go build says %q", line)}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "eoc      %s\n", r.Version)
	fmt.Fprintf(&b, "go       %s %s\n", tool.version, tool.system)
	if source, err := os.ReadFile(r.Source); err == nil {
		fmt.Fprintf(&b, "program  %s, sha256 %x\n", filepath.Base(r.Source), sha256.Sum256(source))
	}
	fmt.Fprintf(&b, "sources  %s\n\n%s", filepath.Join(dir, programDir), log)
	return &BugError{Report: b.String()}
}

func lineWith(log []byte, text string) string {
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte(text)) {
			return string(bytes.TrimSpace(line))
		}
	}
	return ""
}
