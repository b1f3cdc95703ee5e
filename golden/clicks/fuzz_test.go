package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
	rt "github.com/eoc-lang/eoc/runtime"
)

// FuzzReadJSON compares the generated scanner with the reference, which reads with encoding/json: both take a
// record, and then with the same values, or both refuse it.
func FuzzReadJSON(f *testing.F) {
	copies := copyClicks(f)
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if value != nil {
			compare(t, copies, value)
		}
	})
}

// TestReadJSON compares on records that are nearly right: a good one with something done to it.
func TestReadJSON(t *testing.T) {
	copies := copyClicks(t)
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 5_000 {
		compare(t, copies, spoil(r, []byte(values[r.IntN(len(values))])))
	}
}

// copyClicks is a pipeline that writes clicks as they are read.
func copyClicks(t testing.TB) *planner.Graph {
	t.Helper()
	src, err := os.ReadFile("../../examples/clicks.eo")
	if err != nil {
		t.Fatal(err)
	}
	declarations, _, _ := strings.Cut(string(src), "stream ")
	program, diagnostics := dsl.Check("clicks.eo", []byte(declarations+"stream copy { from clicks  to kafka(\"copy\") }\n"))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	g, diagnostics := planner.Plan(program)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return g
}

// compare reads value twice with one cursor: what it has learned of the first must not change the second.
func compare(t testing.TB, copies *planner.Graph, value []byte) {
	t.Helper()
	want := reference.Run(copies, reference.Input{"clicks": {{{Value: value, Time: reference.NoTime}}}})
	c := newClickJSON()
	for range 2 {
		var click Click
		ok := click.readJSON(c, value)
		if ok != (len(want.DeadLetters) == 0) {
			t.Fatalf("%q: taken: %t (%s), but the reference says %v", value, ok, c.Fault().AppendText(nil), want.DeadLetters)
		}
		if ok {
			if got := click.json(); !bytes.Equal(got, want.Sinks["copy"][0].Value) {
				t.Fatalf("%q: read as\n%s, want\n%s", value, got, want.Sinks["copy"][0].Value)
			}
		}
	}
}

// json writes a click as the sink of copies does.
func (click *Click) json() []byte {
	b := rt.AppendString([]byte(`{"id":`), click.ID)
	b = append(b, `,"user_id":`...)
	if click.UserID.OK {
		b = rt.AppendString(b, click.UserID.V)
	} else {
		b = append(b, "null"...)
	}
	b = rt.AppendString(append(b, `,"page":`...), click.Page)
	b = rt.AppendString(append(b, `,"referrer":`...), click.Referrer)
	b = rt.AppendInt(append(b, `,"status":`...), click.Status)
	b = append(b, `,"latency_ms":`...)
	if click.LatencyMs.OK {
		b = rt.AppendFloat(b, click.LatencyMs.V)
	} else {
		b = append(b, "null"...)
	}
	b = rt.AppendTimeUnit(append(b, `,"at":`...), click.At, rt.Millisecond)
	return append(b, '}')
}

var values = []string{
	`{"id":"c1","user_id":"u1","page":"/","referrer":"search","status":200,"latency_ms":12.5,"at":1767225600000}`,
	`{"id":"c1","page":"/","status":2e2,"at":1767225600000.0}`,
	` { "at" : -62135596800000 , "status" : 9223372036854775807 , "page" : "\u00e9\ud83d\ude00" , "id" : "" , "user_id" : null } `,
	`{"at":253402300799999,"latency_ms":1e308,"status":-9223372036854775808,"page":"a\\b\"c\/","id":"\u0000\b\f\n\r\t","x":[1,{"id":2},[]]}`,
	`{"id":"c1","id":"c2","page":"/","status":1,"at":0}`,
	`{"id":"c1","page":"/","status":1.5,"at":0,"latency_ms":1e309}`,
	`{"id":"c1","page":"\ud800","status":1,"at":0,"latency_ms":-0.0}`,
	`{"i\u0064":"c1","pag\u0065":"/","status":10000000000000000000000e-20,"at":1e3,"referrer":null,"é":"ü"}`,
	`{"ID":"c1","page":"/","status":1,"at":99999999999999999999,"a long name that is not used":{"a":{"b":{"c":[[[[]]]]}}}}`,
	`null`, `[]`, ``, `{}`, `{"id":`,
}

var pieces = []string{
	`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, "\n", "\x00", "\xff", "\xc3\x28", "é", `\u0041`, `\ud83d`, `\udE00`, `\x`, `0`, `9`, `-`, `+`, `.`, `e`, `E5`,
	`null`, `true`, `false`, `"id":"x"`, `,"status":7`, `"at":null`, `1e400`, `1e-400`, `0.1`, `00`, `99999999999999999999`, "\u2028", "\ufeff",
}

// spoil does up to three things to a record.
func spoil(r *rand.Rand, b []byte) []byte {
	for range r.IntN(4) {
		at := r.IntN(len(b) + 1)
		end := min(len(b), at+r.IntN(4))
		switch r.IntN(5) {
		case 0:
			b = b[:at:at]
		case 1:
			b = append(b[:at:at], b[end:]...)
		case 2:
			b = append(append(b[:at:at], pieces[r.IntN(len(pieces))]...), b[at:]...)
		case 3:
			b = append(append(b[:at:at], pieces[r.IntN(len(pieces))]...), b[end:]...)
		case 4:
			if at < len(b) {
				b = bytes.Clone(b)
				b[at] = byte(r.IntN(256))
			}
		}
	}
	if b == nil {
		b = []byte{}
	}
	return b
}
