package runtime_test

import (
	"strings"
	"testing"

	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

const goodOrder = `{"user_id":"u1","amount":1,"at":"2026-01-01T00:00:00Z"}`

// TestReject shows what a reader of the dead-letter topic gets.
func TestReject(t *testing.T) {
	for _, c := range []struct{ value, reason string }{
		{`{"user_id":"u1","at":"2026-01-01T00:00:00Z"}`, "amount: missing (byte 44)"},
		{`{"user_id":"u1","amount":null,"at":"2026-01-01T00:00:00Z"}`, "amount: null, which only a field of a type with ? takes, or one with a default (byte 25)"},
		{`{"user_id":null,"amount":1,"at":"2026-01-01T00:00:00Z"}`, "user_id: null, which only a field of a type with ? takes, or one with a default (byte 11)"},
		{`{"user_id":"u1","amount":1,"at": null}`, "at: null, which only a field of a type with ? takes, or one with a default (byte 33)"},
		{`{"user_id":"u1","amount":nil,"at":"2026-01-01T00:00:00Z"}`, "amount: not a number (byte 25)"},
		{`{"user_id":"u1","amount":1.005,"at":"2026-01-01T00:00:00Z"}`, "amount: more than 2 digits behind the point (byte 25)"},
		{`{"user_id":"u1","amount":-12345678901.00,"at":"2026-01-01T00:00:00Z"}`, "amount: more than 10 digits before the point (byte 26)"},
		{`{"user_id":"u1","amount":1e10,"at":"2026-01-01T00:00:00Z"}`, "amount: more than 10 digits before the point (byte 25)"},
		{`{"user_id":"u1","amount":1,"amount":2,"at":"2026-01-01T00:00:00Z"}`, "amount: given twice (byte 36)"},
		{`{"user_id":"u1","amount":1,"at":"2026-02-29T00:00:00Z"}`, "at: not an RFC 3339 timestamp of the years 0001 to 9999 (byte 32)"},
		{`{"user_id":"u1","amount":1,"at":"2016-12-31T23:59:60Z"}`, "at: a leap second: seconds go from 00 to 59 (byte 32)"},
		{`{"user_id":"u1","amount":1,"at":"2026-02-28t00:00:00z"}`, "at: a timestamp with a small t or z, which have to be capitals (byte 32)"},
		{`{"user_id":"u1","amount":1,"at":1767225600000}`, "at: a number, not RFC 3339 text: a field of type timestamp(ms) reads milliseconds, timestamp(s) seconds (byte 32)"},
		{`{"user_id":"u1","amount":1,"at":"2026-02-28T00:00:00.5"}`, "at: no time zone behind the timestamp, such as Z or +02:00 (byte 32)"},
		{`{"user_id":"u1","amount":`, "amount: not JSON: the record ends too early (byte 25)"},
		{`{"user_id":"u1","amount":1,"at":"2026-02-`, "at: not JSON: the record ends too early (byte 32)"},
		{`{"user_id":"u1","amount":1.`, "amount: not JSON: the record ends too early (byte 25)"},
		{`{"user_id":"u1","amount":-`, "amount: not JSON: the record ends too early (byte 26)"},
		{`{"user_id":"u1`, "user_id: not JSON: the record ends too early (byte 14)"},
		{`{"user_id":"u1","amount"`, "not JSON: the record ends too early (byte 24)"},
		{`{"user_id":"u1","amou`, "not JSON: the record ends too early (byte 21)"},
		{`{"user_id":"u1","x":[1,{"y":2]],"amount":1`, "not JSON: a value is malformed (byte 29)"},
		{`{"user_id":"u1","amount":1`, "not JSON: the record ends too early (byte 26)"},
		{`[1]`, "not a JSON object (byte 0)"},
		{`null`, "not a JSON object (byte 0)"},
		{``, "not JSON: the record ends too early (byte 0)"},
		{`{} x`, "not JSON: something follows the object (byte 3)"},
	} {
		r := newRun(t, ordersPipeline(), rttest.Config{})
		if err := r.Feed("orders", 0, rttest.Record{Value: []byte(c.value), Key: []byte("k"), Offset: 7, Time: 1234}); err != nil {
			t.Fatal(err)
		}
		want := "k " + c.value + " 1234 eo.reason=" + c.reason + " eo.topic=orders eo.partition=0 eo.offset=7 eo.operator=orders (orders.eo:8)"
		if got := text(r.Output("orders.dlq")[0]); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// text is a record with its headers.
func text(r rttest.Record) string {
	key := string(r.Key)
	if r.Key == nil {
		key = "null"
	}
	s := key + " " + string(r.Value) + " " + string(rt.AppendInt(nil, r.Time))
	for _, h := range r.Headers {
		s += " " + h.Key + "=" + string(h.Value)
	}
	return s
}

// TestDeadLetterAgain is about a record that was a dead letter before: its headers stay, and ours are told apart.
func TestDeadLetterAgain(t *testing.T) {
	r := newRun(t, ordersPipeline(), rttest.Config{})
	rec := rttest.Record{Value: []byte("x"), Headers: []rttest.Header{
		{Key: "trace", Value: []byte("t")}, {Key: "trace", Value: nil}, {Key: "eo.reason", Value: []byte("old")}, {Key: "eo.previous.reason", Value: []byte("older")}, {Key: "eo.other", Value: []byte("o")},
	}}
	if err := r.Feed("orders", 0, rec); err != nil {
		t.Fatal(err)
	}
	want := "null x 0 trace=t trace= eo.previous.reason=old eo.previous.reason=older eo.other=o eo.reason=not a JSON object (byte 0)"
	if got := text(r.Output("orders.dlq")[0]); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s …", got, want)
	}
}

// TestOnErrorFail shows what is said when a pipeline stops at a bad record, and that it stops there. Without a broker the record itself is shown, and nothing
// advised that asks one.
func TestOnErrorFail(t *testing.T) {
	for _, c := range []struct {
		bad    rttest.Record
		change func(*rt.SourceSpec)
		want   string
	}{
		{
			rttest.Record{Value: []byte(`{"user_id":1}`)},
			func(s *rt.SourceSpec) { s.OnError = rt.Fail() },
			"orders (orders.eo:8): record of topic orders, partition 1, offset 1: user_id: not a string (byte 11): {\"user_id\":1}; to go on without such records, declare on_error skip or on_error dlq(…)",
		},
		{
			rttest.Record{},
			func(s *rt.SourceSpec) { s.FailOnNull = true },
			"orders (orders.eo:8): record of topic orders, partition 1, offset 1: the record has no value, and on_null is fail; to go on without such records, declare on_null skip ",
		},
	} {
		r := newRun(t, ordersWith(c.change), rttest.Config{Partitions: map[string]int{"orders": 2}})
		good := rttest.Record{Value: []byte(goodOrder)}
		err := r.Feed("orders", 1, good, c.bad, good)
		if failure.KindOf(err) != failure.Record || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s …", err, c.want)
		}
		for _, n := range r.Counts() {
			if n.Name == "aggregated" && n.N != 1 {
				t.Errorf("%+v: it went on", n)
			}
		}
	}
}

func TestOnErrorSkip(t *testing.T) {
	r := newRun(t, ordersWith(func(s *rt.SourceSpec) { s.OnError = rt.Skip() }), rttest.Config{})
	if err := r.Feed("orders", 0, rttest.Record{Value: []byte("x")}, rttest.Record{Value: []byte(goodOrder), Time: rttest.NoTime}, rttest.Record{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"read": 3, "rejected": 1, "null": 1, "aggregated": 1}
	for _, c := range r.Counts() {
		if c.N != want[c.Name] {
			t.Errorf("%+v", c)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("not counted: %v", want)
	}
}

// failing is a pipeline whose clauses and results can fail: two sources, each read by two streams, a window over both.
type failing struct {
	calc   *rt.Calc
	let    *rt.Clause
	result *rt.Clause
	sum    *rt.Tumbling[rt.Int128, int64]
	out    *rt.Sink
	json   *rt.JSON
}

func failingPipeline(first, second rt.OnError) rt.Pipeline {
	return rt.Pipeline{Name: "failing", File: "failing.eo", Build: rt.Build(func(t *rt.Task) *failing {
		p := &failing{calc: t.Calc(), json: rt.NewJSON([]rt.Field{{Name: "v"}})}
		source := func(name, place string, e rt.OnError) *rt.Source {
			return t.Source(rt.SourceSpec{Name: name, Place: place, Topic: rt.Setting{Text: name}, HasWatermark: true, Watermark: rt.Hour, OnError: e}, p.read)
		}
		a, b := source("a", "failing.eo:1", first), source("b", "failing.eo:2", second)
		p.let = t.Clause("s/let", "failing.eo:5")
		p.result = t.Clause("s/window", "failing.eo:6")
		p.sum = rt.NewTumbling(t, rt.TumblingSpec[rt.Int128, int64]{
			Name: "s/window", Place: "failing.eo:6", Sources: []*rt.Source{a, b}, Size: rt.Minute,
			Fold: func() {
				for s, v := range p.sum.Pending() {
					s.Add(v)
				}
			},
			Close: p.close, Append: func(b []byte, s *rt.Int128) []byte { return rt.AppendStateInt128(b, *s) },
			Read: func(b []byte, s *rt.Int128) []byte { *s, b = rt.ReadStateInt128(b); return b },
		})
		p.out = t.Sink(rt.SinkSpec{Name: "out", Place: "failing.eo:9", Topic: rt.Setting{Text: "out"}})
		return p
	})}
}

func (p *failing) read(in *rt.Batch) {
	for in.Next() {
		var v int64
		for p.json.Begin(in.Value()); p.json.Next(); {
			v = p.json.Int()
		}
		if !p.json.End() {
			in.Reject(p.json.Fault())
			continue
		}
		if !in.ObserveTimestamp() {
			continue
		}
		// Two streams: one doubles, one takes a hundredth of the reciprocal.
		p.double(in, v)
		p.divide(in, v)
	}
}

func (p *failing) double(in *rt.Batch, v int64) {
	v = p.calc.MulInt(v, 2)
	if p.calc.Failed() {
		in.RejectIn(p.let, p.calc.Fault())
		return
	}
	p.sum.Add(in, nil, in.At(), v)
}

func (p *failing) divide(in *rt.Batch, v int64) {
	v = p.calc.DivInt(100, v)
	if p.calc.Failed() {
		in.RejectIn(p.let, p.calc.Fault())
		return
	}
	b := p.out.Begin(nil)
	p.out.End(append(b, p.calc.StringOfInt(v)...), in.At())
}

func (p *failing) close(w *rt.Pane[rt.Int128]) {
	for _, s := range w.All() {
		v := p.calc.IntOf128(*s)
		if p.calc.Failed() {
			p.sum.RejectResult(p.result, w, p.calc.Fault(), []byte(`{"v":null}`))
			continue
		}
		b := p.out.Begin(nil)
		p.out.End(append(b, p.calc.StringOfInt(v)...), w.End-rt.Millisecond)
	}
}

func numbered(v string) rttest.Record {
	return rttest.Record{Value: []byte(`{"v":` + v + `}`), Time: 5_000_000}
}

// TestRejectIn shows that two streams reject for themselves, with the clause in the dead letter, and that sources
// share a dead-letter topic.
func TestRejectIn(t *testing.T) {
	dlq := rt.DLQ(rt.Setting{Env: "DLQ", Text: "dead", HasDefault: true})
	r := newRun(t, failingPipeline(dlq, rt.DLQ(rt.Setting{Text: "dead"})), rttest.Config{})
	for _, topic := range []string{"a", "b"} {
		if err := r.Feed(topic, 0, numbered("0"), numbered("9223372036854775807"), numbered("x")); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, rec := range r.Output("dead") {
		got = append(got, text(rec))
	}
	operators := []string{"s/let (failing.eo:5)", "s/let (failing.eo:5)", "a (failing.eo:1)", "s/let (failing.eo:5)", "s/let (failing.eo:5)", "b (failing.eo:2)"}
	reasons := []string{"division by zero", "does not fit an int", "v: not a number (byte 5)"}
	if len(got) != len(operators) {
		t.Fatalf("%d dead letters:\n%s", len(got), strings.Join(got, "\n"))
	}
	for i, g := range got {
		if !strings.HasSuffix(g, "eo.operator="+operators[i]) || !strings.Contains(g, "eo.reason="+reasons[i%3]+" eo.topic=") {
			t.Errorf("%s: want %s of %s", g, reasons[i%3], operators[i])
		}
	}
}

// TestRejectResult shows that the strictest on_error of the sources decides about a result.
func TestRejectResult(t *testing.T) {
	half := numbered("4611686018427387903") // doubled it fits, the sum of two does not
	dead := rt.DLQ(rt.Setting{Text: "dead"})
	run := func(a, b rt.OnError) (*rttest.Run, error) {
		r := newRun(t, failingPipeline(a, b), rttest.Config{})
		if err := r.Feed("a", 0, half, half); err != nil {
			t.Fatal(err)
		}
		return r, r.End()
	}
	r, err := run(rt.Skip(), dead)
	if err != nil {
		t.Fatal(err)
	}
	want := `null {"v":null} 59999000 eo.reason=does not fit an int eo.operator=s/window (failing.eo:6) eo.window_start=1970-01-01T00:00:00Z eo.window_end=1970-01-01T00:01:00Z`
	if out := r.Output("dead"); len(out) != 1 || text(out[0]) != want {
		t.Errorf("got  %s\nwant %s", text(out[0]), want)
	}
	for _, c := range r.Counts() {
		if c.Operator == "s/window" && c.Name == "rejected" && (c.N != 1 || c.Partition != -1) {
			t.Errorf("%+v", c)
		}
	}
	if _, err = run(rt.Skip(), rt.Skip()); err != nil {
		t.Error(err)
	}
	_, err = run(dead, rt.Fail())
	if want := `s/window (failing.eo:6): result of window [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z): does not fit an int: {"v":null}`; failure.KindOf(err) != failure.Record || err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
