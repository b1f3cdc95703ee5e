// Command shop is a service with a pipeline in it.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	rt "github.com/eoc-lang/eoc/runtime"

	"example.com/shop/orders"
)

//go:generate go tool eoc generate orders.eo

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := rt.Run(ctx, orders.Pipeline(), rt.Config{
		Brokers:      strings.Split(os.Getenv("KAFKA_BROKERS"), ","),
		StateDir:     os.Getenv("STATE_DIR"),
		CreateTopics: true,
	})
	if err != nil {
		slog.Error("the pipeline has ended", "error", err)
		os.Exit(int(rt.KindOf(err)))
	}
}
