package runtime_test

import (
	"context"
	"log"
	"os/signal"
	"syscall"

	"github.com/eoc-lang/eoc/golden/packages/orders"
	rt "github.com/eoc-lang/eoc/runtime"
)

// A pipeline that `eoc generate orders.eo` has made runs until the process is asked to stop.
func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err := rt.Run(ctx, orders.Pipeline(), rt.Config{
		Brokers:  []string{"kafka-1:9092", "kafka-2:9092"},
		StateDir: "/var/lib/shop/orders",
	})
	if rt.KindOf(err) == rt.KindDeadline {
		log.Printf("stopped without a final checkpoint, which costs time at the next start: %v", err)
	} else if err != nil {
		log.Fatal(err)
	}
}
