package ui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/build"
	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// TestMain lets the test binary be the broker.
func TestMain(m *testing.M) {
	if os.Getenv("UI_TEST_AS") == "broker" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := devkafka.Serve(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const partitions = 3

// shop is examples/orders.eo as a program, with a broker, and everything that was fed.
type shop struct {
	t       *testing.T
	graph   *planner.Graph
	program string
	dir     string
	broker  string
	address string // where the program shows itself: the first one chooses, the next ones are to be found there again
	client  *devkafka.Client
	random  *rand.Rand
	fed     [][]reference.Record // by partition
	at      time.Time            // event time of what is fed next

	running *exec.Cmd
	ended   chan struct{} // closed when it has ended
}

func newShop(t *testing.T) *shop {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &shop{t: t, address: "127.0.0.1:0", dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1)), fed: make([][]reference.Record, partitions),
		at: time.Now().Add(-time.Hour).Truncate(time.Minute)}
	s.compile()
	t.Setenv("UI_TEST_AS", "broker")
	broker, err := devkafka.Start(t.Context(), os.Stderr, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Stop(); err != nil {
			t.Error(err)
		}
	})
	s.broker = broker.Addr
	if s.client, err = devkafka.Dial(s.broker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	if err := s.client.CreateTopics(t.Context(), partitions, "orders", "user-totals", "orders-late", "orders.dlq"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) compile() {
	const file = "../../../examples/orders.eo"
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	// However long the browser takes, no partition becomes idle, so that none is late behind the others.
	text = bytes.Replace(text, []byte("  watermark 5s\n"), []byte("  watermark 5s\n  idle      never\n"), 1)
	checked, faults := dsl.Check("orders.eo", text)
	if len(faults) > 0 {
		s.t.Fatal(faults)
	}
	if s.graph, faults = planner.Plan(checked); len(faults) > 0 {
		s.t.Fatal(faults)
	}
	files, err := codegen.Generate(s.graph, codegen.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	program := map[string][]byte{}
	for _, f := range files {
		program[f.Name] = f.Data
	}
	if s.program, err = build.Build(s.t.Context(), build.Request{Program: program, Source: file, Output: s.dir + "/", Name: "orders", Version: "test"}); err != nil {
		s.t.Fatal(err)
	}
}

// start starts the program, again if somebody has the address for a moment: between two programs it is nobody's.
func (s *shop) start() {
	s.t.Helper()
	for deadline := time.Now().Add(limit); !s.try(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("somebody else has %s", s.address)
		}
	}
}

// try starts the program, whose log is shown if the test fails, and says whether it has got its address.
func (s *shop) try() bool {
	s.t.Helper()
	log, ended := &programLog{shows: make(chan struct{})}, make(chan struct{})
	cmd := exec.Command(s.program, "--brokers", s.broker, "--state", filepath.Join(s.dir, "state"), "--checkpoint-interval", "200ms", "--ui", "--http", s.address)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.running, s.ended = cmd, ended
	go func() {
		defer close(ended)
		cmd.Wait() // how it ended does not matter
	}()
	s.t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		if s.t.Failed() {
			s.t.Logf("the program's log:\n%s", log.String())
		}
	})
	select {
	case <-log.shows:
		s.address = showsAt.FindStringSubmatch(log.String())[1]
		return true
	case <-ended:
		if !strings.Contains(log.String(), "the program cannot be reached at "+s.address) {
			s.t.Fatal("the program has ended")
		}
	case <-time.After(limit):
		s.t.Fatal("the program does not show itself")
	}
	return false
}

// showsAt is how a program says where it shows itself.
var showsAt = regexp.MustCompile(`shows itself.* http=http://(\S+)\s`)

// programLog is what a program has logged.
type programLog struct {
	mu    sync.Mutex
	text  bytes.Buffer
	shows chan struct{} // closed when it says where it shows itself
	once  sync.Once
}

func (l *programLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.text.Write(b)
	if showsAt.Match(l.text.Bytes()) {
		l.once.Do(func() { close(l.shows) })
	}
	return n, err
}

func (l *programLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// kill is kill -9.
func (s *shop) kill() {
	s.t.Helper()
	if err := s.running.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	<-s.ended
}

// feed sends n orders to each partition, among them some without an amount worth counting, some that are late and some that
// are no orders. The last one of each has the same time, so that W is there.
func (s *shop) feed(n int) {
	s.t.Helper()
	for id := range partitions {
		var records []devkafka.Record
		at := s.at
		for range n {
			at = at.Add(time.Duration(s.random.IntN(400)) * time.Millisecond)
			value := fmt.Sprintf(`{"user_id":"u-%d","amount":%d.%02d,"at":%q}`, s.random.IntN(20), s.random.IntN(100)-10, s.random.IntN(100), at.UTC().Format(time.RFC3339Nano))
			switch s.random.IntN(30) {
			case 0:
				value = fmt.Sprintf(`{"user_id":"u-1","amount":"much","at":%q}`, at.UTC().Format(time.RFC3339Nano))
			case 1:
				value = fmt.Sprintf(`{"user_id":"u-1","amount":1,"at":%q}`, at.Add(-10*time.Minute).UTC().Format(time.RFC3339Nano))
			}
			records = append(records, devkafka.Record{Partition: int32(id), Value: []byte(value), Time: at})
		}
		last := s.at.Add(time.Duration(n) * 400 * time.Millisecond)
		records = append(records, devkafka.Record{Partition: int32(id), Value: fmt.Appendf(nil, `{"user_id":"u-0","amount":1,"at":%q}`, last.UTC().Format(time.RFC3339Nano)), Time: last})
		ctx, cancel := context.WithTimeout(s.t.Context(), limit)
		defer cancel()
		if err := s.client.Send(ctx, "orders", records); err != nil {
			s.t.Fatal(err)
		}
		for _, r := range records {
			s.fed[id] = append(s.fed[id], reference.Record{Value: r.Value, Offset: r.Offset, Time: r.Time.UnixMicro()})
		}
	}
	s.at = s.at.Add(time.Duration(n) * 400 * time.Millisecond)
}

// expected are the counts that the page has to show, by operator and name: those of the reference, and of what is
// written the number of records that it answers.
func (s *shop) expected() map[string]map[string]int64 {
	result := reference.RunOn(s.graph, reference.Input{"orders": s.fed})
	want := map[string]map[string]int64{}
	add := func(operator, name string, n int64) {
		if n == 0 {
			return
		}
		if want[operator] == nil {
			want[operator] = map[string]int64{}
		}
		want[operator][name] += n
	}
	for c, n := range result.Counts {
		if c.Name != "out" {
			add(c.Operator, c.Name, n)
		}
	}
	for sink, records := range result.Sinks {
		add(sink, "out", int64(len(records)))
	}
	add("orders.dlq", "out", int64(len(result.DeadLetters)))
	return want
}

// shown reads the table of counts as it stands on the page.
const shown = `Object.fromEntries([...document.querySelectorAll("#counts tr")].map((row) => [row.dataset.operator,
	Object.fromEntries([...row.cells].slice(2).map((cell, i) => [document.querySelectorAll("#counts-head th")[i + 2].textContent, Number(cell.textContent.replaceAll(",", ""))])
		.filter(([, n]) => n > 0))]))`

// wantCounts waits until the page shows what the reference says.
func (s *shop) wantCounts(b *tab) {
	s.t.Helper()
	want, err := json.Marshal(s.expected()) // sorted by name
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("expected: %s", want)
	sorted := `(x) => JSON.stringify(x, (_, v) => (v && typeof v === "object" ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v))`
	b.until(fmt.Sprintf(`(%s)(%s) === %q`, sorted, shown, want))
}

// wantRefusal waits until the page shows what source orders has refused last, with why, its place and how many there were, and nothing of its contents.
func (s *shop) wantRefusal(b *tab) {
	s.t.Helper()
	b.until(`document.querySelectorAll("#errors li").length === 1 && document.querySelector("#errors li").innerText.includes("orders.eo:8: amount: not a number (byte 26); record of topic orders, partition ")`)
	b.until(fmt.Sprintf(`document.querySelector("#errors li").innerText.includes("the last of %d refused by orders: ")`, s.expected()["orders"]["rejected"]))
	if href := eval[string](b, `document.querySelector("#errors a").textContent + document.querySelector("#errors a").getAttribute("href")`); href != "orders.eo:8#op-orders" {
		s.t.Errorf("the refusal leads to %s", href)
	}
	if told := eval[bool](b, `fetch("/ui/status.json").then((r) => r.text()).then((text) => (text + document.body.innerText).includes("much"))`); told {
		s.t.Error("the page tells what is in a record that was refused")
	}
}

// TestPage looks at a program in a browser while orders flow, kills it, and sees the page find it again.
func TestPage(t *testing.T) {
	s := newShop(t)
	s.start()
	b := newTab(t, "http://"+s.address+"/ui/")

	s.feed(300)
	s.wantCounts(b)
	b.until(`document.querySelector("#phase").textContent === "running" && document.title === "orders · eoc"`)
	b.until(`document.querySelector('#tiles [data-name="lag"] span').textContent === "0"`)
	watermark := s.at.Add(-5 * time.Second).UTC().Format("2006-01-02 15:04:05.000")
	b.until(fmt.Sprintf(`document.querySelector("#watermarks").rows[0].cells[1].textContent === %q`, watermark))
	b.until(`/^orders\/0, orders\/1, orders\/2|^nobody/.test(document.querySelector("#watermarks").rows[0].cells[3].textContent)`)
	b.until(`document.querySelectorAll("#partitions tr").length === 3 && document.querySelectorAll("#checkpoints tr").length > 0`)
	if n := eval[int](b, `document.querySelectorAll(".op").length`); n != len(s.graph.Nodes) {
		t.Errorf("%d operators are drawn of %d", n, len(s.graph.Nodes))
	}
	if n := eval[int](b, `document.querySelectorAll("#graph svg path:not(.tip)").length`); n != edges(s.graph) {
		t.Errorf("%d edges are drawn of %d", n, edges(s.graph))
	}
	// What flows follows from the counts: what comes to the exchange is what the window has said of it.
	flows := eval[map[string]int64](b, `Promise.all([import("/ui/flow.js"), fetch("/ui/graph.json").then((r) => r.json()), fetch("/ui/status.json").then((r) => r.json())])
		.then(([flow, plan, status]) => Object.fromEntries(flow.flows(new flow.Graph(plan.nodes), (id, name) => status.totals.find((t) => t.operator === id && t.name === name)?.n || 0)))`)
	want := s.expected()
	window := want["user_totals/window"]
	if flows["orders"] != want["orders"]["read"] || flows["user_totals/exchange"] != window["aggregated"]+window["late"] || flows["totals"] != want["totals"]["out"] {
		t.Errorf("flows are %v, counts %v", flows, want)
	}
	s.wantRefusal(b)
	b.picture("running", 1280)
	b.picture("phone", 390)
	b.do(chromedp.EmulateViewport(1280, 900))
	b.quiet(false)

	s.kill()
	b.until(`!document.querySelector("#gone").hidden && document.querySelector("#phase").textContent === "gone"`)
	b.picture("gone", 1280)
	s.feed(300)
	s.start()
	b.until(`document.querySelector("#gone").hidden && document.querySelector("#phase").textContent === "running"`)
	s.wantCounts(b)
	s.wantRefusal(b)
	b.quiet(true)

	s.feed(20)
	s.wantCounts(b)
	b.quiet(false)
}

func edges(g *planner.Graph) (n int) {
	for _, node := range g.Nodes {
		n += len(node.Out)
	}
	return n
}
