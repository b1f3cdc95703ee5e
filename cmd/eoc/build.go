package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/internal/build"
	"github.com/eoc-lang/eoc/planner"
)

// buildFlags are the flags of `eoc build`.
type buildFlags struct {
	output     string
	keep       string
	failpoints bool
	race       bool
}

func newBuild(io streams) *cobra.Command {
	var flags buildFlags
	cmd := &cobra.Command{
		Use:   "build FILE",
		Short: "Compile a .eo file into a program",
		Long: `Compile a .eo file into a static program that runs its pipeline. The program's --help says how it is run.

Go is needed, and a network only if Go has not fetched the modules that eoc itself is made of.
GOOS and GOARCH choose another system.`,
		Example: `  eoc build orders.eo
  eoc build -o /usr/local/bin/orders orders.eo
  GOOS=linux GOARCH=arm64 eoc build orders.eo`,
		Annotations:       exits(saysDone, saysFaulty, saysUsage, saysBug),
		Args:              oneFile,
		ValidArgsFunction: completeFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return compile(cmd, args[0], flags, io)
		},
	}
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "`PATH` of the program, or a folder for it (default FILE without .eo, here)")
	cmd.Flags().StringVar(&flags.keep, "keep-source", "", "write the Go that was compiled into the folder `DIR`, too, as a module that can be built")
	cmd.Flags().BoolVar(&flags.failpoints, "failpoints", false, "compile in the points at which tests kill the program")
	cmd.Flags().BoolVar(&flags.race, "race", false, "compile in Go's race detector (needs a C compiler)")
	return cmd
}

func compile(cmd *cobra.Command, name string, flags buildFlags, io streams) error {
	r, _, err := newRequest(cmd.Context(), name, nil, io)
	if err != nil {
		return err
	}
	r.Output, r.Failpoints, r.Race = flags.output, flags.failpoints, flags.race
	if r.Output == "" {
		r.Output = "."
	}
	if flags.keep != "" {
		if err := build.WriteModule(flags.keep, r); err != nil {
			return err
		}
	}
	_, err = build.Build(cmd.Context(), r)
	return err
}

// newRequest checks a file and generates its program, as something to be built. adapt, if there is one, changes the graph before.
func newRequest(ctx context.Context, name string, adapt func(*planner.Graph), io streams) (build.Request, *planner.Graph, error) {
	if name == "-" {
		return build.Request{}, nil, errStdin
	}
	graph, err := load(ctx, name, io)
	if err != nil {
		return build.Request{}, nil, err
	}
	if adapt != nil {
		adapt(graph)
	}
	files, err := generated(ctx, graph, codegen.Options{})
	if err != nil {
		return build.Request{}, nil, err
	}
	program := map[string][]byte{}
	for _, f := range files {
		program[f.Name] = f.Data
	}
	return build.Request{
		Program: program, Source: name, Name: strings.TrimSuffix(filepath.Base(name), ".eo"), Version: version(),
		Progress: func() func() {
			return progress(io.err, "compiling "+filepath.Base(name)+" (the first time takes longer)")
		},
	}, graph, nil
}

// generated is the Go that a graph becomes. An error is a bug of eoc, or the end of ctx.
func generated(ctx context.Context, graph *planner.Graph, o codegen.Options) ([]codegen.File, error) {
	return await(ctx, func() ([]codegen.File, error) {
		files, err := codegen.Generate(graph, o)
		if err != nil {
			return nil, bugError{err}
		}
		return files, nil
	})
}
