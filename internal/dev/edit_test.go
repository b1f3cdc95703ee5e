package dev

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/reference"
)

const shop = `
type Order { user: string  cents: int  at: timestamp(ms) }

source orders: Order from kafka("orders") {
  time      at
  watermark 1s
  idle      never // a compiler may take longer than a partition's patience
  on_error  dlq("orders.dlq")
}

stream totals {
  from      orders
  window    tumbling 1s by user late to orders_late
  aggregate total = sum(cents), n = count()
  to        kafka("totals") { key user }
}

sink orders_late to kafka("orders-late")
`

// begun is the event time of the first order.
var begun = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// feeder feeds orders until it is told to stop: 100 ms of event time go by from one to the next.
type feeder struct {
	client *devkafka.Client
	random *rand.Rand
	at     time.Time
	asked  atomic.Bool
	done   chan error
}

// order is the next one: some are late, some no orders at all.
func (f *feeder) order() devkafka.Record {
	f.at = f.at.Add(100 * time.Millisecond)
	at := f.at.Add(-time.Duration(f.random.IntN(900)) * time.Millisecond)
	value := fmt.Sprintf(`{"user":"u%d","cents":%d,"at":%d}`, f.random.IntN(4), f.random.IntN(1000), at.UnixMilli())
	switch f.random.IntN(40) {
	case 0:
		value = strings.Replace(value, `"cents":`, `"cents":-x`, 1)
	case 1:
		at = at.Add(-5 * time.Second)
		value = fmt.Sprintf(`{"user":"u0","cents":1,"at":%d}`, at.UnixMilli())
	}
	return devkafka.Record{Value: []byte(value), Time: at}
}

func (f *feeder) feed(ctx context.Context) {
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for !f.asked.Load() && ctx.Err() == nil {
		batch := make([]devkafka.Record, 10)
		for i := range batch {
			batch[i] = f.order()
		}
		if err := f.client.Send(ctx, "orders", batch); err != nil {
			f.done <- err
			return
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
	f.done <- ctx.Err()
}

// While orders come in, the file is edited: one edit keeps the state, one has an error, one changes what the state means and is
// undone. What was shown in the end is what the reference makes of the topic: nothing is lost, nothing doubled.
func TestEdits(t *testing.T) {
	r := run(t, shop, nil)
	addr := r.err.wait(t, r, 1, `embedded broker at (\S+),`)[1]
	client, err := devkafka.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	f := &feeder{client: client, random: rand.New(rand.NewPCG(seed, 0)), at: begun, done: make(chan error, 1)}
	go f.feed(ctx)

	r.out.wait(t, r, 20, `^result\ttotals\tu\d\t.*"total":`)
	renamed := strings.Replace(shop, "total =", "amount =", 1)
	r.save(t, renamed)
	r.err.wait(t, r, 1, `^going on with the edited shop.eo, from the state that it had; the line r shows all data with it$`)
	r.out.wait(t, r, 20, `^result\ttotals\tu\d\t.*"amount":`)

	r.save(t, strings.Replace(renamed, "window ", "windw ", 1))
	r.err.wait(t, r, 1, `^shop.eo:13:3: error: .*windw`)
	r.err.wait(t, r, 1, `^shop.eo has errors: the program from before the edit runs on$`)
	r.out.wait(t, r, 20, `^result\ttotals\tu\d\t.*"amount":`)

	r.save(t, strings.Replace(renamed, "tumbling 1s", "tumbling 2s", 1))
	r.err.wait(t, r, 1, `^the program: .*tumbling 2s`)
	r.err.wait(t, r, 1, `^the program cannot keep its state with this edit, and does not run. Undo the edit`)
	if strings.Contains(r.err.String(), "--fresh") || strings.Count(r.err.String(), "going on with the edited") != 1 {
		t.Errorf("of an edit that is refused is said\n%s", r.err)
	}
	r.say(t, `orders {"user":"u0","cents":1,"at":0}`) // 1970: it changes no window that is open
	r.err.wait(t, r, 1, `^the record is in topic orders, and waits there: the program does not run$`)
	r.save(t, renamed)
	r.err.wait(t, r, 1, `^going on with the edited shop.eo`)
	r.out.wait(t, r, 20, `^result\ttotals\tu\d\t.*"amount":`)

	f.asked.Store(true)
	if err := <-f.done; err != nil {
		t.Fatal(err)
	}
	last := f.at.Add(time.Minute).UnixMilli()
	r.say(t, fmt.Sprintf(`orders {"user":"last","cents":1,"at":%d}`, last))
	want := expect(ctx, t, addr, renamed, last)
	r.out.wait(t, r, 1, fmt.Sprintf(`"user":"u\d","window_start":"[^"]*","window_end":"%s"`, lastEnd(want)))
	r.cancel() // as Ctrl-C
	if err := r.end(t); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for line := range strings.Lines(r.out.String()) {
		got[strings.Replace(strings.TrimSpace(line), `"total":`, `"amount":`, 1)]++
	}
	compare(t, got, want)
}

// expect is what is to be shown of what is in the topic, once the order of that time is.
func expect(ctx context.Context, t *testing.T, addr, text string, last int64) map[string]int {
	t.Helper()
	w, err := devkafka.Watch(addr, "orders")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var records []reference.Record
	for end := fmt.Sprintf(`"at":%d}`, last); len(records) == 0 || !strings.HasSuffix(string(records[len(records)-1].Value), end); {
		more, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range more {
			records = append(records, reference.Record{Value: m.Value, Offset: m.Offset, Time: m.Time.UnixMicro()})
		}
	}
	graph, diags := plan("shop.eo", []byte(text))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	result := reference.RunOn(graph, reference.Input{"orders": {records}})
	want := map[string]int{}
	for sink, kind := range map[string]string{"totals": "result\ttotals", "orders_late": "late\torders-late"} {
		for _, o := range result.Sinks[sink] {
			key := "-"
			if o.Key != nil {
				key = string(o.Key)
			}
			want[fmt.Sprintf("%s\t%s\t%s", kind, key, o.Value)]++
		}
	}
	for _, d := range result.DeadLetters {
		want[fmt.Sprintf("dead\torders.dlq\t-\t%s", d.Value)]++
	}
	t.Logf("%d orders", len(records))
	return want
}

// lastEnd is the end of the last window with a result.
func lastEnd(want map[string]int) string {
	end := ""
	for line := range want {
		if _, rest, ok := strings.Cut(line, `"window_end":"`); ok {
			text, _, _ := strings.Cut(rest, `"`)
			end = max(end, text)
		}
	}
	return end
}

// compare compares lines. Of a dead letter got has the reason, too, in words that are not the reference's.
func compare(t *testing.T, got, want map[string]int) {
	t.Helper()
	lines := map[string]int{}
	for line, n := range got {
		if strings.HasPrefix(line, "dead") {
			fields := strings.Split(line, "\t")
			if len(fields) != 5 || !strings.Contains(fields[4], "; in orders (shop.eo:4), orders/0 offset ") {
				t.Errorf("a dead letter without reason: %q", line)
			}
			line = strings.Join(fields[:4], "\t")
		}
		lines[line] += n
	}
	kinds := map[string]int{}
	for line, n := range want {
		kinds[line[:strings.Index(line, "\t")]] += n
		if lines[line] != n {
			t.Errorf("%d times instead of %d: %s", lines[line], n, line)
		}
	}
	for line, n := range lines {
		if want[line] == 0 {
			t.Errorf("%d times, but not expected: %s", n, line)
		}
	}
	for _, kind := range []string{"result", "late", "dead"} {
		if kinds[kind] == 0 {
			t.Errorf("nothing of kind %s is compared: %v", kind, kinds)
		}
	}
}

// With r everything begins anew, with --fresh after each edit; the data is fed again, and lines of standard input are not.
func TestStartOver(t *testing.T) {
	dir := t.TempDir()
	long := `{"user":"` + strings.Repeat("x", devkafka.MostBytes) + `"}`
	data := `{"user":"ada","cents":5,"at":1769860800000}` + "\n" + long + "\n" + `{"user":"ken","cents":1,"at":1769860803000}` + "\n"
	if err := os.WriteFile(dir+"/orders.jsonl", []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	r := run(t, shop, func(o *Options) {
		compile := o.Compile
		o.Compile = func(ctx context.Context) (Program, error) {
			if text, err := os.ReadFile(o.File); err != nil || strings.HasPrefix(string(text), "// bug") {
				return Program{}, errors.Join(err, errors.New("the generated Go does not compile"))
			}
			return compile(ctx)
		}
		o.Fresh, o.Page, o.Data, o.Rate, o.Arguments = true, true, dir, 500, []string{"--http", "0", "--name", "another"}
	})
	const ada = `^result\ttotals\tada\t\{"user":"ada",.*"total":5,"n":1\}$`
	r.out.wait(t, r, 1, ada)
	page := r.err.wait(t, r, 1, `^the program shows itself at (http://127.0.0.1:\d+/ui/)$`)[1]
	if answer, err := http.Get(page); err != nil || answer.StatusCode != http.StatusOK || answer.Body.Close() != nil {
		t.Errorf("%s: %v (%v)", page, answer, err)
	}
	r.err.wait(t, r, 1, `^all data is read; .*: totals closes a window of 1s when event time is 1s past its end`)
	tooLong := fmt.Sprintf("a record of %d bytes is not fed: ", len(long))
	if said := filepath.Join(dir, "orders.jsonl") + ":2: " + tooLong; !strings.Contains(r.err.String(), said) {
		t.Errorf("%q is not said:\n%s", said, r.err)
	}
	r.say(t, strings.Repeat("y", 2*len(long)))
	r.err.wait(t, r, 1, `^standard input, line 1: a record of \d+ bytes is not fed: `)
	r.say(t, "orders "+long)
	r.err.wait(t, r, 1, `^standard input: `+tooLong)
	r.save(t, "// bug"+shop)
	r.err.wait(t, r, 1, `^explained: the generated Go does not compile$`) // and the program runs on
	r.say(t, `orders {"user":"zoe","cents":1,"at":1769860809000}`)
	r.out.wait(t, r, 1, `^result\ttotals\tken\t`)
	r.say(t, "r")
	r.err.wait(t, r, 1, `^starting over`)
	r.out.wait(t, r, 1, ada)
	r.save(t, strings.Replace(shop, "total =", "amount =", 1))
	r.err.wait(t, r, 1, `^starting over`)
	r.out.wait(t, r, 1, strings.Replace(ada, "total\"", "amount\"", 1))
	r.say(t, "q")
	if err := r.end(t); err != nil {
		t.Fatal(err)
	}
	if all := r.out.String(); strings.Count(all, `"ken"`) != 1 || strings.Contains(all, "zoe") {
		t.Errorf("shown is\n%s", all)
	}
	if !slices.Contains(strings.Split(r.err.String(), "\n"), "1 result in totals") {
		t.Errorf("said is\n%s", r.err)
	}
}

// A store that forgets goes on from nothing: an edit starts over, and does not feed what was fed twice into one life.
func TestEditWithMemory(t *testing.T) {
	dir := t.TempDir()
	for topic, line := range map[string]string{"a": `{"x":1}`, "b": `{"x":2}`} {
		if err := os.WriteFile(filepath.Join(dir, topic+".jsonl"), []byte(line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const text = `job forget { store memory }
type A { x: int }
source a: A from kafka("a")
stream s { from a  to kafka("out") { deliver at_least_once } }
`
	r := run(t, text, func(o *Options) { o.Data = dir })
	r.out.wait(t, r, 1, `^result\tout\t-\t\{"x":1\}$`)
	r.save(t, strings.Replace(text, `"a"`, `"b"`, 1))
	r.err.wait(t, r, 1, "^with `store memory` nothing is kept over an edit$")
	r.out.wait(t, r, 1, `^result\tout\t-\t\{"x":2\}$`)
	r.say(t, "q")
	if err := r.end(t); err != nil {
		t.Fatal(err)
	}
	if all := r.out.String(); strings.Count(all, "\n") != 2 {
		t.Errorf("shown is\n%s", all)
	}
}

// With --until-end, a record that is too long is an error with its place, since nobody may be reading along.
func TestLongRecordUntilEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "orders.jsonl")
	if err := os.WriteFile(path, []byte("\n"+strings.Repeat("x", devkafka.MostBytes+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	r := run(t, shop, func(o *Options) { o.Data, o.UntilEnd = dir, true })
	if err := r.end(t); err == nil || !strings.HasPrefix(err.Error(), path+":2: a record of ") {
		t.Errorf("got %v", err)
	}
}

// stopper is where is written what is said; a text in it stops the run.
type stopper struct {
	*transcript
	at    string
	ready chan struct{} // closed when stop is there
	stop  func()
}

func (s *stopper) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.at) {
		<-s.ready
		s.stop()
	}
	return s.transcript.Write(p)
}

// A run that is to read all, and is interrupted before, shows no results that could be taken for all, and does not end well.
func TestInterruptedUntilEnd(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "orders.jsonl"), []byte(`{"user":"ken","cents":7,"at":1700000000000}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := &stopper{at: "runs with an embedded broker", ready: make(chan struct{})}
	r := run(t, shop, func(o *Options) {
		said.transcript = o.Err.(*transcript)
		o.Data, o.UntilEnd, o.Err = dir, true, said
	})
	said.stop = r.cancel
	close(said.ready)
	if err := r.end(t); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if r.out.String() != "" || !strings.HasSuffix(r.err.String(), "interrupted before all was read: there are no results\n") {
		t.Errorf("shown are %q, said is\n%s", r.out, r.err)
	}
}

// Who has ended the input of a terminal, and goes on typing, is told why nothing happens.
func TestEndOfTerminal(t *testing.T) {
	r := run(t, shop, func(o *Options) { o.Terminal = true })
	r.input.Close()
	r.err.wait(t, r, 1, `^standard input has ended: lines are no longer read, the pipeline runs on, and Ctrl-C ends it$`)
	r.cancel()
	if err := r.end(t); err != nil {
		t.Error(err)
	}
}
