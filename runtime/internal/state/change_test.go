package state

import "testing"

// TestChangeOf: of two forms only what differs is said. The forms are those that the planner writes.
func TestChangeOf(t *testing.T) {
	const window = "tumbling 1m grace 20s of payments, cards by merchant string, currency string: sum(amount) decimal(38, 2), count() int, max(amount) decimal(12, 2)? if amount > 0"
	for _, c := range []struct{ what, old, now, want string }{
		{"size and an aggregate", window, "tumbling 2m grace 20s of payments, cards by merchant string, currency string: sum(amount) decimal(38, 2), count() int, min(amount) decimal(12, 2)? if amount > 0",
			"`tumbling 2m`, was `tumbling 1m`; aggregate 3 is `min(amount) decimal(12, 2)? if amount > 0`, was `max(amount) decimal(12, 2)? if amount > 0`"},
		{"a clause more", "tumbling 1m of a: count() int", "tumbling 1m offset 5s grace 1s of a: count() int", "`offset 5s` is new; `grace 1s` is new"},
		{"a clause less", "tumbling 1m grace 1s of a by k int: count() int", "tumbling 1m of a: count() int", "`grace 1s` is gone; `by k int` is gone"},
		{"an aggregate in between", "tumbling 1m of a: count() int, sum(x) int", "tumbling 1m of a: count() int, max(x) int, sum(x) int", "aggregate 2, `max(x) int`, is new"},
		{"an aggregate less", "tumbling 1m of a: count() int, sum(x) int", "tumbling 1m of a: sum(x) int", "aggregate 1, `count() int`, is gone"},
		{"sources and keys", "tumbling 1m of a by k string: count() int", "tumbling 1m of a, b by k int?, l bool: count() int", "`of a, b`, was `of a`; `by k int?, l bool`, was `by k string`"},
		{"a topic", `kafka("a: b") time at: at timestamp`, `kafka("a, \"(b") time at: at timestamp`, "`kafka(\"a, \\\"(b\")`, was `kafka(\"a: b\")`"},
		{"a field", `kafka("a") time at: amount int, at timestamp`, `kafka("a") time at: amount decimal(9, 2), at timestamp`, "field 1 is `amount decimal(9, 2)`, was `amount int`"},
		{"a field more", `kafka("a"): amount int`, `kafka("a"): age int, amount int`, "field 1, `age int`, is new"},
		{"the time", `kafka("a") time at: at timestamp`, `kafka("a") time at + 1s: at timestamp`, "`time at + 1s`, was `time at`"},
		{"texts with commas and brackets", `tumbling 1m of a by if x == ", by (" then 1 else 2 int: count() int`, `tumbling 1m of a by if x == ", by [" then 1 else 2 int: count() int`,
			"`by if x == \", by [\" then 1 else 2 int`, was `by if x == \", by (\" then 1 else 2 int`"},
		{"a key that is called like a clause", "tumbling 1m of a by grace string: count() int", "tumbling 1m of a by grace int: count() int", "`grace int`, was `grace string`"},
		{"a key with a long text", "tumbling 1m of a by sha256(aa) + 1 int: count() int", "tumbling 1m of a by sha256(bb) + 1 int: count() int", "`by sha256(bb) + 1 int`, was `by sha256(aa) + 1 int`"},
		{"spaces", "tumbling 1m  of a: count() int", "tumbling 1m of a: count() int", "`tumbling 1m of a: count() int`, was `tumbling 1m  of a: count() int`"},
	} {
		if got := changeOf(c.old, c.now); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.what, got, c.want)
		}
	}
}
