package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
)

// embedded is a pipeline whose file says something about everything that a Config can say.
func embedded() Pipeline {
	return Pipeline{
		Name: "p", File: "p.eo", Checkpoint: 2 * Second, TxnTimeout: 2 * Minute, Parallelism: 3,
		StateDir: Setting{Text: "./p"}, TxnPrefix: Setting{Text: "p"},
		Build: Build(func(t *Task) struct{} {
			t.Source(SourceSpec{Name: "orders", Place: "p.eo:9", Topic: Setting{Env: "IN", Text: "orders", HasDefault: true}}, nil)
			return struct{}{}
		}),
	}
}

func (p Pipeline) embed(cfg Config) (settings.Settings, engine.Spec, error) {
	return cfg.over(p).resolve(cfg.Getenv, func(d settings.Defaults) (settings.Settings, error) { return settings.Of(cfg.values(), cfg.Getenv, d) })
}

// In another program the flags' variables mean nothing; those of the file do.
func TestConfig(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"EO_NAME": "not-this", "EO_PARALLELISM": "x", "IN": "orders-v2"}[name]
		return v, ok
	}
	set, spec, err := embedded().embed(Config{Getenv: env})
	if err != nil {
		t.Fatal(err)
	}
	if set.StateDir != "./p" || set.Name != "p" || set.Parallelism != 3 || set.Checkpoint != 2*time.Second || set.Until.Bounded() ||
		set.CreateTopics || set.Fresh || set.AcceptLoss || strings.Join(set.Brokers, " ") != "localhost:9092" {
		t.Errorf("the zero Config gives %+v", set)
	}
	if spec.Sources[0].Topic != "orders-v2" {
		t.Errorf("topic is %s", spec.Sources[0].Topic)
	}
	until := time.Date(2026, 1, 31, 12, 0, 0, 500e6, time.FixedZone("", 3600))
	set, spec, err = embedded().embed(Config{
		Brokers: []string{"a:1", "b"}, StateDir: "/s", Name: "q", Parallelism: 128, CheckpointInterval: 1500 * time.Millisecond,
		Until: Until{Time: until}, CreateTopics: true, Fresh: true, AcceptLoss: true, Getenv: env,
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(set.Brokers, " ") != "a:1 b:9092" || set.StateDir != "/s" || set.Parallelism != 128 || set.Checkpoint != 1500*time.Millisecond ||
		!set.Until.Time.Equal(until) || !set.CreateTopics || !set.Fresh || !set.AcceptLoss {
		t.Errorf("the full Config gives %+v", set)
	}
	if spec.Name != "q" || spec.TxnPrefix != "q" || spec.StateDir != "/s" {
		t.Errorf("name is %s, prefix is %s, state is in %s", spec.Name, spec.TxnPrefix, spec.StateDir)
	}
	if set, _, err = embedded().embed(Config{Until: Until{Latest: true}, Getenv: env}); err != nil || !set.Until.Latest {
		t.Errorf("until latest gives %+v, %v", set.Until, err)
	}
}

// What is wrong is found before anything is opened, and named as Go names it.
func TestConfigErrors(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	memory := func(p *Pipeline) { p.Memory, p.StateDir = true, Setting{} }
	for _, c := range []struct {
		cfg    Config
		change func(*Pipeline)
		want   string
	}{
		{Config{Parallelism: 200}, nil, `Config.Parallelism is "200": expected a number from 1 to 128`},
		{Config{Parallelism: -1}, nil, `Config.Parallelism is "-1"`},
		{Config{CheckpointInterval: time.Millisecond}, nil, `Config.CheckpointInterval is "1ms": expected at least 10ms`},
		{Config{CheckpointInterval: time.Hour}, nil, `Config.CheckpointInterval is "1h0m0s": expected at most 30s`},
		{Config{Name: "Orders"}, nil, `Config.Name is "Orders": expected at most 200 of the characters`},
		{Config{Brokers: []string{"http://a"}}, nil, `Config.Brokers is "http://a": "http://a" is not a broker`},
		{Config{Brokers: []string{""}}, nil, "expected at least one broker"},
		{Config{Until: Until{Time: time.Unix(-1, 0).UTC()}}, nil, `Config.Until is "1969-12-31T23:59:59Z": expected latest or a time`},
		{Config{StateDir: "/s"}, memory, `Config.StateDir is "/s", but p.eo has no use for it; leave it out`},
		{Config{}, func(p *Pipeline) { p.StateDir = Setting{Env: "DATA"} },
			"environment variable DATA is not set: it gives the state of p.eo (the Config of Run goes over it)"},
	} {
		p := embedded()
		if c.change != nil {
			c.change(&p)
		}
		c.cfg.Getenv = none
		if err := Run(t.Context(), p, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) || KindOf(err) != KindUsage {
			t.Errorf("%+v:\ngot  %v\nwant %s", c.cfg, err, c.want)
		} else if strings.Contains(err.Error(), "--") {
			t.Errorf("%v: speaks of flags", err)
		}
	}
}

// A Pipeline that nobody has generated is refused, not run into.
func TestEmptyPipeline(t *testing.T) {
	for _, p := range []Pipeline{{}, {Name: "p", File: "p.eo"}} {
		if err := Run(t.Context(), p, Config{StateDir: t.TempDir()}); KindOf(err) != KindUsage || !strings.Contains(err.Error(), "eoc generate") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// Of one state directory there is one user, in one process, too.
func TestStateDirIsOfOnePipeline(t *testing.T) {
	dir, held := t.TempDir(), make(chan struct{})
	p := embedded()
	p.RestartMin, p.RestartMax = Minute, Minute
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		done <- Run(ctx, p, Config{StateDir: dir, Brokers: []string{"127.0.0.1:1"}, Logger: slog.New(&tell{to: held})})
	}()
	<-held // it has its state, and waits for the broker
	err := Run(t.Context(), p, Config{StateDir: dir})
	if KindOf(err) != KindFenced {
		t.Errorf("a second one in the same directory: %v", err)
	}
	cancel()
	if err := <-done; KindOf(err) != KindDeadline {
		t.Errorf("stopped while there was no broker: %v", err)
	}
}

// tell is a log that says when it gets its first entry.
type tell struct {
	to   chan struct{}
	once sync.Once
}

func (h *tell) Enabled(context.Context, slog.Level) bool { return true }
func (h *tell) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *tell) WithGroup(string) slog.Handler            { return h }
func (h *tell) Handle(context.Context, slog.Record) error {
	h.once.Do(func() { close(h.to) })
	return nil
}

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{nil, 0},
		{errors.New("x"), KindInternal},
		{failure.New(failure.Transient, "", nil, "x"), KindInternal},
		{fmt.Errorf("orders: %w", failure.New(failure.Fenced, "", nil, "x")), KindFenced},
	} {
		if got := KindOf(c.err); got != c.want {
			t.Errorf("%v is of kind %d, want %d", c.err, got, c.want)
		}
	}
}
