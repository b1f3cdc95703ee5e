// Command demo shows on one machine, with Go alone, that a pipeline survives kill -9: it compiles
// examples/orders.eo, feeds it from an embedded broker, kills it in the middle, starts it again, and compares
// every committed total with one that it has computed itself. `make demo` runs it in eoc's folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

const (
	partitions = 4
	// limit is how long the whole of it may take: some seconds, and what a slow machine needs to compile.
	limit = 5 * time.Minute
	// interval is that of the checkpoints: short, so that a kill is likely to hit one.
	interval = "200ms"
)

// The topics of examples/orders.eo.
const (
	ordersTopic = "orders"
	totalsTopic = "user-totals"
	lateTopic   = "orders-late"
	badTopic    = "orders.dlq"
)

func main() {
	kills := flag.Int("kills", 3, "how often the program is killed")
	least := flag.Int("orders", 20_000, "how many orders are fed at least")
	seed := flag.Uint64("seed", rand.Uint64(), "what the orders are made of")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := run(ctx, *kills, *least, *seed); err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v (seed %d)\n", err, *seed)
		os.Exit(1)
	}
}

func run(ctx context.Context, kills, least int, seed uint64) (err error) {
	dir, err := os.MkdirTemp("", "eoc-demo-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w; logs and state are in %s", err, dir)
			return
		}
		os.RemoveAll(dir)
	}()

	say("compiling eoc, and with it examples/orders.eo")
	eoc := filepath.Join(dir, "eoc")
	program := &program{path: filepath.Join(dir, "orders"), dir: dir}
	if err := command(ctx, "go", "build", "-buildvcs=false", "-o", eoc, "./cmd/eoc"); err != nil {
		return err
	}
	if err := command(ctx, eoc, "build", "-o", program.path, "examples/orders.eo"); err != nil {
		return err
	}

	broker, err := devkafka.Start(ctx, os.Stderr, eoc, "__broker")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Stop()) }()
	say("an embedded broker answers at %s", broker.Addr)
	client, err := devkafka.Dial(broker.Addr)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.CreateTopics(ctx, partitions, ordersTopic, totalsTopic, lateTopic, badTopic); err != nil {
		return err
	}
	results, err := watch(broker.Addr)
	if err != nil {
		return err
	}
	defer results.close()

	program.broker = broker.Addr
	shop := newShop(seed)
	if err := play(ctx, program, shop, client, results, kills, least); err != nil {
		return err
	}
	return report(shop.expect(), results)
}

// play feeds the shop's orders and kills the program while they come. It returns when the program has
// committed as many totals as there should be, and has been stopped.
func play(ctx context.Context, p *program, s *shop, client *devkafka.Client, results *results, kills, least int) error {
	defer p.kill() // nothing of it is left, whatever happens
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := p.start(cancel); err != nil {
		return err
	}
	enough := make(chan struct{})
	fed := make(chan error, 1)
	go func() { fed <- s.feed(ctx, client, least, enough) }()
	say("orders come in, %d at least", least)
	for k := range int64(kills) {
		// What is new after the rest was read is of the process that runs now.
		if err := results.rest(ctx); err != nil {
			return err
		}
		for more := true; more; more = s.sent.Load() < int64(least)*(k+1)/int64(kills+1) {
			if err := results.more(ctx); err != nil {
				return err
			}
		}
		p.kill()
		say("  kill -9 after %d orders were sent and %d totals committed; starting it again", s.sent.Load(), len(results.totals))
		if err := p.start(cancel); err != nil {
			return err
		}
	}
	close(enough)
	if err := <-fed; err != nil {
		return err
	}
	want := len(s.expect().totals)
	for len(results.totals) < want {
		if err := results.more(ctx); err != nil {
			return fmt.Errorf("%w; %d of %d totals were committed", err, len(results.totals), want)
		}
	}
	if err := p.stop(ctx); err != nil {
		return err
	}
	say("%d orders were sent; the program has been stopped", s.sent.Load())
	return results.rest(ctx)
}

func say(text string, args ...any) { fmt.Printf(text+"\n", args...) }

func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	return nil
}
