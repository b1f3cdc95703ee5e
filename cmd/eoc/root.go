package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; `%s --help` lists the flags", plainFlagError(err), cmd.CommandPath())
	})
	root.SetUsageFunc(printUsage)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(newHelp(root))
	root.PersistentFlags().BoolP("help", "h", false, "show this text")
	root.Flags().Bool("version", false, "print the version of eoc")
	root.AddCommand(
		newInit(io), newDev(io), newTest(io), newRun(io), newBuild(io), newGenerate(io), newCheck(io), newFmt(io), newPlan(io), newExplain(io), newVersion(io), newBroker(io), newGuard(io),
	)
	return root
}

// expected says what a flag takes whose numbers have bounds, and what one of another type takes; what the other types expect, their own errors say.
var expected = map[string]string{
	"partitions": fmt.Sprintf("a whole number from 1 to %d", mostPartitions), "random": "a whole number from 0 on", "transactions": "1, 2, or both with a comma between",
	"parallelism": fmt.Sprintf("different whole numbers from 1 to %d, with commas between", mostPartitions), "seed": "a whole number from 0 to 18446744073709551615",
	"bool": "true or false", "duration": "a duration, such as 500ms",
}

// unexpected says that a flag has a value that is no number, or one out of its bounds.
func unexpected(flag, value string) error {
	return fmt.Errorf("--%s is %s; expected %s", flag, value, expected[flag])
}

// plainFlagError says in our words that a flag has a value that it does not take.
func plainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	if want := cmp.Or(expected[flag.Name], expected[flag.Value.Type()]); want != "" {
		return fmt.Errorf("--%s is %q; expected %s", flag.Name, invalid.GetValue(), want)
	}
	return fmt.Errorf("--%s is %q: %w", flag.Name, invalid.GetValue(), invalid.Unwrap())
}

// oneFile wants one argument, files at least one.
func oneFile(cmd *cobra.Command, args []string) error {
	return wantFiles(cmd, len(args) == 1, "one FILE")
}
func files(cmd *cobra.Command, args []string) error { return wantFiles(cmd, len(args) > 0, "a FILE") }

func wantFiles(cmd *cobra.Command, ok bool, what string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s wants %s, such as orders.eo; `%s --help` says more", cmd.CommandPath(), what, cmd.CommandPath())
}

// completeFiles has the shell complete names of .eo files.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"eo"}, cobra.ShellCompDirectiveFilterFileExt
}

var errStdin = errors.New("standard input (-) has no place for this; give a file")
