package rttest_test

import (
	"fmt"
	"log"
	"time"

	"github.com/eoc-lang/eoc/golden/packages/orders"
	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// Total is a result of the pipeline of examples/orders.eo, with the fields that a test looks at.
type Total struct {
	UserID string  `json:"user_id"`
	Total  float64 `json:"total"`
	Orders int     `json:"orders"`
}

// t stands for the *testing.T that a test has.
var t example

type example struct{}

func (example) Helper()                           {}
func (example) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (example) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func Example() {
	p := rttest.Start(t, orders.Pipeline())
	p.Send("orders",
		`{"user_id":"u1","amount":10.00,"at":"2026-01-01T00:00:05Z"}`,
		`{"user_id":"u2","amount":1.5,"at":"2026-01-01T00:00:30Z"}`,
		`{"user_id":"u1","amount":2.25,"at":"2026-01-01T00:00:40Z"}`)
	p.End()
	for _, r := range rttest.Results[Total](p, "user-totals") {
		fmt.Println(r.UserID, r.Total, r.Orders)
	}
	// Unordered output:
	// u1 12.25 2
	// u2 1.5 1
}

// Records can be written as Go values, too; what they become is compared with all of a topic.
func ExampleTest_Expect() {
	start := rt.TimeOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := rttest.Start(t, orders.Pipeline())
	p.Send("orders", orders.Order{UserID: []byte("u1"), Amount: 10_00, At: start + 5*rt.Second})
	p.Expect("user-totals") // the window is open
	p.End()
	p.Expect("user-totals", `{
		"user_id": "u1", "total": 10.00, "orders": 1,
		"window_start": "2026-01-01T00:00:00Z", "window_end": "2026-01-01T00:01:00Z"
	}`)
	p.Expect("user-totals", orders.UserTotals{
		UserID: []byte("u1"), Total: rt.Wide(10_00), Orders: 1,
		WindowStart: start, WindowEnd: start + rt.Minute,
	})
	// Output:
}

// A record behind the window that it belongs to is late, and a record that is none a dead letter.
func ExampleTest_DeadLetters() {
	p := rttest.Start(t, orders.Pipeline())
	p.Send("orders",
		`{"user_id":"u1","amount":10,"at":"2026-01-01T00:00:05Z"}`,
		`{"user_id":"u1","amount":"ten"}`,
		`{"user_id":"u2","amount":7,"at":"2026-01-01T00:05:00Z"}`, // closes the window of the first minute
		`{"user_id":"u1","amount":99,"at":"2026-01-01T00:00:59Z"}`)
	p.Expect("orders-late", `{"user_id":"u1","amount":99,"at":"2026-01-01T00:00:59Z"}`)
	for _, d := range p.DeadLetters("orders.dlq") {
		fmt.Printf("%s/%d/%d: %s\n", d.Topic, d.Partition, d.SourceOffset, d.Reason)
		fmt.Println(d)
	}
	// Output:
	// orders/0/1: amount: not a number (byte 25)
	// orders (orders.eo:8): topic orders, partition 0, offset 1: amount: not a number (byte 25): {"user_id":"u1","amount":"ten"}
}

// What was not committed is written again after a crash, so a reader of committed records sees it once.
func ExampleTest_Crash() {
	p := rttest.Start(t, orders.Pipeline())
	p.Send("orders", `{"user_id":"u1","amount":10,"at":"2026-01-01T00:00:05Z"}`)
	p.Checkpoint()
	p.Send("orders", `{"user_id":"u2","amount":7,"at":"2026-01-01T00:05:00Z"}`)
	fmt.Println(len(p.Output("user-totals")), "result,", len(p.Committed("user-totals")), "committed")
	p.Crash()
	p.End()
	fmt.Println(len(p.Output("user-totals")), "results,", len(p.Committed("user-totals")), "committed")
	// Output:
	// 1 result, 0 committed
	// 2 results, 2 committed
}
