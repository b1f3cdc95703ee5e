package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eoc-lang/eoc/internal/diag"
)

// printUsage writes what stands below the description in a command's help: how it is called, the commands
// below it, examples and its flags.
func printUsage(cmd *cobra.Command) error {
	w := tabwriter.NewWriter(cmd.OutOrStderr(), 0, 0, 2, ' ', 0)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "Usage:\n  %s COMMAND\n\nCommands:\n", cmd.CommandPath())
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %s\t%s\n", c.Name(), c.Short)
			}
		}
	} else {
		fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	fmt.Fprint(w, "\nFlags:\n") // an empty line ends the column above
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		if f.Value.Type() == "bool" {
			value = ""
		}
		short := "    "
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + ", "
		}
		fmt.Fprintf(w, "  %s\t%s\n", strings.TrimRight(short+"--"+f.Name+" "+value, " "), help)
	})
	if codes := cmd.Annotations[exitAnnotation]; codes != "" {
		fmt.Fprintf(w, "\nExit codes:\n%s\n", codes)
	}
	return w.Flush()
}

// exitAnnotation is under which a command keeps what its exit codes mean.
const exitAnnotation = "exit codes"

// exits are the exit codes of a command, in lines for its help.
func exits(lines ...string) map[string]string {
	return map[string]string{exitAnnotation: "  " + strings.Join(lines, "\n  ")}
}

// What exit codes mean to most commands.
const (
	saysDone   = "0  done"
	saysFaulty = "1  the .eo file has errors, which are shown"
	saysUsage  = "2  wrong usage, a file that cannot be read or written, a machine that lacks what is needed"
	saysBug    = "3  a bug of eoc: please send the report that it prints"
)

// newHelp is cobra's help command, but for a command that does not exist, which is a fault.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return commands(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(root, strings.Join(args, " "))
			}
			return cmd.Help()
		},
	}
}

// onlyCommands refuses what stands where a command of root should.
func onlyCommands(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noCommand(root, args[0])
}

func noCommand(root *cobra.Command, name string) error {
	if near := diag.Nearest(name, commands(root)); near != "" {
		return fmt.Errorf("there is no command %s; did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no command %s; `%s --help` lists all", name, root.Name())
}

// commands are the names of the commands that --help lists.
func commands(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// nothing wants no arguments.
func nothing(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments, but %q is given", cmd.CommandPath(), args[0])
}
