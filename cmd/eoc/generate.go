package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/internal/generate"
)

func newGenerate(io streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "generate FILE|DIR",
		Short: "Write a .eo file as a Go package, for a program of your own",
		Long: `Write a .eo file, or every one in a folder, as a package of your own Go module. orders.eo becomes the
folder orders beside it, whose function orders.Pipeline() is run with runtime.Run and tested with rttest.Start.
With eoc as a tool of the module (go get -tool github.com/eoc-lang/eoc/cmd/eoc), go generate ./... writes it:

  //go:generate go tool eoc generate orders.eo

Files that eoc has written there before are replaced, or removed if it writes them no more; all others stay, and
nothing is touched if nothing changed. The package has the letters and digits of the file's name, small; where
that is no name for a package, such as type, it is pipelinetype.

The module has to require github.com/eoc-lang/eoc in the version of this eoc. If it does not, the files are written
all the same, and standard error says which command mends it.`,
		Example: `  eoc generate orders.eo
  eoc generate -o internal/pipelines pipelines`,
		Annotations: exits(saysDone, "1  a .eo file has errors, which are shown: no package was written", saysUsage, saysBug),
		Args: func(cmd *cobra.Command, args []string) error {
			return wantFiles(cmd, args, len(args) == 1, "one FILE or DIR")
		},
		ValidArgsFunction: completeFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return writePackages(cmd.Context(), args[0], output, io)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "put the folders of packages into the folder `DIR` (default where the .eo files are)")
	complete(cmd, "output", completeFolders)
	return cmd
}

// writePackages writes all packages, or none if one of them cannot be made.
func writePackages(ctx context.Context, path, output string, io streams) error {
	if path == "-" {
		return errStdin
	}
	sources, err := sourcesIn(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(output); output != "" && err == nil && !info.IsDir() {
		return fmt.Errorf("--output is %s, which is no folder", output)
	}
	var packages []generate.Package
	faulty := false
	for _, source := range sources {
		p, err := newPackage(ctx, source, output, io)
		if err == errFaulty {
			faulty = true // of every file the faults are shown
		} else if err != nil {
			return err
		}
		packages = append(packages, p)
	}
	if faulty {
		return errFaulty
	}
	if err := generate.CheckNames(packages); err != nil {
		return err
	}
	for _, p := range packages {
		if err := p.Check(); err != nil {
			return err
		}
	}
	for _, p := range packages {
		if err := p.Write(); err != nil {
			return err
		}
	}
	// They are all in one module: what one needs, all need.
	advice, err := generate.Advice(packages[0].Dir, version())
	if err == nil && advice != "" {
		_, err = fmt.Fprintf(io.err, "eoc: warning: %s\n", advice)
	}
	return err
}

// sourcesIn is the file, or all .eo files of the folder.
func sourcesIn(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, nil // what is wrong with a file, reading it tells
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".eo" && !e.IsDir() {
			list = append(list, filepath.Join(path, e.Name()))
		}
	}
	if list == nil {
		if exists(path + ".eo") {
			return nil, fmt.Errorf("there is no .eo file in folder %s; did you mean %s.eo?", path, path)
		}
		return nil, fmt.Errorf("there is no .eo file in folder %s", path)
	}
	return list, nil
}

// newPackage makes the package of a file.
func newPackage(ctx context.Context, source, output string, io streams) (generate.Package, error) {
	p := generate.Package{Source: source, Name: generate.Name(source), Files: map[string][]byte{}}
	if output == "" {
		output = filepath.Dir(source)
	}
	p.Dir = filepath.Join(output, p.Name)
	graph, err := load(ctx, source, io)
	if err != nil {
		return p, err
	}
	files, err := generated(ctx, graph, codegen.Options{Package: p.Name})
	if err != nil {
		return p, err
	}
	for _, f := range files {
		p.Files[f.Name] = f.Data
	}
	return p, nil
}
