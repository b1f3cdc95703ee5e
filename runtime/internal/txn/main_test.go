package txn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/record"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/txn"
)

// pipe is a pipeline of a source and a sink whose checkpoints the test makes by hand.
type pipe struct {
	*kafkatest.Broker
	t       testing.TB
	cfg     txn.Config
	cluster *kafka.Cluster
	sink    engine.Sink
	newest  *checkpoint.Checkpoint
}

// newPipe makes topics and checkpoint 0, with its marker.
func newPipe(t testing.TB, b *kafkatest.Broker, name string) *pipe {
	t.Helper()
	p := &pipe{Broker: b, t: t}
	forms := []checkpoint.Form{{ID: "orders", Place: "orders.eo:8", Form: "topic " + name + "-in"}}
	p.cfg = txn.Config{
		Settings: settings.Settings{Name: name, Brokers: []string{b.Addr}, StateDir: filepath.Join(t.TempDir(), "state"), TxnPrefix: name},
		Spec: engine.Spec{
			Name: name, File: "orders.eo", TxnPrefix: name, TxnTimeout: 2 * time.Minute, State: forms,
			Sources: []engine.SourceSpec{{Name: "orders", Place: "orders.eo:8", Topic: name + "-in"}},
			Sinks:   []engine.SinkSpec{{Name: "totals", Place: "orders.eo:20", Topic: name + "-out"}},
		},
		State: state.Options{Pipeline: name, Forms: forms},
	}
	b.CreateTopic(t, name+"-in", 1)
	b.CreateTopic(t, name+"-out", 1)
	p.newest = &checkpoint.Checkpoint{Incarnation: checkpoint.ID{7}, Pipeline: name, Group: "eo-" + name, IDs: p.ids(), Exactly: true}
	p.partitions(p.newest)
	p.stored(func(s *state.Bolt) error { return s.Save(p.newest) })
	p.stored(func(s *state.Bolt) error { return s.Confirm(0) })
	return p
}

func (p *pipe) ids() []string { return []string{p.cfg.Spec.Name + "-0", p.cfg.Spec.Name + "-1"} }

func (p *pipe) partitions(c *checkpoint.Checkpoint) {
	in := p.cfg.Spec.Name + "-in"
	c.Partitions = []checkpoint.Partition{{Source: "orders", Topic: in, TopicID: p.TopicID(p.t, in), Active: true, Bound: -1}}
}

func (p *pipe) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// stored does something to the state.
func (p *pipe) stored(do func(*state.Bolt) error) {
	p.t.Helper()
	s, err := state.OpenBolt(p.cfg.Settings.StateDir, p.cfg.State)
	p.must(err)
	p.must(do(s))
	p.must(s.Close())
}

// open takes the ids, as a start does.
func (p *pipe) open() {
	p.t.Helper()
	var err error
	p.cluster, err = kafka.Open(p.t.Context(), kafka.Config{Brokers: []string{p.Addr}, ClientID: "test"})
	p.must(err)
	p.t.Cleanup(p.cluster.Close)
	c := engine.SinkConfig{
		Topics: p.cfg.Spec.Sinks, Group: "eo-" + p.cfg.Spec.Name, TxnTimeout: 2 * time.Minute, Recycle: func(*record.Slab) {}, Exactly: true,
		Pipeline: p.cfg.Spec.Name, Incarnation: checkpoint.ID{7}, Happened: func(int, engine.Occasion, int64) {},
	}
	copy(c.IDs[:], p.ids())
	p.sink, err = p.cluster.NewSink(c)
	p.must(err)
	p.t.Cleanup(p.sink.Close)
}

// prepare writes values in the transaction of the next checkpoint, which is stored.
func (p *pipe) prepare(values ...string) {
	p.t.Helper()
	next := p.newest.Next()
	proofs := checkpoint.ProofsFrom(p.newest)
	next.Committed = proofs.Spans()
	p.partitions(next)
	next.Committable = p.write(next.Number, values...)
	p.newest = next
	p.stored(func(s *state.Bolt) error { return s.Save(next) })
}

// write writes values in transaction n and prepares it.
func (p *pipe) write(n int64, values ...string) checkpoint.Committable {
	p.t.Helper()
	ctx := p.t.Context()
	p.must(p.sink.Begin(ctx, n))
	slab := &record.Slab{}
	for _, v := range values {
		slab.Data = append(slab.Data, v...)
		slab.Records = append(slab.Records, record.Span{Start: len(slab.Data) - len(v), KeyEnd: len(slab.Data) - len(v), End: len(slab.Data), Time: 1_000_000})
	}
	p.must(p.sink.Write(ctx, slab))
	c, _, err := p.sink.Prepare(ctx, n, []engine.Position{{Topic: p.cfg.Spec.Name + "-in", Next: 0}})
	p.must(err)
	return c
}

func (p *pipe) commit() {
	p.t.Helper()
	p.must(p.sink.Commit(p.t.Context(), p.newest.Committable))
}

func (p *pipe) confirm() {
	p.t.Helper()
	p.stored(func(s *state.Bolt) error { return s.Confirm(p.newest.Number) })
}

// fence takes the ids from whoever has them.
func (p *pipe) fence() {
	p.t.Helper()
	p.sink.Close()
	for _, id := range p.ids() {
		p.must(p.cluster.Fence(p.t.Context(), id, 2*time.Minute))
	}
}

// ask runs an action, and expects a kind of failure (Transient: none) and texts in what it says.
func (p *pipe) ask(kind failure.Kind, action, answer string, texts ...string) string {
	p.t.Helper()
	var out bytes.Buffer
	cfg := p.cfg
	cfg.Settings.Action, cfg.Out = action, &out
	switch answer {
	case "":
	case "--yes":
		cfg.Settings.Yes = true
	default:
		cfg.In = strings.NewReader(answer)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	err := txn.Run(ctx, cfg)
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	p.t.Logf("txn %s %s\n%s", action, answer, &out)
	if (err != nil) != (kind != failure.Transient) || err != nil && failure.KindOf(err) != kind {
		p.t.Fatalf("kind %d, want %d: %v", failure.KindOf(err), kind, err)
	}
	for _, text := range texts {
		if !strings.Contains(out.String(), text) {
			p.t.Errorf("%q is not in\n%s", text, &out)
		}
	}
	return out.String()
}

// list is what txn list says.
func (p *pipe) list() txn.Report {
	p.t.Helper()
	p.cfg.Settings.JSON = true
	text := p.ask(failure.Transient, settings.TxnList, "")
	p.cfg.Settings.JSON = false
	var r txn.Report
	p.must(json.Unmarshal([]byte(text), &r))
	return r
}

// sees is what readers of committed records see, which are not held back.
func (p *pipe) sees(want ...string) {
	p.t.Helper()
	out := p.cfg.Spec.Name + "-out"
	p.AwaitSettled(p.t, out)
	var got []string
	for _, r := range p.ReadCommitted(p.t, out) {
		got = append(got, string(r.Value))
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("readers see %q, want %q", got, want)
	}
}

// holds is how the state stands.
func (p *pipe) holds(n int64, confirmed bool) {
	p.t.Helper()
	v, err := state.Look(p.cfg.Settings.StateDir)
	p.must(err)
	if v.Newest.Number != n || v.Confirmed != confirmed {
		p.t.Errorf("the state stands at %d, confirmed %v; want %d, %v", v.Newest.Number, v.Confirmed, n, confirmed)
	}
}

// stands is how the state and the marker are; marker -1: there is none. The first marker of a group shows a moment after its transaction was committed.
func (p *pipe) stands(n int64, confirmed bool, marker int64) {
	p.t.Helper()
	p.holds(n, confirmed)
	for deadline := time.Now().Add(5 * time.Minute); ; {
		m, err := p.cluster.Marker(p.t.Context(), "eo-"+p.cfg.Spec.Name)
		p.must(err)
		switch {
		case m == nil && marker < 0, m != nil && m.Checkpoint == marker:
			return
		case m != nil || time.Now().After(deadline):
			p.t.Fatalf("the marker is of %v, want %d", m, marker)
		}
		<-time.After(20 * time.Millisecond)
	}
}
