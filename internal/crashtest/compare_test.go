package crashtest

import (
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/judge"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func rec(partition int32, offset int64, key, value string) judge.Record {
	r := judge.Record{Partition: partition, Offset: offset, Value: []byte(value), Time: noon}
	if key != "" {
		r.Key = []byte(key)
	}
	return r
}

// Every way in which records can differ is seen, and what two good runs may do differently is not.
func TestCompare(t *testing.T) {
	exact := output{topic: "totals", inexact: []string{"mean"}}
	least := output{topic: "totals", deliver: planner.DeliverAtLeastOnce}
	none := output{topic: "totals", deliver: planner.DeliverNone}
	a, b := rec(0, 0, "ada", `{"n":1}`), rec(0, 1, "ken", `{"n":2}`)
	at := func(r judge.Record, partition int32, offset int64) judge.Record {
		r.Partition, r.Offset = partition, offset
		return r
	}
	later := func(r judge.Record, by time.Duration) judge.Record { r.Time = r.Time.Add(by); return r }
	header := func(r judge.Record, value string) judge.Record {
		r.Headers = []reference.Header{{Key: "eo.offset", Value: []byte(value)}}
		return r
	}
	type list = []judge.Record
	for _, c := range []struct {
		name      string
		o         output
		got, want list
		says      string // "": they do not differ
	}{
		{"equal", exact, list{a, b}, list{a, b}, ""},
		{"the order of two keys", exact, list{at(b, 0, 0), at(a, 0, 1)}, list{a, b}, ""},
		{"offsets", exact, list{at(a, 0, 7), at(b, 0, 9)}, list{a, b}, ""},
		{"lost", exact, list{b}, list{a, b}, "1 missing, 0 too many\n  missing   key ada, value {\"n\":1}, of 2026-01-31T12:00:00Z\n            without a crash it is at partition 0, offset 0"},
		{"lost of two", exact, list{a}, list{a, at(a, 0, 5)}, "offset 5"},
		{"doubled", exact, list{a, b, at(a, 0, 2)}, list{a, b}, "0 missing, 1 too many\n  too many  key ada, value {\"n\":1}, of 2026-01-31T12:00:00Z\n            it is at partition 0, offset 2"},
		{"other value", exact, list{a, rec(0, 1, "ken", `{"n":3}`)}, list{a, b}, "1 missing, 1 too many"},
		{"null is not empty", exact, list{{Value: []byte{}, Time: noon}}, list{{Time: noon}}, "1 missing, 1 too many"},
		{"other key", exact, list{a, rec(0, 1, "tony", `{"n":2}`)}, list{a, b}, "1 missing, 1 too many"},
		{"other partition", exact, list{a, at(b, 1, 0)}, list{a, b}, "1 missing, 1 too many"},
		{"without key any partition will do", exact, list{rec(2, 0, "", "x")}, list{rec(0, 0, "", "x")}, ""},
		{"other time", exact, list{a, later(b, time.Millisecond)}, list{a, b}, "1 missing, 1 too many"},
		{"times that the broker's clock has cut", exact, list{later(a, 3*time.Hour)}, list{later(a, 2*time.Hour)}, ""},
		{"other header", exact, list{header(a, "7")}, list{header(a, "8")}, "1 missing, 1 too many"},
		{"last digits of a float", exact, list{rec(0, 0, "ada", `{"mean":1.0000000001,"n":1}`)}, list{rec(0, 0, "ada", `{"mean":1,"n":1}`)}, ""},
		{"what stands beside a float", exact, list{rec(0, 0, "ada", `{"mean":1,"n":2}`)}, list{rec(0, 0, "ada", `{"mean":1,"n":1}`)}, "1 missing"},
		{"at least once: lost, as text", least, list{b}, list{a, b}, "as the interpreter of plans says: 1 missing, 0 too many\n  missing   key ada, value {\"n\":1}, of 2026-01-31T12:00:00Z"},
		{"at least once: in another partition", least, list{at(a, 1, 0), b}, list{a, b}, ""},
		{"at least once: doubled", least, list{a, b, a}, list{a, b}, ""},
		{"at least once: lost", least, list{b}, list{a, b}, "1 missing"},
		{"at least once: made up", least, list{a, b, rec(0, 2, "tony", "x")}, list{a, b}, "1 too many"},
		{"none: lost", none, list{b}, list{a, b}, ""},
		{"none: made up", none, list{rec(0, 2, "tony", "x")}, list{a, b}, "1 too many"},
	} {
		got := ""
		if d := compare(c.o, c.got, c.want, noon.Add(time.Hour)); d != nil {
			got = d.String()
		}
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.says)
		}
	}
}

func TestDifferenceIsShort(t *testing.T) {
	var want []judge.Record
	for i := range int64(100) {
		want = append(want, rec(0, i, "ada", "x"))
	}
	text := compare(output{topic: "totals"}, nil, want, noon.Add(time.Hour)).String()
	if n := strings.Count(text, "\n"); n > 8 || !strings.Contains(text, "100 missing") || !strings.Contains(text, "and 97 more") {
		t.Errorf("it says\n%s", text)
	}
}
