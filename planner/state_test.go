package planner_test

import (
	"strings"
	"testing"
)

const base = `type Order {
  user_id: string
  amount:  decimal(12, 2)
  note:    string?
  at:      timestamp
}
source orders: Order from kafka("orders") { time at  watermark 5s  on_error skip }
stream totals {
  from      orders
  where     amount > 0
  let       cents = amount * 100
  window    tumbling 1m by user_id grace 10s
  aggregate total = sum(cents), n = count(note)
  to        out
}
sink out to kafka("out") { key user_id }
`

// TestState edits a program and says which edits a checkpoint survives.
func TestState(t *testing.T) {
	forms := func(text string) string {
		b := ""
		for _, f := range plan(t, "a.eo", text).State {
			b += f.ID + ": " + f.Form + "\n"
		}
		return b
	}
	want := `orders: kafka("orders") time at: amount decimal(12, 2), at timestamp, note string?, user_id string
totals/window: tumbling 1m grace 10s of orders by user_id string: sum(amount * 100) decimal(38, 2), count(note) int
`
	if got := forms(base); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, c := range []struct {
		name, old, new string
		keeps          bool
	}{
		{"a comment", "stream totals {", "stream totals { // all of them", true},
		{"a where", "amount > 0", "amount > 1 || note is null", true},
		{"no where", "  where     amount > 0\n", "", true},
		{"a where with another field", "amount > 0", `(note ?? "") != "x"`, true},
		{"the name of a let", "cents", "hundredths", true},
		{"a let written out", "sum(cents)", "sum(amount * 100)", true},
		{"the name of an aggregate", "total = sum", "t = sum", true},
		{"another field of the type", "  note: ", "  more:    int\n  note: ", true},
		{"the order of fields", "  note:    string?\n  at:      timestamp\n", "  at:      timestamp\n  note:    string?\n", true},
		{"the name of the type", "Order", "Purchase", true},
		{"a sink option", "{ key user_id }", "{ deliver none }", true},
		{"on_error", "on_error skip", `on_error dlq("dead")`, true},
		{"the disorder", "watermark 5s", "watermark 7s", true},
		{"a where behind", "  to        out", "  where     n > 1\n  to        out", true},
		{"late to", "grace 10s", `grace 10s late to kafka("late") {}`, true},

		{"the key", "by user_id", "by note", false},
		{"another key", "by user_id", "by user_id, note", false},
		{"the size", "tumbling 1m", "tumbling 2m", false},
		{"the offset", "grace 10s", "offset 10s grace 10s", false},
		{"the grace", "grace 10s", "grace 1h", false},
		{"an aggregate", "sum(cents)", "avg(cents)", false},
		{"one more aggregate", "n = count(note)", "n = count(note), m = count()", false},
		{"the order of aggregates", "total = sum(cents), n = count(note)", "n = count(note), total = sum(cents)", false},
		{"which rows an aggregate takes", "count(note)", "count(note) if cents > 1", false},
		{"what a let computes", "amount * 100", "amount * 10", false},
		{"the type of a key", "user_id: string", "user_id: int", false},
		{"the type of an aggregated field", "decimal(12, 2)", "decimal(12, 3)", false},
		{"null", "amount:  decimal(12, 2)", `amount:  decimal(12, 2) = 1`, false},
		{"the topic", `from kafka("orders")`, `from kafka("purchases")`, false},
		{"the topic by environment", `from kafka("orders")`, `from kafka(env("ORDERS", "orders"))`, false},
		{"the event time", "time at ", "", false},
	} {
		text := strings.ReplaceAll(base, c.old, c.new)
		if text == base {
			t.Fatalf("%s: %q is not in the program", c.name, c.old)
		}
		if c.name == "the key" || c.name == "another key" {
			text = strings.Replace(text, "key user_id", "", 1)
		}
		if got := forms(text); (got == forms(base)) != c.keeps {
			t.Errorf("%s: the state is kept: %v, want %v\n%s", c.name, !c.keeps, c.keeps, got)
		}
	}
}

// TestStateOfUnion: the order of what a union reads means nothing; what it reads does.
func TestStateOfUnion(t *testing.T) {
	const text = `type Left { k: string  x: int  at: timestamp }
type Right { k: string  y: int  at: timestamp }
source a: Left from kafka("a") { time at  watermark 5s  on_error skip }
source b: Right from kafka("b") { time at  watermark 5s  on_error skip }
stream as { from a  select k, v = x, at }
stream bs { from b  select k, v = y + 1, at }
stream all {
  from      as, bs
  window    tumbling 1m by k
  aggregate v = sum(v)
  to        kafka("out") {}
}
`
	window := func(text string) string {
		for _, f := range plan(t, "a.eo", text).State {
			if f.ID == "all/window" {
				return f.Form
			}
		}
		return ""
	}
	got := window(text)
	if want := "tumbling 1m of a, b by k string: sum({x | y + 1}) int"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if turned := window(strings.Replace(text, "as, bs", "bs, as", 1)); turned != got {
		t.Errorf("got %s for the other order", turned)
	}
}
