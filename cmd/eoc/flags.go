package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eoc-lang/eoc/internal/diag"
)

// flagError says what is wrong with a flag of a command, and what to do.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := diag.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, near)
		}
		if where := ofProgram[cmd.Name()]; where != "" {
			err = fmt.Errorf("%w; flags of the program stand behind %s", err, where)
		}
	}
	return fmt.Errorf("%w; `%s --help` lists the flags", plainFlagError(err), cmd.CommandPath())
}

// ofProgram says where the flags of the program stand, of commands that run one.
var ofProgram = map[string]string{"dev": "--, as in `eoc dev -- --parallelism 4`", "run": "FILE, as in `eoc run orders.eo --brokers localhost:9092`"}

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
