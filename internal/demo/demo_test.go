package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func at(minute, second int) time.Time {
	return noon.Add(time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)
}

// TestDemo is the demo, shorter. It leaves nothing behind; of a failure, logs and state.
func TestDemo(t *testing.T) {
	t.Chdir("../..")
	tmp, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := run(ctx, 1, 4000, seed); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tmp); err != nil { // a folder is removed only if it is empty
		t.Errorf("something is left: %v", err)
	}
}

// The expectation is worked out by hand here: lateness is judged on an order's own partition.
func TestExpect(t *testing.T) {
	s := newShop(1)
	s.logs[0] = []order{
		{user: "ada", cents: 100, at: at(0, 5)},
		{user: "ada", cents: 0, at: at(1, 14)},  // no price, but it moves the watermark to 1:09
		{user: "ada", cents: 20, at: at(0, 59)}, // 0:00–1:00 takes orders until the watermark is at 1:10
		{user: "ken", cents: 7, at: at(1, 15)},  // now it is
		{user: "ada", cents: 40, at: at(0, 58)}, // late
		{bad: true},
	}
	s.logs[1] = []order{
		{user: "ada", cents: 3, at: at(0, 1)}, // this partition is behind
		{user: "closing", cents: 1, at: at(70, 0)},
	}
	got := s.expect()
	want := map[slot]total{
		{"ada", at(0, 0)}: {123, 3},
		{"ken", at(1, 0)}: {7, 1},
	}
	if !maps.Equal(got.totals, want) || got.late != 1 || got.bad != 1 || got.filtered != 1 || got.open != 1 || got.sent() != 8 {
		t.Errorf("got %+v", got)
	}
}

// Every way in which the results can be wrong is seen.
func TestCompare(t *testing.T) {
	want := expectation{totals: map[slot]total{{"ada", noon}: {100, 1}, {"ken", noon}: {50, 2}}, late: 1}
	row := func(text string) devkafka.Record { return devkafka.Record{Topic: totalsTopic, Value: []byte(text)} }
	ada := row(`{"user_id":"ada","window_start":"2026-01-31T12:00:00Z","window_end":"2026-01-31T12:01:00Z","total":1.00,"orders":1}`)
	ken := row(`{"user_id":"ken","window_start":"2026-01-31T12:00:00Z","total":0.50,"orders":2}`)
	late := devkafka.Record{Topic: lateTopic}
	for _, c := range []struct {
		name, want string
		records    []devkafka.Record
	}{
		{"equal", "", []devkafka.Record{ada, late, ken}},
		{"lost", "ken at 12:00:00 is {cents:0 orders:0}, expected {cents:50 orders:2}", []devkafka.Record{ada, late}},
		{"doubled", "1 totals were committed more than once, such as ada", []devkafka.Record{ada, ken, late, ada}},
		{"other amount", "expected {cents:50 orders:2}", []devkafka.Record{ada, late, row(`{"user_id":"ken","window_start":"2026-01-31T12:00:00Z","total":0.51,"orders":2}`)}},
		{"too many", "tony at 12:00:00 is not expected at all", []devkafka.Record{ada, ken, late, row(`{"user_id":"tony","window_start":"2026-01-31T12:00:00Z","total":0.51,"orders":2}`)}},
		{"late lost", "late or bad orders differ", []devkafka.Record{ada, ken}},
	} {
		got := &results{totals: map[slot]total{}}
		if err := got.add(c.records); err != nil {
			t.Fatal(err)
		}
		faults := strings.Join(compare(want, got), "; ")
		if (faults == "") != (c.want == "") || !strings.Contains(faults, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, faults, c.want)
		}
	}
	for _, text := range []string{"no JSON", `{"total":1}`, `{"total":1.005}`} {
		if err := (&results{}).add([]devkafka.Record{row(text)}); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
