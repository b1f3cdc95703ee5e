package runtime_test

import (
	"strings"
	"testing"
	"time"

	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// TestSpec shows what the engine is told.
func TestSpec(t *testing.T) {
	p := ordersWith(func(s *rt.SourceSpec) {
		s.Topic = rt.Setting{Env: "ORDERS", Text: "orders", HasDefault: true}
		s.Start, s.StartGroup = rt.AtGroup, rt.Setting{Env: "GROUP"}
		s.DLQDeliver = rt.AtLeastOnce
	})
	s, err := p.Spec(environment("ORDERS", "orders-eu", "GROUP", "old"))
	if err != nil {
		t.Fatal(err)
	}
	if src := s.Sources[0]; len(s.Sources) != 1 || src.Topic != "orders-eu" || src.StartGroup != "old" || src.Start != engine.AtGroup || src.Idle != 30*time.Second || src.Place != "orders.eo:8" {
		t.Errorf("%+v", src)
	}
	var sinks []string
	for _, k := range s.Sinks {
		sinks = append(sinks, k.Name+" "+k.Topic+" "+k.Place)
	}
	if got := strings.Join(sinks, ", "); got != "totals user-totals orders.eo:23, orders_late orders-late orders.eo:27, orders.dlq orders.dlq orders.eo:8" {
		t.Errorf("sinks %s", got)
	}
	if s.Sinks[0].Deliver != engine.ExactlyOnce || s.Sinks[2].Deliver != engine.AtLeastOnce {
		t.Errorf("%+v", s.Sinks)
	}
	if op := s.Operators[0]; len(s.Operators) != 1 || op.ID != "user_totals/window" || op.Place != "orders.eo:18" || op.Size != 60e6 || len(op.Sources) != 1 || op.Sources[0] != 0 {
		t.Errorf("%+v", s.Operators)
	}
	if s.Checkpoint != time.Second || s.RestartMax != time.Minute || s.TxnTimeout != 2*time.Minute || s.Parallelism != 1 || s.State[0] != (engine.Form{ID: "orders", Place: "orders.eo:8", Form: "orders Order"}) {
		t.Errorf("%+v", s)
	}
}

// TestSpecErrors is about settings that are missing, and topics that only the environment gives twice.
func TestSpecErrors(t *testing.T) {
	topic := func(s rt.Setting) func(*rt.SourceSpec) { return func(spec *rt.SourceSpec) { spec.Topic = s } }
	for _, c := range []struct {
		name string
		p    rt.Pipeline
		env  func(string) (string, bool)
		want string
	}{
		{"no variable", ordersWith(topic(rt.Setting{Env: "ORDERS"})), environment(), "environment variable ORDERS is not set: it gives the topic of source orders (orders.eo:8)"},
		{"no topic's name", ordersWith(topic(rt.Setting{Env: "ORDERS"})), environment("ORDERS", "my orders"), "\"my orders\" is the topic of source orders (orders.eo:8), which Kafka does not take"},
		{"no name for dead letters", ordersWith(func(s *rt.SourceSpec) { s.OnError = rt.DLQ(rt.Setting{Env: "DLQ"}) }), environment("DLQ", ".."), "\"..\" is the dead-letter topic of source orders"},
		{"no group", ordersWith(func(s *rt.SourceSpec) { s.Start, s.StartGroup = rt.AtGroup, rt.Setting{Env: "GROUP"} }), environment(), "GROUP is not set"},
		{"no dead-letter topic", ordersWith(func(s *rt.SourceSpec) { s.OnError = rt.DLQ(rt.Setting{Env: "DLQ"}) }), environment(), "DLQ is not set: it gives the dead-letter topic of source orders"},
		{"a sink's topic is read", ordersWith(topic(rt.Setting{Env: "ORDERS"})), environment("ORDERS", "user-totals"), "topic user-totals is written (orders.eo:23) and read (orders.eo:8)"},
		{"a dead-letter topic is read", ordersWith(topic(rt.Setting{Text: "orders.dlq"})), environment(), "topic orders.dlq is written"},
	} {
		_, err := c.p.Spec(c.env)
		if failure.KindOf(err) != failure.Usage || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
