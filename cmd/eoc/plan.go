package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/planner"
)

// planFormats are the forms of a plan, and what prints them.
var planFormats = []string{"text", "svg", "dot", "json"}

func newPlan(io streams) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show the operators that a .eo file becomes",
		Long: `Show the operators that a .eo file becomes: how rows flow, where they change tasks, what is kept as state.

The forms are text, svg (a drawing that follows light and dark), dot (for Graphviz) and json.`,
		Example: `  eoc plan orders.eo
  eoc plan --format svg orders.eo > orders.svg`,
		Annotations:       exits(saysDone, saysFaulty, saysUsage, saysBug),
		Args:              oneFile,
		ValidArgsFunction: completeFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return plan(cmd.Context(), args[0], form, io)
		},
	}
	cmd.Flags().StringVar(&form, "format", "text", "`FORM` of the plan: text, svg, dot or json")
	complete(cmd, "format", cobra.FixedCompletions(planFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func plan(ctx context.Context, name, form string, io streams) error {
	write := map[string]func(*planner.Graph) error{
		"text": func(g *planner.Graph) error { return planner.WriteText(io.out, g) },
		"svg":  func(g *planner.Graph) error { return planner.WriteSVG(io.out, g) },
		"dot":  func(g *planner.Graph) error { return planner.WriteDOT(io.out, g) },
		"json": func(g *planner.Graph) error { return planner.WriteJSON(io.out, g) },
	}[form]
	if write == nil {
		return fmt.Errorf("--format is %q; expected one of %s", form, strings.Join(planFormats, ", "))
	}
	graph, err := load(ctx, name, io)
	if err != nil {
		return err
	}
	return write(graph)
}
