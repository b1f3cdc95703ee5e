package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/planner"
	"github.com/eoc-lang/eoc/runtime/terminal"
)

// stdinName is what standard input is called in diagnostics.
const stdinName = "stdin.eo"

// source is a .eo file that was read.
type source struct {
	name string // as the user gave it
	text []byte
}

// readSource reads a file, or standard input for "-". Of one that is too big for a pipeline it reads so much that this is seen: it may have no end.
func readSource(ctx context.Context, name string, in io.Reader) (source, error) {
	return await(ctx, func() (source, error) {
		if name == "-" {
			text, err := readLimited(in)
			return source{stdinName, text}, err
		}
		return openSource(name)
	})
}

func openSource(name string) (source, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return source{}, isFolder(name)
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if exists(name + ".eo") {
			return source{}, fmt.Errorf("there is no file %s; did you mean %s.eo?", name, name)
		}
		return source{}, fmt.Errorf("there is no file %s", name)
	}
	if err != nil {
		return source{}, err
	}
	defer f.Close()
	text, err := readLimited(f)
	if err == nil && bytes.IndexByte(text[:min(len(text), 512)], 0) >= 0 { // a program that eoc has made, for one
		return source{}, fmt.Errorf("%s is no text; expected a .eo file", name)
	}
	return source{name, text}, err
}

// isFolder says that a folder is no .eo file, and which one was meant, if that can be known.
func isFolder(name string) error {
	if beside := filepath.Clean(name) + ".eo"; exists(beside) {
		return fmt.Errorf("%s is a folder; did you mean %s?", name, beside)
	}
	list, err := sourcesIn(name)
	if err != nil {
		return err
	}
	if len(list) == 1 {
		return fmt.Errorf("%s is a folder; did you mean %s?", name, list[0])
	}
	return fmt.Errorf("%s is a folder; expected .eo files, such as %s", name, filepath.Join(name, "*.eo"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readLimited(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, dsl.MaxSource+1)) }

// plan checks the source and makes its graph. There is none if a diagnostic is an error.
func (s source) plan() (*planner.Graph, []diag.Diagnostic) {
	program, diags := dsl.Check(s.name, s.text)
	if program == nil {
		return nil, diags
	}
	graph, more := planner.Plan(program)
	return graph, append(diags, more...)
}

// planned is plan, which ctx may end.
func (s source) planned(ctx context.Context) (graph *planner.Graph, diags []diag.Diagnostic, err error) {
	graph, err = await(ctx, func() (*planner.Graph, error) {
		g, found := s.plan()
		diags = found
		return g, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return graph, diags, nil
}

// load reads, checks and plans a file, and prints its diagnostics. With errors among them it
// returns errFaulty.
func load(ctx context.Context, name string, io streams) (*planner.Graph, error) {
	s, err := readSource(ctx, name, io.in)
	if err != nil {
		return nil, err
	}
	graph, diags, err := s.planned(ctx)
	if err != nil {
		return nil, err
	}
	if err := diag.Render(io.err, diags, s.text, terminal.Coloured(io.err, os.LookupEnv)); err != nil {
		return nil, err
	}
	if diag.HasErrors(diags) {
		return nil, errFaulty
	}
	return graph, nil
}
