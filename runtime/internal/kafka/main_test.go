package kafka

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// Brokers look for transactions that are too old twice a second, not every 10 s.
var brokers = kafkatest.Pool{Settings: map[string]string{"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}}

func TestMain(m *testing.M) { os.Exit(brokers.Main(m)) }

const (
	testTimeout = 5 * time.Minute // of what a test waits for
	txnTimeout  = 2 * time.Minute
)

// each runs a test on Kafka with transactions V1 and V2.
func each(t *testing.T, test func(t *testing.T, b *bed)) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("V%d", version), func(t *testing.T) { test(t, newBed(t, version)) })
	}
}

// bed is what a test works with: a broker, topics of its own, and a cluster as the program has it.
type bed struct {
	*kafkatest.Broker
	t           testing.TB
	ctx         context.Context
	cluster     *Cluster
	in, out     string // topics of two partitions
	group       string
	ids         [2]string
	incarnation checkpoint.ID
}

func newBed(t testing.TB, version int) *bed {
	t.Helper()
	return newBedAt(t, brokers.Broker(t, version))
}

func newBedAt(t testing.TB, broker *kafkatest.Broker) *bed {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == '#' {
			return '-'
		}
		return r
	}, t.Name()) + "-" + rand.Text()[:6] // a test may run several times on one broker
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	b := &bed{Broker: broker, t: t, ctx: ctx, in: name + "-in", out: name + "-out", group: name,
		ids: [2]string{name + "-0", name + "-1"}, incarnation: checkpoint.ID{1, 2, 3}}
	b.CreateTopic(t, b.in, 2)
	b.CreateTopic(t, b.out, 2)
	b.cluster = b.open()
	return b
}

// open is another process that knows the cluster.
func (b *bed) open() *Cluster {
	b.t.Helper()
	level := slog.LevelError
	if testing.Verbose() {
		level = slog.LevelWarn
	}
	c, err := Open(b.ctx, Config{Brokers: []string{b.Addr}, ClientID: "test",
		Logger: slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: level}))})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

func (b *bed) config() engine.SinkConfig {
	return engine.SinkConfig{
		Topics: []engine.SinkSpec{{Name: "out", Topic: b.out, Deliver: engine.ExactlyOnce}}, IDs: b.ids, Group: b.group,
		TxnTimeout: txnTimeout, Recycle: func(*record.Slab) {}, Exactly: true, Pipeline: "p", Incarnation: b.incarnation,
		Happened: func(int, engine.Occasion, int64) {},
	}
}

func (b *bed) sink(c *Cluster, cfg engine.SinkConfig) engine.Sink {
	b.t.Helper()
	s, err := c.NewSink(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(s.Close)
	return s
}

// at are positions of the input for a checkpoint: number n has read n records of each partition.
func (b *bed) at(n int64) []engine.Position {
	return []engine.Position{{Topic: b.in, Partition: 0, Next: n}, {Topic: b.in, Partition: 1, Next: n}}
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// write begins transaction n and writes values with their index as key.
func (b *bed) write(s engine.Sink, n int64, values ...string) {
	b.t.Helper()
	b.must(s.Begin(b.ctx, n))
	b.must(s.Write(b.ctx, slab(0, values...)))
}

func (b *bed) prepare(s engine.Sink, n int64, values ...string) checkpoint.Committable {
	b.t.Helper()
	b.write(s, n, values...)
	c, _, err := s.Prepare(b.ctx, n, b.at(n))
	b.must(err)
	return c
}

func slab(sink int, values ...string) *record.Slab {
	s := &record.Slab{Sink: sink}
	for i, v := range values {
		add(s, fmt.Sprint("k", i), v, 1_000_000)
	}
	return s
}

func add(s *record.Slab, key, value string, at int64) {
	span := record.Span{Start: len(s.Data), HasKey: true, Time: at}
	s.Data = append(s.Data, key...)
	span.KeyEnd = len(s.Data)
	s.Data = append(s.Data, value...)
	span.End = len(s.Data)
	s.Records = append(s.Records, span)
}

// committed is what a read_committed reader of the output sees, when no transaction of it is open.
func (b *bed) committed() []string {
	b.t.Helper()
	b.AwaitSettled(b.t, b.out)
	var values []string
	for _, r := range b.ReadCommitted(b.t, b.out) {
		values = append(values, string(r.Value))
	}
	return values
}

func (b *bed) expect(want ...string) {
	b.t.Helper()
	if got := b.committed(); !sameSet(got, want) {
		b.t.Errorf("committed output is %q, want %q", got, want)
	}
}

func sameSet(a, b []string) bool {
	count := map[string]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// marked expects the marker of the group to be that of checkpoint n; -1: none. The first marker of a group is waited for.
func (b *bed) marked(n int64) {
	b.t.Helper()
	m, err := b.cluster.Marker(b.ctx, b.group)
	for err == nil && m == nil && n >= 0 && sleep(b.ctx, 20*time.Millisecond) {
		m, err = b.cluster.Marker(b.ctx, b.group)
	}
	b.must(err)
	switch {
	case m == nil && n < 0:
	case m == nil:
		b.t.Errorf("there is no marker, want that of checkpoint %d", n)
	case m.Checkpoint != n || m.Pipeline != "p" || m.Incarnation != b.incarnation:
		b.t.Errorf("the marker is %+v, want that of checkpoint %d", m, n)
	}
}
