package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

// patience bounds every wait for the program and the broker.
const patience = 10 * time.Minute

// Two pipelines in one process of a user's own, beside an embedded broker: stopped, killed and started again, each
// gives every result exactly once. What they have to be is added up here.
func TestTwoPipelinesInOneProcess(t *testing.T) {
	dir := userModule(t, "two")
	goIn(t, dir, "generate", "./...")
	goIn(t, dir, "build", "-o", "two", ".")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	broker, err := devkafka.Start(ctx, os.Stderr, "eoc", "__broker")
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Stop()
	s := newShop(t, ctx, broker.Addr)
	p := &process{t: t, path: filepath.Join(dir, "two"), broker: broker.Addr, state: t.TempDir()}
	defer func() { p.end(os.Kill) }()

	p.start()
	s.feed(0)
	s.await()
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Fatalf("stopped by its context: %v\n%s", err, p.log.String())
	}
	if got := strings.Count(p.log.String(), " stopped pipeline="); got != 2 {
		t.Errorf("%d pipelines have stopped, want 2:\n%s", got, p.log.String())
	}
	for round := 1; round <= 5; round += 2 { // killed with records on their way
		p.start()
		s.feed(round)
		s.await()
		s.feed(round + 1)
		p.end(os.Kill)
	}
	p.start()
	s.feed(7)
	s.finish()
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Errorf("stopped by its context: %v\n%s", err, p.log.String())
	}
	s.compare()
}

// process is the program, of which at most one runs.
type process struct {
	t                   *testing.T
	path, broker, state string

	cmd *exec.Cmd
	log strings.Builder // of the last one
}

func (p *process) start() {
	p.t.Helper()
	p.log.Reset()
	p.cmd = exec.Command(p.path)
	p.cmd.Env = append(os.Environ(), "KAFKA_BROKER="+p.broker, "STATE_DIR="+p.state)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// end sends a signal and waits for the end, which the engine's own deadline bounds.
func (p *process) end(s os.Signal) error {
	if p.cmd == nil {
		return nil
	}
	p.cmd.Process.Signal(s)
	err := p.cmd.Wait()
	p.cmd = nil
	return err
}

// shop feeds both topics, and reads what becomes of it.
type shop struct {
	t       *testing.T
	ctx     context.Context
	client  *devkafka.Client
	watcher *devkafka.Watcher

	got    map[string]int // lines of both topics: how often they were read
	seen   map[string]int // records, by topic
	totals map[string]total
	failed map[string]int
}

type total struct{ cents, orders int }

const (
	partitions     = 3
	recordsInRound = 600 // of each topic
)

func newShop(t *testing.T, ctx context.Context, broker string) *shop {
	t.Helper()
	client, err := devkafka.Dial(broker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.CreateTopics(ctx, partitions, "orders", "orders.dlq", "user-totals", "orders-late", "visits", "failed-visits"); err != nil {
		t.Fatal(err)
	}
	watcher, err := devkafka.Watch(broker, "user-totals", "failed-visits", "orders-late", "orders.dlq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Close)
	return &shop{
		t: t, ctx: ctx, client: client, watcher: watcher,
		got: map[string]int{}, seen: map[string]int{}, totals: map[string]total{}, failed: map[string]int{},
	}
}

// feed sends a round of records, ten minutes of orders, and notes what is to become of them.
func (s *shop) feed(round int) {
	s.t.Helper()
	var orders, visits []devkafka.Record
	for i := range recordsInRound {
		at := time.Date(2026, 1, 1, 0, 10*round, i, 0, time.UTC)
		cents, user := 100+i, i%7
		orders = append(orders, order(i%partitions, user, cents, at))
		key := fmt.Sprintf(`u%d %s`, user, at.Truncate(time.Minute).Format(time.RFC3339))
		s.totals[key] = total{s.totals[key].cents + cents, s.totals[key].orders + 1}

		id, status := round*recordsInRound+i, 200+100*(i%4)
		visits = append(visits, devkafka.Record{Partition: int32(i % partitions), Value: fmt.Appendf(nil, `{"id":%d,"status":%d}`, id, status)})
		if status >= 500 {
			s.failed[fmt.Sprintf(`failed-visits {"id":%d}`, id)]++
		}
	}
	s.send("orders", orders)
	s.send("visits", visits)
}

func order(partition, user, cents int, at time.Time) devkafka.Record {
	return devkafka.Record{Partition: int32(partition),
		Value: fmt.Appendf(nil, `{"user_id":"u%d","amount":%d.%02d,"at":%q}`, user, cents/100, cents%100, at.Format(time.RFC3339))}
}

func (s *shop) send(topic string, records []devkafka.Record) {
	s.t.Helper()
	if err := s.client.Send(s.ctx, topic, records); err != nil {
		s.t.Fatal(err)
	}
}

// await waits until both pipelines have committed something new.
func (s *shop) await() {
	s.t.Helper()
	before := maps.Clone(s.seen)
	for s.seen["failed-visits"] == before["failed-visits"] || s.seen["user-totals"] == before["user-totals"] {
		s.read()
	}
}

// read waits for results.
func (s *shop) read() {
	s.t.Helper()
	records, err := s.watcher.Next(s.ctx)
	if err != nil {
		s.t.Fatalf("waiting for results: %v; read so far: %v", err, s.seen)
	}
	s.note(records)
}

// finish closes the windows of all orders and waits for their results.
func (s *shop) finish() {
	s.t.Helper()
	var last []devkafka.Record
	for p := range partitions {
		last = append(last, order(p, 99, 100, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))) // their own window stays open
	}
	s.send("orders", last)
	for s.seen["user-totals"] < len(s.totals) || s.seen["failed-visits"] < len(s.failed) {
		s.read()
	}
}

func (s *shop) note(records []devkafka.Record) {
	for _, r := range records {
		s.seen[r.Topic]++
		s.got[r.Topic+" "+string(r.Value)]++
	}
}

// compare reads the rest and wants each result once, and no others.
func (s *shop) compare() {
	s.t.Helper()
	rest, err := s.watcher.Rest(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	s.note(rest)
	want := maps.Clone(s.failed)
	for key, n := range s.totals {
		user, start, _ := strings.Cut(key, " ")
		begin, err := time.Parse(time.RFC3339, start)
		if err != nil {
			s.t.Fatal(err)
		}
		want[fmt.Sprintf(`user-totals {"user_id":%q,"window_start":%q,"window_end":%q,"total":%d.%02d,"orders":%d}`,
			user, start, begin.Add(time.Minute).Format(time.RFC3339), n.cents/100, n.cents%100, n.orders)] = 1
	}
	if maps.Equal(s.got, want) {
		return
	}
	differ := 0
	for _, line := range slices.Sorted(maps.Keys(union(s.got, want))) {
		if s.got[line] != want[line] && differ < 10 {
			differ++
			s.t.Errorf("%d times, want %d: %s", s.got[line], want[line], line)
		}
	}
}

func union(a, b map[string]int) map[string]int {
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}
