package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `eoc compiles a .eo file, which says how Kafka topics are derived from Kafka topics, into one
static program that does so exactly once.

Exit codes: 0 done, 1 the .eo file has errors, 2 wrong usage or a machine that lacks what is
needed, 3 a bug of eoc.`

func newRoot(io streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "eoc",
		Short:         "Compile .eo pipelines into programs",
		Long:          rootHelp,
		Version:       versionLine(),
		Args:          onlyCommands,
		RunE:          func(root *cobra.Command, _ []string) error { return root.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(printUsage)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(newHelp(root))
	root.PersistentFlags().BoolP("help", "h", false, "show this text")
	root.Flags().Bool("version", false, "print the version of eoc")
	root.AddCommand(
		newInit(io), newDev(io), newTest(io), newRun(io), newBuild(io), newGenerate(io), newCheck(io), newFmt(io), newPlan(io), newExplain(io), newVersion(io), newBroker(io), newGuard(io),
	)
	completion(root)
	return root
}

// completion adds cobra's command for shells, which takes every word for a shell.
func completion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // cobra has none; a test asks for it
	}
	cmd.Short = "Write a script with which a shell completes the words of eoc"
	cmd.Long = "Write a script with which a shell completes commands, flags and files of eoc. The help of each shell says where to put it."
	cmd.Example = "  eoc completion zsh --help\n  source <(eoc completion bash)"
	cmd.Annotations = exits(saysDone, "2  there is no such shell")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("there is no completion for %s; expected one of %s", args[0], strings.Join(commands(cmd), ", "))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// oneFile wants one argument, files at least one.
func oneFile(cmd *cobra.Command, args []string) error {
	return wantFiles(cmd, args, len(args) == 1, "one FILE")
}
func files(cmd *cobra.Command, args []string) error {
	return wantFiles(cmd, args, len(args) > 0, "a FILE")
}

// wantFiles says what the command wants unless that is ok; of too many which they are, since a flag without its dashes is one of them.
func wantFiles(cmd *cobra.Command, args []string, ok bool, what string) error {
	switch {
	case ok:
		return nil
	case len(args) > 1:
		return fmt.Errorf("%s wants %s, but %d are given: %s; `%s --help` says more", cmd.CommandPath(), what, len(args), strings.Join(args, ", "), cmd.CommandPath())
	}
	return fmt.Errorf("%s wants %s, such as orders.eo; `%s --help` says more", cmd.CommandPath(), what, cmd.CommandPath())
}

// completeFiles has the shell complete names of .eo files.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"eo"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeFile does so for a command that takes one.
func completeFile(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeFiles(cmd, args, start)
}

// completeFolders has the shell complete names of folders: behind flags, or alone.
func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// complete has the shell complete what stands behind a flag of the command.
func complete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err) // there is no such flag
	}
}

var errStdin = errors.New("standard input (-) has no place for this; give a file")
