package runtime_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/runtime/rttest"
)

// outcome is all that becomes of records.
type outcome struct {
	totals, late, rejected []string // rejected are positions
	counts
}

type counts struct{ read, nulls, rejected, ahead, filtered, late, aggregated int64 }

func (o outcome) mustBe(t *testing.T, want outcome) {
	t.Helper()
	same(t, "totals", o.totals, want.totals)
	same(t, "late", o.late, want.late)
	same(t, "rejected", o.rejected, want.rejected)
	if o.counts != want.counts {
		t.Errorf("got %+v, want %+v", o.counts, want.counts)
	}
}

// outcomeOf is what a run has made of the records.
func outcomeOf(t *testing.T, r *rttest.Run) outcome {
	t.Helper()
	o := outcome{totals: linesOf(t, r.Output("user-totals")), late: linesOf(t, r.Output("orders-late"))}
	for _, rec := range r.Output("orders.dlq") {
		o.rejected = append(o.rejected, fmt.Sprintf("%s/%s/%s", header(rec, "eo.topic"), header(rec, "eo.partition"), header(rec, "eo.offset")))
	}
	type id struct {
		topic     string
		partition int32
	}
	in, out := map[id]int64{}, map[id]int64{}
	for _, c := range r.Counts() {
		p := id{c.Topic, c.Partition}
		switch c.Operator + " " + c.Name {
		case "orders read":
			o.read += c.N
			in[p] += c.N
			continue
		case "orders null":
			o.nulls += c.N
		case "orders rejected":
			o.counts.rejected += c.N
		case "user_totals/where filtered":
			o.filtered += c.N
		case "user_totals/window late":
			o.counts.late += c.N
		case "user_totals/window aggregated":
			o.aggregated += c.N
		case "orders ahead":
			o.ahead += c.N
			continue
		case "totals out":
			checkOut(t, c, int64(len(o.totals)))
			continue
		case "orders_late out", "orders.dlq out":
			continue
		default:
			t.Errorf("unexpected count %+v", c)
		}
		out[p] += c.N
	}
	// Conservation: of each partition, every record is aggregated, late, rejected, filtered or null.
	for p, n := range in {
		if out[p] != n {
			t.Errorf("partition %v: %d records read, %d accounted for", p, n, out[p])
		}
	}
	// Every record that was aggregated is in a result, and every late one in the side output.
	var results int64
	for _, line := range o.totals {
		n, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		results += n
	}
	if results != o.aggregated || int64(len(o.late)) != o.counts.late || int64(len(o.rejected)) != o.counts.rejected {
		t.Errorf("%d records in results, %d late, %d dead letters; counts %+v", results, len(o.late), len(o.rejected), o.counts)
	}
	return o
}

func checkOut(t *testing.T, c rttest.Count, want int64) {
	t.Helper()
	if c.N != want || c.Partition != -1 || c.Topic != "" {
		t.Errorf("%+v, want %d without partition", c, want)
	}
}

func header(r rttest.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// way is how records are taken through the pipeline.
type way struct {
	burst    int  // up to so many records of a partition at a time
	crashes  bool // about 20 checkpoints and 20 crashes
	parallel int  // up to so many tasks
}

// runOrders takes the records of all partitions through the pipeline, those of a random one at a time. What
// was done since the last checkpoint is lost in a crash, and done again in another order, perhaps by
// another number of tasks.
func runOrders(t *testing.T, r *rand.Rand, parts [][]rttest.Record, w way) outcome {
	t.Helper()
	tasks := func() int { return 1 + r.IntN(max(w.parallel, 1)) }
	run := newRun(t, ordersPipeline(), rttest.Config{
		Parallelism: tasks(), Partitions: map[string]int{"orders": len(parts)}, Rand: r,
	})
	total := 0
	for p, records := range parts {
		run.Append("orders", p, records...)
		total += len(records)
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	unread := func() (n int) {
		for p := range parts {
			n += run.Unread("orders", p)
		}
		return n
	}
	for unread() > 0 {
		n := 1 + r.IntN(w.burst)
		check(run.Read("orders", r.IntN(len(parts)), n))
		if w.crashes && r.IntN(total) < 20*n {
			check(run.Checkpoint())
		}
		if w.crashes && r.IntN(total) < 20*n {
			check(run.Crash(tasks()))
		}
	}
	check(run.End())
	return outcomeOf(t, run)
}

// runNaive takes the same records through the naive pipeline, one partition after the other.
func runNaive(parts [][]rttest.Record) outcome {
	n := newNaive(len(parts))
	for p, records := range parts {
		for _, r := range records {
			n.process(p, r)
		}
	}
	n.end()
	return n.outcome
}

// TestAgainstNaive compares with the naive pipeline on random records: out of order,
// late, malformed, without a value, with fields missing, null, twice or in any
// order. The result must not depend on how they are read.
func TestAgainstNaive(t *testing.T) {
	for _, c := range []struct {
		name       string
		n          int
		start      time.Time
		partitions int
		way        way
	}{
		{"full batches", 30_000, start, 1, way{burst: 10_000}},
		{"batches of 1", 8_000, start, 1, way{burst: 1}},
		{"small batches", 15_000, start, 1, way{burst: 13}},
		{"three partitions", 15_000, start, 3, way{burst: 200}},
		{"about 1970", 15_000, time.Date(1969, 12, 31, 23, 57, 0, 0, time.UTC), 1, way{burst: 256}},
		{"crashes", 15_000, start, 2, way{burst: 200, crashes: true}},
		{"three tasks", 15_000, start, 4, way{burst: 500, parallel: 3}},
		{"three tasks and crashes", 15_000, start, 4, way{burst: 500, parallel: 3, crashes: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRand(t)
			parts := randomPartitions(r, c.n, c.partitions, c.start)
			got := runOrders(t, r, parts, c.way)
			got.mustBe(t, runNaive(parts))
			t.Logf("%d results; %+v", len(got.totals), got.counts)
		})
	}
}

// TestInterleavings shows that what becomes of the records depends on nothing but
// the contents of the partitions: not on how these interleave, how far one runs
// ahead of another, where batches end, how many tasks there are, or where a crash falls.
func TestInterleavings(t *testing.T) {
	r := newRand(t)
	parts := randomPartitions(r, 6_000, 3, start)
	want := runNaive(parts)
	for _, burst := range []int{1, 20, 256, 2_000, 30_000} {
		for _, parallel := range []int{1, 2, 5} {
			runOrders(t, r, parts, way{burst: burst, parallel: parallel, crashes: true}).mustBe(t, want)
		}
	}
	t.Logf("%d results; %+v", len(want.totals), want.counts)
}

func newRand(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// linesOf is what a sink got, in the form of the naive pipeline.
func linesOf(t *testing.T, records []rttest.Record) []string {
	t.Helper()
	var out []string
	for _, r := range records {
		var v struct {
			UserID        string `json:"user_id"`
			Amount, Total json.Number
			At            time.Time
			Orders        int64
			Start         time.Time `json:"window_start"`
			End           time.Time `json:"window_end"`
		}
		if err := json.Unmarshal(r.Value, &v); err != nil {
			t.Fatalf("%s: %v", r.Value, err)
		}
		if v.Amount != "" {
			if r.Key != nil || r.Time != v.At.UnixMicro() {
				t.Fatalf("key %q and time %d of %s", r.Key, r.Time, r.Value)
			}
			out = append(out, fmt.Sprintf("%q %s %s", v.UserID, hundredths(v.Amount), v.At.Format(time.RFC3339Nano)))
			continue
		}
		if string(r.Key) != v.UserID {
			t.Fatalf("key %q of %s", r.Key, r.Value)
		}
		if want := v.End.Add(-time.Millisecond).UnixMicro(); r.Time != want && v.End != lastTime {
			t.Fatalf("time %d of %s, want %d", r.Time, r.Value, want)
		}
		out = append(out, fmt.Sprintf("%q %s %s %s %d", v.UserID, v.Start.Format(time.RFC3339Nano), v.End.Format(time.RFC3339Nano), hundredths(v.Total), v.Orders))
	}
	return out
}

func hundredths(n json.Number) string {
	r, _ := new(big.Rat).SetString(string(n))
	return r.Mul(r, big.NewRat(100, 1)).RatString()
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: %d, want %d; first difference at %d:\n%q\n%q", what, len(got), len(want), i, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
		}
	}
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
