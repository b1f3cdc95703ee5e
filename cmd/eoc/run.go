package main

import (
	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/internal/build"
)

func newRun(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run FILE [ARGUMENT...]",
		Short: "Compile a .eo file and run its program",
		Long: `Compile a .eo file and run its program, as eoc build would make it. What stands behind FILE goes to the program.

The program takes the place of eoc: input, output, signals and the exit code are its own. It is kept in the user's
cache folder, so that the next run of an unchanged file begins at once.`,
		Example: `  eoc run orders.eo --brokers kafka:9092 --state /var/lib/orders
  eoc run orders.eo --help`,
		Annotations:       exits("that of the program, whose --help lists them; before it begins:", saysFaulty, saysUsage, saysBug),
		Args:              leadingFile,
		ValidArgsFunction: completeFile, // what the program takes, it does not say
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := newRequest(cmd.Context(), args[0], nil, io)
			if err != nil {
				return err
			}
			binary, err := build.Cached(cmd.Context(), r)
			if err != nil {
				return err
			}
			return become(cmd.Context(), binary, programArguments(args), io)
		},
	}
	cmd.Flags().SetInterspersed(false) // flags behind FILE are the program's
	return cmd
}

// leadingFile wants a file and takes whatever follows it.
func leadingFile(cmd *cobra.Command, args []string) error {
	return wantFiles(cmd, args, len(args) > 0, "one FILE")
}

// programArguments is what stands behind FILE, and behind a -- that may follow it.
func programArguments(args []string) []string {
	if args = args[1:]; len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return args
}
