package runtime_test

import (
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// TestAllocs shows that a batch allocates nothing once tables and slabs have grown: neither decoding, windows,
// output and dead letters, nor a checkpoint's work on rows.
func TestAllocs(t *testing.T) {
	j := newJob(t)
	records := wideOrders(150_000, 1000, 5*time.Millisecond)
	for i := range records {
		if i%100 == 0 {
			records[i].Value = []byte(`{"user_id":`)
			records[i].Key = []byte("key")
		}
	}
	checkAllocs(t, records, func(batch []record.Record) { j.process(t, batch) })
}

// TestAllocsExchange is the same for rows that go through an exchange.
func TestAllocsExchange(t *testing.T) {
	spec, err := ordersPipeline().Spec(environment())
	if err != nil {
		t.Fatal(err)
	}
	out := new(loop)
	reader := spec.New(out, 2)
	out.keepers = [2]engine.Worker{spec.New(nowhere{}, 2), spec.New(nowhere{}, 2)}
	p := engine.Partition{Topic: "orders", Watermark: math.MinInt64, Floor: []int64{math.MinInt64}}
	checkAllocs(t, wideOrders(150_000, 1000, 5*time.Millisecond), func(batch []record.Record) {
		if err := reader.Process(&p, batch); err != nil {
			t.Fatal(err)
		}
		for _, k := range out.keepers {
			if _, err := k.Advance(0, p.Watermark); err != nil {
				t.Fatal(err)
			}
		}
	})
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

// checkAllocs lets process take the records in batches and counts allocations in the last third.
func checkAllocs(t *testing.T, records []rttest.Record, process func([]record.Record)) {
	t.Helper()
	const batch = 256
	i := 0
	next := func() {
		process(records[i : i+batch])
		i += batch
	}
	for i < len(records)*2/3 {
		next()
	}
	const runs = 150
	if n := testing.AllocsPerRun(runs, next); n > 0.5 { // a new window may allocate
		t.Errorf("%v allocations for each batch of %d records", n, batch)
	}
}

// TestInlined shows that the compiler makes plain loops of the iterators in generated code, and no calls of what is
// called for each row. The example's golden code is what it looks at.
func TestInlined(t *testing.T) {
	if testing.Short() {
		t.Skip("calls the compiler")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", "-o", t.TempDir(), "../golden/orders").CombinedOutput()
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
