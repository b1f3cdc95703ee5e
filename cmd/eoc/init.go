package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/internal/starter"
)

func newInit(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first pipeline, with sample data",
		Long: `Write a first pipeline into the folder DIR, or here: orders.eo, which runs as it is, and data/orders.jsonl, sample
data for eoc dev. Inside a Go module there is generate.go, too, with a go:generate line for a package of yours.

No file is overwritten.`,
		Example: `  eoc init && eoc dev
  eoc init shop`,
		Annotations:       exits("0  written", "2  one of the files is there already, or cannot be written: none was"),
		Args:              oneFolder,
		ValidArgsFunction: completeFolders,
		RunE: func(_ *cobra.Command, args []string) error {
			return writeStarter(append(args, ".")[0], io)
		},
	}
}

func writeStarter(dir string, io streams) error {
	written, inModule, err := starter.Write(dir)
	if err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintf(io.err, "wrote %s\n", path)
	}
	file := filepath.Join(dir, starter.Pipeline)
	_, err = fmt.Fprintf(io.out, `Next:
  eoc check %[1]s   # what is wrong with it: nothing
  eoc dev %[1]s     # run it on this machine, with the sample data
  eoc build %[1]s   # make a program of it, for your Kafka
`, file)
	if inModule && err == nil {
		_, err = fmt.Fprintf(io.out, `A Go package of it, for your own service and its tests:
  go get -tool github.com/eoc-lang/eoc/cmd/eoc@latest && go generate ./...
`)
	}
	return err
}

func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) <= 1 {
		return nil
	}
	return fmt.Errorf("%s writes into one folder, but %d are given", cmd.CommandPath(), len(args))
}
