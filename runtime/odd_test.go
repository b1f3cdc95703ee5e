package runtime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/runtime/rttest"
)

// counted is what a run has counted, over all partitions.
func counted(r *rttest.Run) map[string]int64 {
	sums := map[string]int64{}
	for _, c := range r.Counts() {
		sums[c.Operator+" "+c.Name] += c.N
	}
	return sums
}

// TestRecordOfTomorrow: one record of a clock that is a day fast does not make those of the honest ones late, and is not lost itself.
func TestRecordOfTomorrow(t *testing.T) {
	const honest = 100
	r := newRun(t, ordersPipeline(), rttest.Config{})
	stamped := func(seconds int, kafka time.Duration) rttest.Record {
		rec := order(seconds)
		rec.Time = start.Add(kafka).UnixMicro()
		return rec
	}
	const tomorrow = 24 * 60 * 60
	if err := r.Feed("orders", 0, stamped(tomorrow, 0)); err != nil {
		t.Fatal(err)
	}
	for i := range honest {
		if err := r.Feed("orders", 0, stamped(i, time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if totals, late := results(r); totals != 3 || late != 0 {
		t.Errorf("%d results and %d late, want those of two minutes and of tomorrow", totals, late)
	}
	if got := counted(r); got["orders ahead"] != 1 || got["user_totals/window aggregated"] != honest+1 || got["user_totals/window late"] != 0 {
		t.Errorf("counted: %v", got)
	}
	outcomeOf(t, r)
}

// TestBadAmongGood: what no JSON reader can use stops nothing, and is all in the dead letters as it came.
func TestBadAmongGood(t *testing.T) {
	rng := newRand(t)
	noise := make([]byte, 300)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	bad := []string{`{"k":`, "", string(noise), "null", `{"user_id":"u","amount":1,"at":"` + strings.Repeat("9", 1000), strings.Repeat("[", 100_000), "\x00"}
	r := newRun(t, ordersPipeline(), rttest.Config{})
	var records []rttest.Record
	for i := range 100 {
		records = append(records, order(i))
	}
	for _, text := range bad {
		i := rng.IntN(len(records))
		records = append(records[:i:i], append([]rttest.Record{{Value: []byte(text), Time: rttest.NoTime}}, records[i:]...)...)
	}
	for i := range records {
		records[i].Offset = int64(i)
	}
	if err := r.Feed("orders", 0, records...); err != nil {
		t.Fatal(err)
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	letters := map[string]bool{}
	for _, rec := range r.Output("orders.dlq") {
		letters[string(rec.Value)] = true
	}
	for _, text := range bad {
		if !letters[text] {
			t.Errorf("no dead letter %.20q", text)
		}
	}
	if got := counted(r); got["orders rejected"] != int64(len(bad)) || got["user_totals/window aggregated"] != 100 {
		t.Errorf("counted: %v", got)
	}
	outcomeOf(t, r)
}

// TestNamesAreExact: a name in other letters is another name, and what the type does not list is not looked at; one that is given twice is a fault.
func TestNamesAreExact(t *testing.T) {
	const at = `"at":"2026-01-01T00:00:00Z"`
	for value, want := range map[string]string{
		`{"user_id":"a","USER_ID":"b","User_Id":7,"amount":1,` + at + `}`:                "a",
		`{"USER_ID":"b","user_id":"a","amount":1,` + at + `,"Amount":[{"amount":null}]}`: "a",
		`{"user_id":"a","ſuser_id":"b","amount":1,` + at + `}`:                           "a",
		`{"USER_ID":"b","amount":1,` + at + `}`:                                          "",
		`{"user_id":"a","user_id":"a","amount":1,` + at + `}`:                            "",
		`{"user_id":"a","\u0075ser_id":"b","amount":1,` + at + `}`:                       "",
	} {
		r := newRun(t, ordersPipeline(), rttest.Config{})
		if err := r.Feed("orders", 0, rttest.Record{Value: []byte(value), Time: rttest.NoTime}); err != nil {
			t.Fatal(err)
		}
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, rec := range r.Output("user-totals") {
			got += string(rec.Key)
		}
		if letters := len(r.Output("orders.dlq")); got != want || (letters == 0) != (want != "") {
			t.Errorf("%s: key %q, %d dead letters; want key %q", value, got, letters, want)
		}
	}
}

// TestNextIsWhatComesNext: a position is that of the record to read next, in whatever it is kept: what is before it is not read again.
func TestNextIsWhatComesNext(t *testing.T) {
	for _, tasks := range []int{1, 3} {
		r := newRun(t, ordersPipeline(), rttest.Config{Parallelism: tasks})
		for i := range 3 {
			for _, step := range []func() error{func() error { return r.Feed("orders", 0, order(i)) }, r.Checkpoint, func() error { return r.Crash(tasks) }} {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			if got := counted(r)["user_totals/window aggregated"]; got != int64(i+1) {
				t.Errorf("%d tasks: %d records are in windows, want %d", tasks, got, i+1)
			}
		}
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
		if out := r.Output("user-totals"); len(out) != 1 || !strings.Contains(string(out[0].Value), fmt.Sprintf(`"orders":%d`, 3)) {
			t.Errorf("%d tasks: %d results, the first %s", tasks, len(out), out[0].Value)
		}
	}
}
