package runtime

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eoc-lang/eoc/runtime/internal/settings"
)

// The metrics of an embedded pipeline are in the registry that it was given, from before it reaches Kafka until Run returns.
func TestConfigMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	p := embedded()
	p.RestartMin, p.RestartMax = Minute, Minute
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held, done := make(chan struct{}), make(chan error)
	go func() {
		done <- Run(ctx, p, Config{StateDir: t.TempDir(), Brokers: []string{"127.0.0.1:1"}, Metrics: registry, Logger: slog.New(&tell{to: held})})
	}()
	<-held
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range families {
		if f.GetName() != "eo_records_read_total" && f.GetName() != "eo_ready" {
			continue
		}
		found++
		labels := map[string]string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		if labels["pipeline"] != "p" || f.GetName() == "eo_records_read_total" && labels["place"] != "p.eo:9" {
			t.Errorf("%s has the labels %v", f.GetName(), labels)
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 metrics are there", found)
	}
	if err := Run(ctx, p, Config{StateDir: t.TempDir(), Metrics: registry}); KindOf(err) != KindUsage {
		t.Errorf("a second pipeline of the same name: %v", err)
	}
	cancel()
	<-done
	if families, err := registry.Gather(); len(families) > 0 || err != nil {
		t.Errorf("after Run there are %d metrics, %v", len(families), err)
	}
}

// An address that is taken ends a start before the state is touched.
func TestAddressIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "state")
	p := embedded()
	env := func(string) (string, bool) { return "", false }
	set, spec, err := p.resolve(env, func(d settings.Defaults) (settings.Settings, error) {
		return settings.Parse([]string{"--http", l.Addr().String(), "--state", dir}, env, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = operate(nil, set, spec, view{}, nil, slog.New(slog.DiscardHandler))
	if KindOf(err) != KindUsage || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("the start ended with %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the state directory was touched: %v", err)
	}
}
