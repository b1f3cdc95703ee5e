package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/runtime/terminal"
)

func newCheck(io streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Report what is wrong with .eo files",
		Long: `Report what is wrong with .eo files; - reads standard input.

Faults go to standard error as text. With --json they go to standard output, one object a line:
code, severity, span (file, line, column, length), message, and where there is one, label,
related, notes, help.`,
		Example: `  eoc check orders.eo
  eoc check --json pipelines/*.eo`,
		Annotations:       exits("0  there are no errors, perhaps warnings", saysFaulty, saysUsage, saysBug),
		Args:              files,
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return check(cmd.Context(), args, asJSON, io)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print faults as JSON to standard output")
	return cmd
}

func check(ctx context.Context, names []string, asJSON bool, io streams) error {
	faulty := false
	for _, name := range names {
		s, err := readSource(ctx, name, io.in)
		if err != nil {
			return err
		}
		_, diags, err := s.planned(ctx)
		if err != nil {
			return err
		}
		faulty = faulty || diag.HasErrors(diags)
		if asJSON {
			err = diag.WriteJSON(io.out, diags)
		} else {
			err = diag.Render(io.err, diags, s.text, terminal.Coloured(io.err, os.LookupEnv))
		}
		if err != nil {
			return err
		}
	}
	if faulty {
		return errFaulty
	}
	return nil
}
