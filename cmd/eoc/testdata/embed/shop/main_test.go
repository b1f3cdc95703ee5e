package main

import (
	"maps"
	"testing"
	"time"

	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/rttest"

	"example.com/shop/orders"
)

func TestTotals(t *testing.T) {
	p := rttest.Start(t, orders.Pipeline())
	p.Send("orders",
		`{"user_id":"u1","amount":10.00,"at":"2026-01-01T00:00:05Z"}`,
		`{"user_id":"u1","amount":2.25,"at":"2026-01-01T00:00:40Z"}`)
	p.Expect("user-totals") // the window is still open
	p.End()
	p.Expect("user-totals", `{
		"user_id": "u1", "total": 12.25, "orders": 2,
		"window_start": "2026-01-01T00:00:00Z", "window_end": "2026-01-01T00:01:00Z"
	}`)
}

// start is when the records of these tests begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// order is a record as the service sends it. An amount has two digits behind the point: it counts hundredths.
func order(user string, amount int64, after time.Duration) orders.Order {
	return orders.Order{UserID: []byte(user), Amount: amount, At: rt.TimeOf(start.Add(after))}
}

func TestLateAndBadRecords(t *testing.T) {
	p := rttest.Start(t, orders.Pipeline())
	late := order("u1", 99_00, 59*time.Second)
	p.Send("orders",
		order("u1", 10_00, 5*time.Second),
		order("u2", 7_50, 5*time.Minute), // closes the window of the first minute
		late,
		"not JSON")
	p.Expect("orders-late", late)
	if letters := p.DeadLetters("orders.dlq"); len(letters) != 1 || string(letters[0].Value) != "not JSON" {
		t.Errorf("dead letters: %+v", letters)
	}
	results := rttest.Results[orders.UserTotals](p, "user-totals")
	if len(results) != 1 || results[0].Total != rt.Wide(10_00) || !results[0].WindowStart.Time().Equal(start) {
		t.Errorf("results: %+v", results)
	}
}

// What each user has spent, whatever else the results say.
func TestWhatUsersSpend(t *testing.T) {
	p := rttest.Start(t, orders.Pipeline())
	p.Send("orders", order("u1", 10_00, 0), order("u2", 7_50, 0), order("u1", 2_25, time.Second))
	p.End()
	spent := map[string]rt.Int128{}
	for _, r := range rttest.Results[orders.UserTotals](p, "user-totals") {
		spent[string(r.UserID)] = r.Total
	}
	if want := map[string]rt.Int128{"u1": rt.Wide(12_25), "u2": rt.Wide(7_50)}; !maps.Equal(spent, want) {
		t.Errorf("spent is %v, want %v", spent, want)
	}
}

// Killed between two checkpoints, the pipeline shows each result once to who reads committed records.
func TestCrash(t *testing.T) {
	p := rttest.Start(t, orders.Pipeline())
	p.Send("orders", order("u1", 10_00, 5*time.Second))
	p.Checkpoint()
	p.Send("orders", order("u2", 7_50, 5*time.Minute))
	if n := len(p.Committed("user-totals")); n != 0 {
		t.Errorf("%d results are committed before the checkpoint", n)
	}
	p.Crash()
	p.End()
	if n := len(p.Committed("user-totals")); n != 2 {
		t.Errorf("%d results, want 2", n)
	}
}
