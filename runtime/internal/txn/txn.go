// Package txn is the verb `txn` of a program: it shows what the cluster and the state know of the pipeline's transactions, decides one that a start
// refuses to guess about, and writes end markers that a broker has lost.
//
// What to do about a checkpoint is decided by checkpoint.Startup alone: commit and abort are a start that ends before it runs, with the word
// of a person where a start would refuse to guess.
package txn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// Config is what the verb works with.
type Config struct {
	Settings settings.Settings
	Spec     engine.Spec
	State    state.Options
	Out      io.Writer
	In       io.Reader // answers what the verb asks; nil: nobody is there to ask
}

// Run does what Settings.Action says. An error is of the kind that a start would end with.
func Run(ctx context.Context, cfg Config) error {
	switch cfg.Settings.Action {
	case settings.TxnList:
		return list(ctx, cfg)
	case settings.TxnRepair:
		return repair(ctx, cfg)
	default:
		return decide(ctx, cfg)
	}
}

// engine is the pipeline's, for what it knows of a start.
func (c *Config) engine() *engine.Engine {
	log := slog.New(slog.DiscardHandler)
	return &engine.Engine{
		Spec: &c.Spec, Options: engine.Options{Log: log},
		Open: func(ctx context.Context, connection int) (engine.Cluster, error) { return c.open(ctx, connection) },
	}
}

func (c *Config) open(ctx context.Context, connection int) (*kafka.Cluster, error) {
	to := c.Settings.Reach(connection)
	return kafka.Open(ctx, kafka.Config{Brokers: to.Brokers, Unnamed: to.Unnamed, Connection: to.Connection, ClientID: "eo-" + c.Spec.Name + "-txn"})
}

func (c *Config) print(format string, args ...any) error {
	_, err := fmt.Fprintf(c.Out, format+"\n", args...)
	return err
}

// confirm asks whether to do what was shown. Without anybody to ask, --yes has to say so.
func (c *Config) confirm() error {
	if c.Settings.Yes {
		return nil
	}
	if c.In == nil {
		return failure.New(failure.Usage, "give --yes if that is to be done", nil, "nothing was done: there is no terminal to ask at")
	}
	if _, err := io.WriteString(c.Out, "Do that? [y/N] "); err != nil {
		return err
	}
	line, err := bufio.NewReader(c.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return failure.New(failure.Usage, "give --yes if that is to be done", err, "nothing was done")
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return failure.New(failure.Usage, "answer y if it is to be done", nil, "nothing was done: the answer was no")
}
