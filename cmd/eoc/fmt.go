package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/runtime/terminal"
)

func newFmt(io streams) *cobra.Command {
	var write, differ bool
	cmd := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Bring .eo files into their canonical form",
		Long: `Print .eo files in their canonical form; - reads standard input.

With -w files are changed in place. With -d only the differences are printed, and the exit code
is 1 if there are any.`,
		Example: `  eoc fmt -w orders.eo
  eoc fmt -d pipelines/*.eo   # for CI: exits with 1 if a file would change`,
		Annotations:       exits(saysDone, "1  a .eo file has errors; with -d, it would change", saysUsage, saysBug),
		Args:              files,
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return format(cmd.Context(), args, write, differ, io)
		},
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "change the files in place")
	cmd.Flags().BoolVarP(&differ, "diff", "d", false, "print the differences only")
	return cmd
}

func format(ctx context.Context, names []string, write, differ bool, io streams) error {
	faulty := false
	for _, name := range names {
		if write && name == "-" {
			return errStdin
		}
		s, err := readSource(ctx, name, io.in)
		if err != nil {
			return err
		}
		var diags []diag.Diagnostic
		text, err := await(ctx, func() (text []byte, _ error) {
			text, diags = dsl.Format(s.name, s.text)
			return text, nil
		})
		if err != nil {
			return err
		}
		if diag.HasErrors(diags) {
			faulty = true
			if err := diag.Render(io.err, diags, s.text, terminal.Coloured(io.err, os.LookupEnv)); err != nil {
				return err
			}
			continue
		}
		changed := !bytes.Equal(text, s.text)
		if differ && changed {
			faulty = true
			_, err = io.out.Write(diff.Diff(s.name+".orig", s.text, s.name, text))
		}
		if write && changed {
			err = errors.Join(err, replace(name, text))
		}
		if !write && !differ {
			_, err = io.out.Write(text)
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

// replace gives a file new contents, whole or not at all.
func replace(name string, text []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*.tmp")
	var beside *fs.PathError
	if errors.As(err, &beside) {
		err = fmt.Errorf("cannot change %s: no file can be made beside it: %w", name, beside.Err) // nobody knows the temporary file
	}
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // when it has been renamed there is nothing to remove
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Close())
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), name)
}
