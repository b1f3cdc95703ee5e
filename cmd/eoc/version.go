package main

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/runtime"
)

func newVersion(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of eoc",
		Args:  nothing,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(io.out, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("eoc %s, runtime API %d, %s %s/%s", version(), runtime.API1, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
}

// version is that of the module, as Go has noted it in the binary.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
