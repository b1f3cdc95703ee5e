package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/golden/packages/clicks"
	"github.com/eoc-lang/eoc/golden/packages/orders"
	"github.com/eoc-lang/eoc/golden/packages/payments"
	"github.com/eoc-lang/eoc/internal/skip"
	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// examples are the programs that eoc makes of its examples, with records for each of their topics: some are bad, late or filtered.
var examples = sync.OnceValue(func() map[string]example {
	return map[string]example{
		"orders":   {orders.Pipeline(), [][]record.Record{withBad(wideOrders(150_000, 1000, 5*time.Millisecond))}},
		"clicks":   {clicks.Pipeline(), [][]record.Record{withBad(someClicks(60_000))}},
		"payments": {payments.Pipeline(), [][]record.Record{withBad(somePayments(30_000, 1)), withBad(somePayments(30_000, 2))}},
	}
})

type example struct {
	pipeline rt.Pipeline
	records  [][]record.Record // of each source
}

func withBad(records []record.Record) []record.Record {
	for i := range records {
		if i%100 == 0 {
			records[i].Value = []byte(`{"user_id":`)
			records[i].Key = []byte("key")
		}
	}
	return records
}

func someClicks(n int) []record.Record {
	r := rand.New(rand.NewPCG(3, 4))
	user := []string{``, `"user_id":null,`, `"user_id":"user-17",`}
	page := []string{"/", "/health", "/metrics", "/shop/caf\u00e9"}
	more := []string{``, `,"referrer":"search"`, `,"referrer":null,"agent":{"os":["a","b"]}`}
	latency := []string{``, `,"latency_ms":null`, `,"latency_ms":12.25`, `,"latency_ms":2500.5`}
	return makeOrders(n, func(b []byte, i int) []byte {
		return fmt.Appendf(b, `{"id":"c%d",%s"page":"%s","status":%d%s%s,"at":%d}`,
			i, user[r.IntN(3)], page[r.IntN(4)], 200+100*r.IntN(4), more[r.IntN(3)], latency[r.IntN(4)], start.UnixMilli()+int64(i))
	})
}

// somePayments are so far apart that windows close all the time, and so much out of order that a few are late.
func somePayments(n int, seed uint64) []record.Record {
	r := rand.New(rand.NewPCG(seed, 5))
	currency := []string{``, `"currency":"EUR",`, `"currency":"USD",`}
	return makeOrders(n, func(b []byte, i int) []byte {
		at := start.Add(time.Duration(i)*50*time.Millisecond - time.Duration(r.ExpFloat64()*float64(10*time.Second)))
		return fmt.Appendf(b, `{"id":"p%d","merchant":"merchant-%03d",%s"amount":%d.%02d,"at":"%s"}`,
			i, r.IntN(300), currency[r.IntN(3)], r.IntN(2000)-200, r.IntN(100), at.Format("2006-01-02T15:04:05.000Z07:00"))
	})
}

// TestAllocs shows that a batch allocates nothing once tables and slabs have grown, whatever the example: neither decoding, windows,
// output and dead letters, nor a checkpoint's work on rows.
func TestAllocs(t *testing.T) {
	for name, e := range examples() {
		t.Run(name, func(t *testing.T) {
			worker := e.spec(t).New(nowhere{}, 0)
			e.checkAllocs(t, worker, []engine.Worker{worker})
		})
	}
}

// TestAllocsExchange is the same for rows that go through an exchange.
func TestAllocsExchange(t *testing.T) {
	for name, e := range examples() {
		spec, out := e.spec(t), new(loop)
		if len(spec.Operators) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			reader := spec.New(out, 2)
			out.keepers = [2]engine.Worker{spec.New(nowhere{}, 2), spec.New(nowhere{}, 2)}
			e.checkAllocs(t, reader, out.keepers[:])
			for i, k := range out.keepers {
				if len(k.Snapshot()) == 0 {
					t.Errorf("no row came to worker %d", i)
				}
			}
		})
	}
}

func (e example) spec(t *testing.T) engine.Spec {
	t.Helper()
	spec, err := e.pipeline.Spec(environment())
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// loop hands rows to their target at once.
type loop struct {
	nowhere
	keepers [2]engine.Worker
}

func (l *loop) Rows(op, target int, rows engine.Rows) {
	if err := l.keepers[target].Accept(op, rows); err != nil {
		panic(err)
	}
}

// checkAllocs lets reader take the records in batches, from the sources in turn, and counts allocations in the last third. The keepers have the
// windows, if there are any.
func (e example) checkAllocs(t *testing.T, reader engine.Worker, keepers []engine.Worker) {
	t.Helper()
	const batch = 256
	spec := e.spec(t)
	var parts []engine.Partition
	for i, s := range spec.Sources {
		parts = append(parts, engine.Partition{Source: i, Topic: s.Topic, Slot: i, Watermark: math.MinInt64, Floor: []int64{math.MinInt64}})
	}
	at, closed := 0, 0
	next := func() {
		w := int64(math.MaxInt64)
		for i, records := range e.records {
			if err := reader.Process(&parts[i], records[at:at+batch]); err != nil {
				t.Fatal(err)
			}
			w = min(w, parts[i].Watermark)
		}
		at += batch
		for op := range spec.Operators {
			for _, k := range keepers {
				n, err := k.Advance(op, w)
				if err != nil {
					t.Fatal(err)
				}
				closed += n
			}
		}
	}
	all := len(e.records[0])
	for at < all*2/3 {
		next()
	}
	closed = 0
	if n := testing.AllocsPerRun((all-at)/batch-1, next); n > 0.5 { // a new window may allocate
		t.Errorf("%v allocations for each batch of %d records", n, batch)
	}
	if closed == 0 && len(spec.Operators) > 0 {
		t.Error("no window was closed meanwhile")
	}
}

// TestInlined shows that the compiler makes plain loops of the iterators in generated code, and no calls of what is
// called for each row. The example's golden code is what it looks at.
func TestInlined(t *testing.T) {
	if testing.Short() {
		skip.Loudly(t, "it calls the compiler, which -short leaves out")
	}
	cmd := exec.Command("go", "build", "-gcflags=-m", "-o", t.TempDir(), "../golden/orders")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as programs are compiled
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, call := range []string{
		").Pending\n", ").Pending.func1\n", ".foldUserTotals-range1\n", ".(*Int128).Add\n",
		").All\n", ").All.func1\n", ".closeUserTotals-range1\n",
		".(*Batch).Observe\n", ".(*JSON).Begin\n", ".(*JSON).Field\n", ".(*Sink).Begin\n", ".(*Clause).Filter\n",
	} {
		found := false
		for line := range strings.Lines(string(out)) {
			found = found || strings.Contains(line, "inlining call to ") && strings.HasSuffix(line, call)
		}
		if !found {
			t.Errorf("%s is not inlined", strings.TrimSpace(call))
		}
	}
}

// TestDeltaAllocs shows that a checkpoint allocates what it hands over and little else, however much has changed.
func TestDeltaAllocs(t *testing.T) {
	j := newJob(t)
	records := make([]record.Record, 10_000)
	for k := range records {
		records[k] = orderOf(k)
	}
	snapshot := func() {
		j.process(t, records)
		j.Snapshot()
	}
	snapshot()
	if n := testing.AllocsPerRun(10, snapshot); n > 20 {
		t.Errorf("%v allocations for %d changed keys", n, len(records))
	}
}
