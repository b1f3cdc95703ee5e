// Package deploy tests the files of docs/deploy: what they use is what a program exposes, and that is right.
package deploy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// deadline is how long anything may take that takes a moment on an idle machine.
const deadline = 5 * time.Minute

const example = "../../examples/orders.eo"

// series is a series of /metrics: its name, its labels, its value.
type series struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	line  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	label = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// scrape reads what a program exposes.
func scrape(t *testing.T, url string) []series {
	t.Helper()
	answer, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("/metrics answers %s", answer.Status)
	}
	var all []series
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		parts := line.FindStringSubmatch(lines.Text())
		if parts == nil {
			t.Fatalf("/metrics: %s", lines.Text())
		}
		s := series{name: parts[1], labels: map[string]string{}}
		for _, l := range label.FindAllStringSubmatch(parts[2], -1) {
			s.labels[l[1]] = l[2]
		}
		if s.value, err = strconv.ParseFloat(parts[3], 64); err != nil {
			t.Fatalf("/metrics: %s: %v", lines.Text(), err)
		}
		all = append(all, s)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// broker runs an embedded broker until the test is over.
func broker(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	in, _ := io.Pipe()
	out, address := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := devkafka.Serve(ctx, in, address)
		address.CloseWithError(err)
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		in.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(addr)
}

// partitions of the topics.
const partitions = 2

// orders are the sample orders and some that are filtered, late, null, ahead of their time and no orders at all, by partition.
func orders(t *testing.T) [partitions][]devkafka.Record {
	t.Helper()
	sample, err := os.ReadFile("../../examples/data/orders/orders.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	sample = append(sample, `
		{"user_id":"a","amount":-1,"at":"2026-03-02T11:00:00Z"}
		{"user_id":"a","amount":-1,"at":"2026-03-02T11:00:00Z"}
		{"user_id":"a","amount":5,"at":"2026-03-02T11:00:00Z"}
		{"user_id":"a","amount":5,"at":"2026-03-02T11:00:00Z"}
		{"user_id":"a","amount":5,"at":"2026-03-02T08:00:00Z"}
		{"user_id":"a","amount":5,"at":"2036-03-02T08:00:00Z"}
		{"user_id":"a","amount":"many","at":"2026-03-02T08:00:00Z"}
		null`...)
	var all [partitions][]devkafka.Record
	sent := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for i, text := range bytes.Split(bytes.TrimSpace(sample), []byte("\n")) {
		r := devkafka.Record{Partition: int32(i % partitions), Value: bytes.TrimSpace(text), Time: sent}
		if string(r.Value) == "null" {
			r.Value = nil
		}
		all[r.Partition] = append(all[r.Partition], r)
	}
	return all
}

// expected is what the reference counts, by metric and operator.
func expected(t *testing.T, input [partitions][]devkafka.Record) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	checked, _ := dsl.Check("orders.eo", text)
	graph, _ := planner.Plan(checked)
	var records [][]reference.Record
	for _, partition := range input {
		var list []reference.Record
		for i, r := range partition {
			list = append(list, reference.Record{Value: r.Value, Offset: int64(i), Time: r.Time.UnixMicro()})
		}
		records = append(records, list)
	}
	result := reference.RunOn(graph, reference.Input{"orders": records})
	want := map[string]float64{}
	for c, n := range result.Counts {
		if c.Name != "out" {
			want["eo_records_"+c.Name+"_total "+c.Operator] += float64(n)
		}
	}
	for sink, outputs := range result.Sinks {
		want["eo_records_out_total "+sink] += float64(len(outputs))
	}
	want["eo_records_out_total orders.dlq"] = float64(len(result.DeadLetters))
	return want
}

// counted is what the program counts, in the same form. Zeros are left out.
func counted(all []series) map[string]float64 {
	got := map[string]float64{}
	for _, s := range all {
		if strings.HasPrefix(s.name, "eo_records_") && s.value != 0 {
			got[s.name+" "+s.labels["operator"]] += s.value
		}
	}
	maps.DeleteFunc(got, func(name string, _ float64) bool { return strings.HasPrefix(name, "eo_records_sent_") })
	return got
}

// running starts the example with the given input and returns what it exposes once it has counted what the reference counts.
func running(t *testing.T, compiler *program.Compiler) (url string, p *program.Process, all []series) {
	t.Helper()
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	addr, input := broker(t), orders(t)
	client, err := devkafka.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.CreateTopics(ctx, partitions, "orders", "user-totals", "orders-late", "orders.dlq"); err != nil {
		t.Fatal(err)
	}
	for _, records := range input {
		if err := client.Send(ctx, "orders", records); err != nil {
			t.Fatal(err)
		}
	}
	p = program.Start(t, compiler.Build(t, "orders", string(text), program.Mode{}), program.Config{
		Args: []string{"--brokers", addr, "--http", "0", "--pprof", "--checkpoint-interval", "100ms", "--parallelism", "2"},
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	wait := func(what string) {
		t.Helper()
		select {
		case <-tick.C:
		case <-p.Done():
			t.Fatalf("the program has ended: %v\n%s", p.Exit(), p.Tail(20))
		case <-ctx.Done():
			t.Fatalf("no %s within %v; the log:\n%s", what, deadline, p.Tail(20))
		}
	}
	address := regexp.MustCompile(`http=(http://\S+)`)
	for url == "" {
		wait("address in the log")
		if found := address.FindStringSubmatch(p.Log()); found != nil {
			url = found[1]
		}
	}
	want := expected(t, input)
	for {
		all = scrape(t, url)
		got := counted(all)
		if maps.Equal(got, want) {
			return url, p, all
		}
		wait(fmt.Sprintf("counts like those of the reference\ngot  %v\nwant %v\n", got, want))
	}
}

// TestProgram looks at a program that runs, and at its end.
func TestProgram(t *testing.T) {
	var compiler program.Compiler
	defer compiler.Close()
	url, p, all := running(t, &compiler)
	defer http.DefaultClient.CloseIdleConnections()
	names := map[string][]series{}
	for _, s := range all {
		names[s.name] = append(names[s.name], s)
	}
	t.Run("figures", func(t *testing.T) { testFigures(t, names) })
	t.Run("dashboard", func(t *testing.T) { testDashboard(t, names) })
	t.Run("alerts", func(t *testing.T) { testAlerts(t, names) })
	t.Run("all is used", func(t *testing.T) { testAllIsUsed(t, names) })
	for _, path := range []string{"/healthz", "/readyz", "/debug/pprof/goroutine?debug=1", "/"} {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", path, answer.Status, body)
		}
	}
	p.Signal(t, syscall.SIGTERM)
	if exit := p.Wait(t, deadline, "SIGTERM"); exit.Code != 0 {
		t.Errorf("%v\n%s", exit, p.Tail(20))
	}
	if _, err := http.Get(url + "/healthz"); err == nil {
		t.Error("it answers after its end")
	}
}

// testFigures checks what can be known of figures that are no counts.
func testFigures(t *testing.T, names map[string][]series) {
	one := func(name string) float64 {
		t.Helper()
		if len(names[name]) != 1 {
			t.Fatalf("%s has %d series, want 1", name, len(names[name]))
		}
		return names[name][0].value
	}
	if n := one("eo_checkpoints_total"); n < 1 || one("eo_checkpoint_number") != n || one("eo_transactions_total") < n || one("eo_checkpoint_duration_seconds_count") != n {
		t.Errorf("%v checkpoints, the last is %v, %v transactions, %v durations", n, one("eo_checkpoint_number"), one("eo_transactions_total"), one("eo_checkpoint_duration_seconds_count"))
	}
	if one("eo_ready") != 1 || one("eo_restarts_total") != 0 || one("eo_checkpoints_abandoned_total") != 0 {
		t.Error("it is not ready, or has restarted")
	}
	parts := 0.0
	for _, s := range names["eo_checkpoint_part_duration_seconds_sum"] {
		parts += s.value
	}
	if total := one("eo_checkpoint_duration_seconds_sum"); total <= 0 || parts < 0.999*total || parts > 1.001*total {
		t.Errorf("checkpoints took %v s, their parts %v s", total, parts)
	}
	if age := float64(time.Now().UnixNano())/1e9 - one("eo_checkpoint_last_timestamp_seconds"); age < 0 || age > deadline.Seconds() {
		t.Errorf("the last checkpoint is %v s old", age)
	}
	// The least watermark of the partitions: the orders of 11:00 are the last ones that are not ahead.
	watermark := float64(time.Date(2026, 3, 2, 11, 0, 0, 0, time.UTC).Add(-5 * time.Second).Unix())
	if got := one("eo_watermark_timestamp_seconds"); got != watermark || names["eo_watermark_timestamp_seconds"][0].labels["place"] != "orders.eo:18" {
		t.Errorf("the watermark is %v, want %v", got, watermark)
	}
	for _, s := range names["eo_partition_lag_offsets"] {
		if s.value != 0 {
			t.Errorf("the lag of %v is %v", s.labels, s.value)
		}
	}
	if n := len(names["eo_partition_next_offset"]); n != partitions {
		t.Errorf("%d partitions have an offset", n)
	}
	sum := 0.0
	for _, s := range names["eo_partitions"] {
		sum += s.value
	}
	if sum != partitions {
		t.Errorf("%v partitions are in some state", sum)
	}
}

// keys are the labels that the series of a name have.
func keys(list []series) []string {
	all := map[string]bool{}
	for _, s := range list {
		for name := range s.labels {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
