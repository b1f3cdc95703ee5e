package main

import (
	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

func newBroker(io streams) *cobra.Command {
	return &cobra.Command{
		Use:    "__broker",
		Short:  "Run the embedded broker until standard input ends; its address goes to standard output",
		Hidden: true,
		Args:   nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return devkafka.Serve(cmd.Context(), io.in, io.out)
		},
	}
}
