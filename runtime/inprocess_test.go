package runtime_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/eoc-lang/eoc/golden/packages/orders"
	"github.com/eoc-lang/eoc/internal/devkafka"
	rt "github.com/eoc-lang/eoc/runtime"
)

// patience bounds every wait of a test for a pipeline.
const patience = 10 * time.Minute

// shop is an embedded broker within this process, and a place for state.
type shop struct {
	t      *testing.T
	ctx    context.Context
	broker string
	client *devkafka.Client
	state  string
}

// newShop starts a broker, which is gone when the test ends.
func newShop(t *testing.T) *shop {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	out, in := io.Pipe()
	held, hold := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- devkafka.Serve(ctx, held, in) }()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	client, err := devkafka.Dial(strings.TrimSpace(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		hold.Close() // ends the broker
		if err := <-served; err != nil {
			t.Error(err)
		}
		cancel()
	})
	return &shop{t, ctx, strings.TrimSpace(addr), client, t.TempDir()}
}

func (s *shop) config(name string, log io.Writer) rt.Config {
	return rt.Config{
		Brokers: []string{s.broker}, StateDir: filepath.Join(s.state, name), Name: name, CheckpointInterval: 20 * time.Millisecond,
		CreateTopics: true, Logger: slog.New(slog.NewTextHandler(log, nil)), Getenv: func(string) (string, bool) { return "", false },
	}
}

// send sends an order of 1 by each user, and one that closes their window.
func (s *shop) send(users ...string) {
	s.t.Helper()
	var records []devkafka.Record
	for _, u := range users {
		records = append(records, orderBy(u))
	}
	records = append(records, devkafka.Record{Value: []byte(`{"user_id":"last","amount":1,"at":"2026-01-01T00:05:00Z"}`)})
	if err := s.client.Send(s.ctx, "orders", records); err != nil {
		s.t.Fatal(err)
	}
}

func orderBy(user string) devkafka.Record {
	return devkafka.Record{Value: fmt.Appendf(nil, `{"user_id":%q,"amount":1.00,"at":"2026-01-01T00:00:05Z"}`, user)}
}

// total is the result that comes of an order of send.
func total(user string) string {
	return fmt.Sprintf(`{"user_id":%q,"window_start":"2026-01-01T00:00:00Z","window_end":"2026-01-01T00:01:00Z","total":1.00,"orders":1}`, user)
}

// logBuffer takes a log of several goroutines.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(strings.Lines(b.text.String()))
}

// One Pipeline value runs twice in one process, under two names: each gives its results once. Stopped by their context,
// both return nil, leave no goroutine behind and the process as it was, and go on when they are called again.
func TestRunBesideAnother(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("two", func(t *testing.T) {
		percent := debug.SetGCPercent(100)
		defer debug.SetGCPercent(percent)
		s, log := newShop(t), new(logBuffer)
		if err := s.client.CreateTopics(s.ctx, 1, "orders", "user-totals", "orders-late"); err != nil {
			t.Fatal(err)
		}
		watcher, err := devkafka.Watch(s.broker, "user-totals", "orders-late")
		if err != nil {
			t.Fatal(err)
		}
		defer watcher.Close()
		pipeline := orders.Pipeline()
		got := map[string]int{}
		for _, life := range []struct {
			send    []string
			results int // that two pipelines have given by then
		}{
			{[]string{"u1", "u2"}, 4},
			{[]string{"u3"}, 6}, // late, by what they remember
		} {
			ctx, stop := context.WithCancel(s.ctx)
			ended := make(chan error)
			for _, name := range []string{"one", "other"} {
				go func() { ended <- rt.Run(ctx, pipeline, s.config(name, log)) }()
			}
			s.send(life.send...)
			for n := 0; n < life.results; {
				records, err := watcher.Next(s.ctx)
				if err != nil {
					t.Fatalf("%v; results so far: %v", err, got)
				}
				for _, r := range records {
					got[string(r.Value)]++
				}
				n = 0
				for _, times := range got {
					n += times
				}
			}
			stop()
			for range 2 {
				if err := <-ended; err != nil {
					t.Errorf("stopped by its context: %v", err)
				}
			}
		}
		rest, err := watcher.Rest(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rest {
			got[string(r.Value)]++
		}
		if want := map[string]int{total("u1"): 2, total("u2"): 2, string(orderBy("u3").Value): 2}; !maps.Equal(got, want) {
			t.Errorf("results are %v, want %v", got, want)
		}
		for _, line := range log.lines() {
			if !strings.Contains(line, " pipeline=one") && !strings.Contains(line, " pipeline=other") {
				t.Errorf("whose line is this: %s", line)
			}
		}
		if n := debug.SetGCPercent(100); n != 100 {
			t.Errorf("GOGC has become %d", n)
		}
	})
}

// A bounded run ends by itself, and what the cluster lacks is told by its kind.
func TestRunEnds(t *testing.T) {
	s, log := newShop(t), new(logBuffer)
	cfg := s.config("orders", log)
	cfg.CreateTopics = false
	err := rt.Run(s.ctx, orders.Pipeline(), cfg)
	if rt.KindOf(err) != rt.KindCluster || !strings.Contains(err.Error(), "orders") {
		t.Errorf("without topics: %v", err)
	}
	if err := s.client.CreateTopics(s.ctx, 1, "orders"); err != nil {
		t.Fatal(err)
	}
	s.send("u1")
	cfg.CreateTopics, cfg.Until = true, rt.Until{Latest: true}
	if err := rt.Run(s.ctx, orders.Pipeline(), cfg); err != nil {
		t.Fatalf("%v\n%s", err, log.lines())
	}
	watcher, err := devkafka.Watch(s.broker, "user-totals")
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	rest, err := watcher.Rest(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(rest) != 2 || string(rest[0].Value) != total("u1") { // the last window is closed, too
		t.Errorf("%d results, the first is %s", len(rest), rest[0].Value)
	}
}
