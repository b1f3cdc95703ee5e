// Command two runs two pipelines in one process, until a signal stops both.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	rt "github.com/eoc-lang/eoc/runtime"

	"example.com/two/orders"
	"example.com/two/visits"
)

//go:generate go tool eoc generate .

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runAll(ctx, orders.Pipeline(), visits.Pipeline()); err != nil {
		slog.Error("ended", "error", err)
		os.Exit(1)
	}
}

// runAll runs pipelines side by side. One that fails takes the others along, which stop with a last checkpoint.
func runAll(ctx context.Context, pipelines ...rt.Pipeline) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error)
	for _, p := range pipelines {
		go func() {
			defer stop()
			ended <- rt.Run(ctx, p, rt.Config{
				Brokers:            []string{os.Getenv("KAFKA_BROKER")},
				StateDir:           filepath.Join(os.Getenv("STATE_DIR"), p.Name),
				CheckpointInterval: 50 * time.Millisecond,
			})
		}()
	}
	var errs []error
	for range pipelines {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}
