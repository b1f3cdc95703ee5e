package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/internal/diag"
)

func newExplain(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain the code of a fault or of an exit, or list all codes",
		Long: `Explain what the code of a fault, the word in brackets behind its message, means and what to do about
it; or what the exit code of a program means, the number that its log names code. Without a code all words are
listed, with a line about each.`,
		Example: `  eoc explain unknown-field
  eoc explain 5
  eoc explain`,
		Annotations:       exits(saysDone, "2  there is no such code"),
		Args:              oneCode,
		ValidArgsFunction: completeCodes,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listCodes(io)
			}
			return explain(args[0], io)
		},
	}
}

func listCodes(io streams) error {
	table := tabwriter.NewWriter(io.out, 0, 0, 2, ' ', 0)
	for _, code := range diag.Codes() {
		fmt.Fprintf(table, "%s\t%s\n", code, diag.Summary(code)) // Flush has the error
	}
	return table.Flush()
}

func explain(code string, io streams) error {
	text, ok := diag.Explain(code)
	if !ok {
		text, ok = diag.ExplainExit(code)
	}
	if !ok {
		if near := diag.Nearest(code, diag.Codes()); near != "" {
			return fmt.Errorf("there is no code %s; did you mean %s?", code, near)
		}
		return fmt.Errorf("there is no code %s; `eoc explain` lists all", code)
	}
	_, err := fmt.Fprintln(io.out, strings.TrimSpace(text))
	return err
}

// oneCode wants one argument at most.
func oneCode(cmd *cobra.Command, args []string) error {
	if len(args) <= 1 {
		return nil
	}
	return fmt.Errorf("%s explains one code, but %d are given", cmd.CommandPath(), len(args))
}

func completeCodes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return diag.Codes(), cobra.ShellCompDirectiveNoFileComp
}
