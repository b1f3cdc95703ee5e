package runtime_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// job is a worker that is alone, with what it writes thrown away.
type job struct {
	*pipeline
	engine.Worker
	part engine.Partition
}

// nowhere is where its slabs go.
type nowhere struct{}

func (nowhere) Slab(s *record.Slab) *record.Slab    { s.Reset(); return s }
func (nowhere) Rows(int, int, engine.Rows)          { panic("rows of a worker that is alone") }
func (nowhere) Allocate(_ int64, take func()) error { take(); return nil }

func newJob(tb testing.TB) *job {
	j := new(job)
	p := ordersPipeline()
	p.Build = func(t *rt.Task) { j.pipeline = build(t, func(*rt.SourceSpec) {}) }
	spec, err := p.Spec(os.LookupEnv)
	if err != nil {
		tb.Fatal(err)
	}
	j.Worker = spec.New(nowhere{}, 0)
	j.part = engine.Partition{Topic: "orders", Watermark: math.MinInt64, Floor: []int64{math.MinInt64}}
	return j
}

// process takes records through the pipeline and lets W follow.
func (j *job) process(tb testing.TB, records []record.Record) {
	if err := j.Process(&j.part, records); err != nil {
		tb.Fatal(err)
	}
	j.advance(tb, j.part.Watermark)
}

func (j *job) advance(tb testing.TB, w int64) {
	if _, err := j.Advance(0, w); err != nil {
		tb.Fatal(err)
	}
}

// wideOrders are records of 10 fields and about 190 bytes, of which the pipeline
// uses three; narrowOrders have these three only.
func wideOrders(n, keys int, per time.Duration) []rttest.Record {
	r := rand.New(rand.NewPCG(1, 2))
	currency := []string{"EUR", "USD", "GBP", "JPY"}
	status := []string{"PAID", "NEW", "CANCELLED", "SHIPPED", "REFUNDED"}
	country := []string{"DE", "US", "FR", "GB", "JP", "NL"}
	channel := []string{"web", "app", "store", "partner"}
	return makeOrders(n, func(b []byte, i int) []byte {
		at := start.Add(time.Duration(i)*per - time.Duration(r.IntN(3000))*time.Millisecond)
		return fmt.Appendf(b, `{"order_id":"ord-%011d","user_id":"user-%07d","amount":%d.%02d,"currency":"%s","status":"%s","items":%d,"country":"%s","channel":"%s","note":"ref %d","at":"%s"}`,
			r.IntN(1e9), r.IntN(keys), r.IntN(2000), 1+r.IntN(99), currency[r.IntN(4)], status[r.IntN(5)],
			1+r.IntN(20), country[r.IntN(6)], channel[r.IntN(4)], r.IntN(100000), at.Format("2006-01-02T15:04:05.000Z07:00"))
	})
}

func narrowOrders(n, keys int) []rttest.Record {
	r := rand.New(rand.NewPCG(1, 2))
	return makeOrders(n, func(b []byte, i int) []byte {
		at := start.Add(time.Duration(i) * time.Millisecond)
		return fmt.Appendf(b, `{"user_id":"user-%07d","amount":%d.%02d,"at":"%s"}`,
			r.IntN(keys), r.IntN(2000), 1+r.IntN(99), at.Format("2006-01-02T15:04:05.000Z07:00"))
	})
}

// makeOrders puts all values into one buffer, as a fetch would.
func makeOrders(n int, appendValue func([]byte, int) []byte) []rttest.Record {
	var buf []byte
	ends := make([]int, n+1)
	for i := range n {
		buf = appendValue(buf, i)
		ends[i+1] = len(buf)
	}
	records := make([]rttest.Record, n)
	for i := range records {
		records[i] = rttest.Record{Value: buf[ends[i]:ends[i+1]], Offset: int64(i), Time: rttest.NoTime}
	}
	return records
}

func BenchmarkDecode(b *testing.B) {
	shuffled := wideOrders(20_000, 100_000, time.Millisecond)
	for i := range shuffled {
		shuffled[i].Value = shuffle(shuffled[i].Value, uint64(i))
	}
	spaced := wideOrders(20_000, 100_000, time.Millisecond)
	for i := range spaced {
		spaced[i].Value = space(spaced[i].Value)
	}
	wide := wideOrders(20_000, 100_000, time.Millisecond)
	for _, shape := range []struct {
		name    string
		records []rttest.Record
	}{
		{"wide", wide},
		{"narrow", narrowOrders(20_000, 100_000)},
		{"spaced", spaced},
		{"shuffled", shuffled},
	} {
		b.Run(shape.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(shape.records[0].Value)))
			c := newOrderJSON()
			var o Order
			i := 0
			for b.Loop() {
				if !o.readJSON(c, shape.records[i].Value) {
					b.Fatal(string(c.Fault().AppendText(nil)))
				}
				if i++; i == len(shape.records) {
					i = 0
				}
			}
		})
	}
	b.Run("encoding-json", func(b *testing.B) {
		var o struct {
			UserID string    `json:"user_id"`
			Amount float64   `json:"amount"`
			At     time.Time `json:"at"`
		}
		i := 0
		for b.Loop() {
			if err := json.Unmarshal(wide[i].Value, &o); err != nil {
				b.Fatal(err)
			}
			if i++; i == len(wide) {
				i = 0
			}
		}
	})
}

// shuffle changes the order of the fields of a flat object.
func shuffle(value []byte, seed uint64) []byte {
	var parts []string
	text, from := false, 1
	for i := 1; i < len(value); i++ {
		switch {
		case value[i] == '"':
			text = !text
		case !text && (value[i] == ',' || value[i] == '}'):
			parts = append(parts, string(value[from:i]))
			from = i + 1
		}
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	out := []byte{'{'}
	for i, p := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, p...)
	}
	return append(out, '}')
}

// space adds a blank after each comma and colon, as Python's json.dumps does.
func space(value []byte) []byte {
	var out []byte
	text := false
	for _, c := range value {
		out = append(out, c)
		if c == '"' {
			text = !text
		}
		if !text && (c == ',' || c == ':') {
			out = append(out, ' ')
		}
	}
	return out
}

// BenchmarkUpdate is a row from a decoded order to its changed state.
func BenchmarkUpdate(b *testing.B) {
	for _, keys := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("%dk-keys", keys/1000), func(b *testing.B) {
			r := rand.New(rand.NewPCG(3, 4))
			orders := make([]Order, 1<<20)
			for i := range orders {
				orders[i] = Order{UserID: fmt.Appendf(nil, "user-%07d", r.IntN(keys)), Amount: 1 + r.Int64N(1e6), At: rt.Time(start.UnixMicro())}
			}
			j := newJob(b)
			n := 0
			add := func() {
				rt.FoldBatch(j.Worker, &j.part, func(in *rt.Batch) {
					for i := range rt.BatchSize {
						j.addUserTotals(in, &orders[(n+i)%len(orders)])
					}
				})
				n += rt.BatchSize
			}
			for n < 4*keys+len(orders) {
				add()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n = 0; n < b.N; {
				add()
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	j := newJob(b)
	row := UserTotals{UserID: []byte("user-0012345"), WindowStart: rt.Time(start.UnixMicro()), WindowEnd: rt.Time(start.UnixMicro()) + rt.Minute, Total: rt.Int128{Lo: 1234567}, Orders: 42}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		row.Orders = int64(n & 63)
		j.writeTotals(&row, row.WindowEnd-rt.Millisecond)
		n++
	}
}

// BenchmarkPipeline is everything between the fetch buffer and the produce buffer:
// decode, window, close and encode, with a checkpoint each million records. A
// window holds about keys users, each with ten orders.
func BenchmarkPipeline(b *testing.B) {
	for _, keys := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("%dk-keys", keys/1000), func(b *testing.B) {
			perWindow := 10 * keys
			n := max(2_000_000, 3*perWindow)
			records := wideOrders(n, keys, time.Minute/time.Duration(perWindow))
			var cpu time.Duration
			for b.Loop() {
				j := newJob(b)
				cpu -= cpuTime()
				for i := 0; i < n; i += rt.BatchSize {
					j.process(b, records[i:min(i+rt.BatchSize, n)])
					if i%1_000_000 < rt.BatchSize {
						j.Snapshot()
					}
				}
				j.advance(b, math.MaxInt64)
				cpu += cpuTime()
			}
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N*n), "cpu-ns/record")
		})
	}
}

// orderOf is an order of user k at the start.
func orderOf(k int) record.Record {
	return record.Record{Value: fmt.Appendf(nil, `{"user_id":"user-%07d","amount":1,"at":"2026-01-01T00:00:00Z"}`, k), Time: record.NoTime}
}

// BenchmarkCheckpoint is what a barrier stops a task for: 10,000 keys have changed.
func BenchmarkCheckpoint(b *testing.B) {
	const dirty = 10_000
	for _, keys := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d-of-%dk", dirty, keys/1000), func(b *testing.B) {
			j := newJob(b)
			records := make([]record.Record, keys)
			for k := range records {
				records[k] = orderOf(k)
			}
			j.process(b, records)
			j.Snapshot()
			size := 0
			var cpu time.Duration
			for b.Loop() {
				j.process(b, records[:dirty])
				cpu -= cpuTime()
				size = sizeOf(j.Snapshot())
				cpu += cpuTime()
			}
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N*dirty), "cpu-ns/dirty")
			b.ReportMetric(float64(size)/dirty, "B/dirty")
		})
	}
}

// BenchmarkRestore brings a million keys back, as a base and as a base with a newer delta of a tenth of it.
func BenchmarkRestore(b *testing.B) {
	const keys = 1_000_000
	j := newJob(b)
	records := make([]record.Record, keys)
	for k := range records {
		records[k] = orderOf(k)
	}
	j.process(b, records)
	base := kept(j.Snapshot())
	j.process(b, records[:keys/10])
	all := append(append([]checkpoint.Delta{}, base...), kept(j.Snapshot())...)
	for _, c := range []struct {
		name   string
		deltas []checkpoint.Delta
	}{{"base", base}, {"base-and-delta", all}} {
		b.Run(c.name, func(b *testing.B) {
			cpu := -cpuTime()
			for b.Loop() {
				j := newJob(b)
				for _, d := range c.deltas {
					if err := j.Restore(d); err != nil {
						b.Fatal(err)
					}
				}
			}
			cpu += cpuTime()
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N*keys), "cpu-ns/key")
		})
	}
}

// kept is deltas that stay valid.
func kept(deltas []checkpoint.Delta) []checkpoint.Delta {
	deltas = slices.Clone(deltas)
	for i := range deltas {
		deltas[i].Data = slices.Clone(deltas[i].Data)
	}
	return deltas
}

func sizeOf(deltas []checkpoint.Delta) (n int) {
	for _, d := range deltas {
		n += len(d.Data)
	}
	return n
}

// BenchmarkCalc is arithmetic on decimals of more than 18 digits.
func BenchmarkCalc(b *testing.B) {
	var c rt.Calc
	x, y := rt.Int128{Hi: 1 << 40, Lo: 12345}, rt.Int128{Lo: 1 << 50}
	var sink rt.Int128
	for _, op := range []struct {
		name string
		f    func()
	}{
		{"add", func() { sink = c.AddDecimal(x, 2, y, 2) }},
		{"add-scales", func() { sink = c.AddDecimal(x, 2, y, 4) }},
		{"mul", func() { sink = c.MulDecimal(y, y) }},
		{"div", func() { sink = c.DivDecimal(x, 2, y, 2, 6) }},
		{"avg", func() { sink = c.AvgDecimal(x, 1000, 2, 6) }},
		{"rescale", func() { sink = c.Rescale(x, 4, 38, 2) }},
		{"from-string", func() { sink = c.DecimalOfString([]byte("12345678901234567890.125"), 38, 2) }},
	} {
		b.Run(op.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				op.f()
			}
			if c.Failed() {
				b.Fatal(c.Fault())
			}
		})
	}
	_ = sink
}
