// Package build makes a binary of a generated program. It needs Go and, if the modules that the
// runtime imports are in the module cache, no network: the runtime's source is part of eoc.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Request says what to build.
type Request struct {
	// Program is the generated package main: file name to Go source.
	Program map[string][]byte
	Source  string // path of the .eo file, for messages; Output may not be this file
	// Output is the path of the binary. If it is a directory, or ends in a slash, the binary is put into
	// it under Name, which gets the system's ending for programs.
	Output string
	Name   string
	// Version is that of eoc; the binary shows it for --version.
	Version    string
	Failpoints bool // compile the crash points in
	Race       bool // compile with Go's race detector; it needs a C compiler
	// Progress is told that compiling has begun; the function that it returns is called when it has
	// ended. May be nil.
	Progress func() (done func())
}

// goStops is how long the go command gets to end after it was told to.
const goStops = 5 * time.Second

// Build compiles the program and returns the path of the binary, which appears there whole or not at all. Errors
// are an *EnvironmentError or a *BugError, or the context's.
func Build(ctx context.Context, r Request) (string, error) {
	files, err := treeFiles(r.Program)
	if err != nil {
		return "", err
	}
	tool, err := findToolchain(ctx, files["go.mod"])
	if err != nil {
		return "", err
	}
	if r.Race {
		if err := tool.checkRace(); err != nil {
			return "", err
		}
	}
	output, err := r.outputPath(tool)
	if err != nil {
		return "", err
	}
	cache, err := openCache("build")
	if err != nil {
		return "", err
	}
	dir, err := cache.place(files)
	if err != nil {
		return "", err
	}
	if err := r.compile(ctx, tool, dir, output); err != nil {
		return "", err
	}
	cache.prune(dir)
	return output, nil
}

// compile runs go build in dir and moves the binary to output.
func (r Request) compile(ctx context.Context, tool toolchain, dir, output string) error {
	temporary, err := os.CreateTemp(filepath.Dir(output), "."+filepath.Base(output)+"-*.tmp")
	var of *fs.PathError
	if errors.As(err, &of) {
		err = fmt.Errorf("the folder %s: %w", filepath.Dir(output), of.Err) // nobody has asked for the temporary file
	}
	if err != nil {
		return &EnvironmentError{What: fmt.Sprintf("cannot write %s", output), Err: err}
	}
	temporary.Close()
	defer os.Remove(temporary.Name()) // when it has been renamed there is nothing to remove
	absolute, err := filepath.Abs(temporary.Name())
	if err != nil {
		return err
	}
	// Without DWARF (-w) a program is a quarter smaller; stack traces and profiles do without it.
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", absolute,
		"-ldflags", "-w -X '" + modulePath + "/runtime/internal/settings.compiler=eoc " + r.Version + "'"}
	if r.Failpoints {
		args = append(args, "-tags", "eo_failpoints")
	}
	if r.Race {
		args = append(args, "-race")
	}
	done := func() {}
	if r.Progress != nil {
		done = r.Progress()
	}
	log, err := tool.run(ctx, dir, r.Race, append(args, "./"+programDir)...)
	done()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return explain(err, log, r, tool, dir)
	}
	// go build has made the file executable as the umask allows.
	if err := os.Rename(temporary.Name(), output); err != nil {
		return &EnvironmentError{What: fmt.Sprintf("cannot write %s", output), Err: err}
	}
	return nil
}

// outputPath is where the binary goes. A file that stands there is replaced, but not the program's source.
func (r Request) outputPath(tool toolchain) (string, error) {
	output := r.Output
	info, err := os.Stat(output)
	if os.IsPathSeparator(output[len(output)-1]) || err == nil && info.IsDir() {
		if err := os.MkdirAll(output, 0o777); err != nil {
			return "", &EnvironmentError{What: fmt.Sprintf("cannot make the directory %s", output), Err: err}
		}
		output = filepath.Join(output, r.Name+tool.ending)
		info, err = os.Stat(output)
	}
	if err != nil {
		return output, nil
	}
	source, err := os.Stat(r.Source)
	if err == nil && os.SameFile(info, source) {
		return "", &EnvironmentError{What: fmt.Sprintf("the binary would replace its source %s", r.Source), Help: "choose another path with -o"}
	}
	if !info.Mode().IsRegular() {
		return "", &EnvironmentError{What: fmt.Sprintf("%s is not a file that can be replaced", output), Help: "choose another path with -o"}
	}
	return output, nil
}

// run runs the go command in dir and returns what it printed to standard error.
func (t toolchain) run(ctx context.Context, dir string, cgo bool, args ...string) (log []byte, err error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Dir = dir
	cmd.Env = t.environment(dir, cgo)
	cmd.Stdout = io.Discard
	cmd.Stderr = &stderr
	// An interrupted go command takes away its work directory; a killed one leaves it.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = goStops
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		err = &EnvironmentError{What: "cannot run " + t.path, Err: err}
	}
	return stderr.Bytes(), err
}
