package runtime_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// secret is in records and results that are refused, and nowhere else.
const secret = "hunter2"

// alone is a worker of p that reads partition 3 of its first source.
func alone(t *testing.T, p rt.Pipeline) (engine.Worker, *engine.Partition) {
	t.Helper()
	spec, err := p.Spec(environment())
	if err != nil {
		t.Fatal(err)
	}
	return spec.New(nowhere{}, 0), &engine.Partition{Topic: spec.Sources[0].Topic, ID: 3, Watermark: math.MinInt64, Floor: []int64{math.MinInt64}}
}

// from numbers records by their offsets.
func from(offset int64, records ...record.Record) []record.Record {
	for i := range records {
		records[i].Offset = offset + int64(i)
	}
	return records
}

// At a barrier each operator tells what it has refused last: a record by its place, a result by its window, neither by its contents. Of what is
// skipped, which nobody else sees, it tells the first three, too.
func TestRefused(t *testing.T) {
	half := numbered("4611686018427387903") // doubled it fits, the sum of two does not
	for name, onError := range map[string]rt.OnError{"skip": rt.Skip(), "dlq": rt.DLQ(rt.Setting{Text: "dead"})} {
		began := time.Now()
		w, p := alone(t, failingPipeline(onError, onError))
		var first []string
		want := func(all ...engine.Refusal) {
			t.Helper()
			var got []engine.Refusal
			for _, r := range w.Refused(nil) {
				if r.At.Before(began) || r.At.After(time.Now()) {
					t.Errorf("%s: refused at %v", name, r.At)
				}
				if r.At = (time.Time{}); !r.Skipped {
					got = append(got, r)
				} else if first = append(first, fmt.Sprint(r.Operator, " ", r.Reason, " ", r.Offset)); strings.Contains(r.Reason, secret) {
					t.Errorf("%s: %+v", name, r)
				}
			}
			if text := fmt.Sprintf("%+v", got); text != fmt.Sprintf("%+v", all) || strings.Contains(text, secret) {
				t.Errorf("%s:\ngot  %s\nwant %+v", name, text, all)
			}
		}
		want()
		if err := w.Process(p, from(40, numbered("0"), numbered(`"`+secret+`"`), half, numbered("x"+secret), numbered("9223372036854775807"), half)); err != nil {
			t.Fatal(err)
		}
		want(engine.Refusal{Operator: "a", Place: "failing.eo:1", Reason: "v: not a number (byte 5)", Topic: "a", Partition: 3, Offset: 43},
			engine.Refusal{Operator: "s/let", Place: "failing.eo:5", Reason: "does not fit an int", Topic: "a", Partition: 3, Offset: 44})
		if _, err := w.Advance(0, 60_000_000); err != nil {
			t.Fatal(err)
		}
		want(engine.Refusal{Operator: "s/window", Place: "failing.eo:6", Reason: "does not fit an int", WindowEnd: 60_000_000})
		want()
		if err := w.Process(p, from(50, numbered("true"), numbered("false"))); err != nil {
			t.Fatal(err)
		}
		want(engine.Refusal{Operator: "a", Place: "failing.eo:1", Reason: "v: not a number (byte 5)", Topic: "a", Partition: 3, Offset: 51})
		said := strings.Join(first, "; ")
		if skipped := "a v: not a number (byte 5) 41; a v: not a number (byte 5) 43; s/let division by zero 40; s/let does not fit an int 44; s/window does not fit an int 0; a v: not a number (byte 5) 50"; name == "skip" && said != skipped || name == "dlq" && said != "" {
			t.Errorf("%s: the first that are skipped: %s", name, said)
		}
	}
}

// What ends a pipeline is told with its operator and place; what it quotes of a record or result is for the log.
func TestFailureWithoutContents(t *testing.T) {
	w, p := alone(t, failingPipeline(rt.Fail(), rt.Fail()))
	err := w.Process(p, from(7, numbered(`"`+secret+`"`)))
	if shown := failure.Shown(err); failure.KindOf(err) != failure.Record || strings.Contains(shown, secret) ||
		!strings.HasPrefix(shown, "a (failing.eo:1): record of topic a, partition 3, offset 7: v: not a number (byte 5); to go on ") {
		t.Errorf("a record: %s", shown)
	}

	w, p = alone(t, failingPipeline(rt.Fail(), rt.Fail()))
	half := numbered("4611686018427387903")
	if err := w.Process(p, from(0, half, half)); err != nil {
		t.Fatal(err)
	}
	_, err = w.Advance(0, 60_000_000)
	const want = "s/window (failing.eo:6): result of window [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z): does not fit an int"
	if shown := failure.Shown(err); !strings.HasPrefix(shown, want+"; to go on") || err == nil || !strings.HasPrefix(err.Error(), want+`: {"v":null}; to go on`) {
		t.Errorf("a result: %s\nin the log: %v", shown, err)
	}
}

// A topic full of bad records costs no memory, whatever becomes of them, and one note of each operator at a barrier.
func TestFloodOfRefusals(t *testing.T) {
	for name, onError := range map[string]rt.OnError{"skip": rt.Skip(), "dlq": rt.DLQ(rt.Setting{Text: "dead"})} {
		w, p := alone(t, failingPipeline(onError, onError))
		var bad []record.Record
		for range 512 {
			bad = append(bad, numbered("9223372036854775807"), numbered(secret))
		}
		flood := func() {
			if err := w.Process(p, from(0, bad...)); err != nil {
				t.Fatal(err)
			}
		}
		flood() // slabs grow
		if n := testing.AllocsPerRun(100, flood); n > 0 {
			t.Errorf("%s: %v allocations for %d bad records", name, n, len(bad))
		}
		notes := slices.DeleteFunc(w.Refused(nil), func(r engine.Refusal) bool { return r.Skipped })
		if len(notes) != 2 || notes[0].Offset != 1023 || notes[1].Offset != 1022 {
			t.Errorf("%s: %+v", name, notes)
		}
		room := make([]engine.Refusal, 0, 2)
		if n := testing.AllocsPerRun(100, func() { flood(); w.Refused(room) }); n > 2 { // the text of a reason
			t.Errorf("%s: %v allocations for two notes", name, n)
		}
	}
}

// Results that are skipped cost no more memory than good ones, however many there are.
func TestFloodOfRefusedResults(t *testing.T) {
	w, p := alone(t, failingPipeline(rt.Skip(), rt.Skip()))
	const minute = 60_000_000
	end := int64(0)
	allocations := func(v string) float64 {
		rec := numbered(v)
		records := []record.Record{rec, rec}
		return testing.AllocsPerRun(100, func() { // a window with both
			for i := range records {
				records[i].Time = end
			}
			end += minute
			if err := w.Process(p, records); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Advance(0, end); err != nil {
				t.Fatal(err)
			}
		})
	}
	good, bad := allocations("1"), allocations("4611686018427387903") // doubled it fits, the sum of two does not
	if bad > good {
		t.Errorf("%v allocations for a refused result, %v for a good one", bad, good)
	}
	notes := slices.DeleteFunc(w.Refused(nil), func(r engine.Refusal) bool { return r.Skipped })
	if len(notes) != 1 || notes[0].WindowStart != end-minute || notes[0].WindowEnd != end {
		t.Errorf("%+v", notes)
	}
}
