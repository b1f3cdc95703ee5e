package main

import (
	"testing"

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

// order is what the service sends, total what it wants to know of a result.
type order struct {
	UserID string  `json:"user_id"`
	Amount float64 `json:"amount"`
	At     string  `json:"at"`
}

type total struct {
	UserID string  `json:"user_id"`
	Total  float64 `json:"total"`
}

func TestLateAndBadRecords(t *testing.T) {
	p := rttest.Start(t, orders.Pipeline())
	late := order{"u1", 99, "2026-01-01T00:00:59Z"}
	p.Send("orders",
		order{"u1", 10, "2026-01-01T00:00:05Z"},
		order{"u2", 7, "2026-01-01T00:05:00Z"}, // closes the window of the first minute
		late,
		"not JSON")
	p.Expect("orders-late", late)
	if letters := p.DeadLetters("orders.dlq"); len(letters) != 1 || string(letters[0].Value) != "not JSON" {
		t.Errorf("dead letters: %+v", letters)
	}
	results := rttest.Results[total](p, "user-totals")
	if len(results) != 1 || results[0] != (total{"u1", 10}) {
		t.Errorf("results: %+v", results)
	}
}

// Killed between two checkpoints, the pipeline shows each result once to who reads committed records.
func TestCrash(t *testing.T) {
	p := rttest.Start(t, orders.Pipeline())
	p.Send("orders", order{"u1", 10, "2026-01-01T00:00:05Z"})
	p.Checkpoint()
	p.Send("orders", order{"u2", 7, "2026-01-01T00:05:00Z"})
	if n := len(p.Committed("user-totals")); n != 0 {
		t.Errorf("%d results are committed before the checkpoint", n)
	}
	p.Crash()
	p.End()
	if n := len(p.Committed("user-totals")); n != 2 {
		t.Errorf("%d results, want 2", n)
	}
}
