package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/build"
)

func TestExitCodes(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		code int
		says []string
	}{
		{"done", t.Context(), nil, 0, nil},
		{"faulty", t.Context(), errFaulty, 1, nil},
		{"usage", t.Context(), errors.New("no such flag"), 2, []string{"eoc: no such flag\n"}},
		{"machine", t.Context(), &build.EnvironmentError{What: "no Go", Help: "install it"}, 2, []string{"eoc: no Go; install it\n"}},
		{"generated Go is wrong", t.Context(), fmt.Errorf("x: %w", &build.BugError{Report: "main.go:1: oops\n"}), 3,
			[]string{"the generated Go does not compile", "Attach the .eo file", "main.go:1: oops\n"}},
		{"generator gives up", t.Context(), bugError{errors.New("codegen: no such node")}, 3,
			[]string{"codegen: no such node", "eoc (", "runtime API 1"}},
		{"interrupted", interrupted, errors.New("killed"), 130, nil},
	} {
		var stderr bytes.Buffer
		code := exitCode(c.ctx, c.err, streams{err: &stderr})
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.code)
		}
		if len(c.says) == 0 && stderr.Len() > 0 {
			t.Errorf("%s: says %q", c.name, stderr.String())
		}
		for _, want := range c.says {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", c.name, want, stderr.String())
			}
		}
	}
}

// Codes 1 to 3 mean the same of eoc and of the program that it has run to the end of the data.
func TestDevCode(t *testing.T) {
	for program, want := range map[int]int{1: exitBug, 2: exitUsage, 3: exitFaulty, 4: 4, 13: 13} { // those of docs/operations.md
		if got := devCode(program); got != want {
			t.Errorf("of %d: %d, want %d", program, got, want)
		}
	}
}

// panics is a standard input that is a bug.
type panics struct{}

func (panics) Read([]byte) (int, error) { panic("out of ideas") }

func TestPanicIsReported(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"check", "-"}, streams{panics{}, &stdout, &stderr})
	if code != exitBug || stdout.Len() > 0 {
		t.Errorf("exit code %d, standard output %q", code, stdout.String())
	}
	for _, want := range []string{"this is a bug of eoc", "panic: out of ideas", "goroutine ", "source.go"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is missing in\n%s", want, stderr.String())
		}
	}
}

// The help of each command has an example of it, says what it exits with, and lists its flags.
func TestHelpOfEachCommand(t *testing.T) {
	for _, cmd := range newRoot(streams{}).Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "version" {
			continue
		}
		var out, err bytes.Buffer
		if code := run(t.Context(), []string{cmd.Name(), "--help"}, streams{nil, &out, &err}); code != 0 || err.Len() > 0 {
			t.Errorf("eoc %s --help: code %d\n%s", cmd.Name(), code, &err)
		}
		for _, want := range []string{"\nUsage:\n  eoc " + cmd.Name(), "\nExamples:\n  eoc " + cmd.Name(), "\nFlags:\n", "\nExit codes:\n", "  2  "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("eoc %s --help has no %q:\n%s", cmd.Name(), want, &out)
			}
		}
	}
}
