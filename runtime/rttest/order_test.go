package rttest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eoc-lang/eoc/golden/packages/orders"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// With one task, results come in the same order each time, so that a test may show them.
func TestSameOrder(t *testing.T) {
	users := func() (list []string) {
		p := rttest.Start(t, orders.Pipeline())
		for i := range 1000 {
			p.Send("orders", fmt.Sprintf(`{"user_id":"u%d","amount":1,"at":"2026-01-01T00:00:05Z"}`, i))
			if i%300 == 0 {
				p.Checkpoint()
			}
		}
		p.End()
		for _, r := range rttest.Results[Total](p, "user-totals") {
			list = append(list, r.UserID)
		}
		return list
	}
	first := users()
	for range 3 {
		if again := users(); len(first) != 1000 || !slices.Equal(first, again) {
			t.Fatalf("the order differs between two runs: %v, then %v", first, again)
		}
	}
}
