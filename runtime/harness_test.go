package runtime_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/runtime/rttest"
)

// order is a record of an order by user u at a number of seconds after the start.
func order(seconds int) rttest.Record {
	at := start.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
	return rttest.Record{Value: fmt.Appendf(nil, `{"user_id":"u","amount":1,"at":%q}`, at), Time: rttest.NoTime}
}

// results is the number of results so far, and of late records.
func results(r *rttest.Run) (totals, late int) {
	return len(r.Output("user-totals")), len(r.Output("orders-late"))
}

// TestIdle shows that an idle partition holds no window open, and that its records are late for what closed without it.
func TestIdle(t *testing.T) {
	for _, tasks := range []int{1, 3} {
		r := newRun(t, ordersPipeline(), rttest.Config{Parallelism: tasks, Partitions: map[string]int{"orders": 2}})
		step := func(err error, totals, late int) {
			t.Helper()
			if n, l := results(r); err != nil || n != totals || l != late {
				t.Fatalf("%d tasks: %d results, %d late, want %d and %d; %v", tasks, n, l, totals, late, err)
			}
		}
		step(r.Feed("orders", 0, order(0), order(300)), 0, 0) // partition 1 has nothing yet: no window closes
		step(r.Idle("orders", 1), 1, 0)
		step(r.Feed("orders", 1, order(30)), 1, 1)  // its window is closed
		step(r.Feed("orders", 1, order(299)), 1, 1) // the window at 240 s is open
		step(r.Feed("orders", 0, order(600)), 1, 1) // partition 1 holds it open again
		step(r.Checkpoint(), 1, 1)                  //
		step(r.Feed("orders", 1, order(601)), 3, 1) // the windows at 240 s and 300 s
		step(r.Crash(2), 1, 1)                      // back to the checkpoint
		step(r.Read("orders", 1, r.Unread("orders", 1)), 3, 1)
		step(r.End(), 4, 1)
		outcomeOf(t, r)
	}
}

// TestRandomIdle lets partitions fall idle and wake at random. What is late depends on it then, but no record
// may vanish, and none may find its window closed behind the exchange.
func TestRandomIdle(t *testing.T) {
	r := newRand(t)
	for _, tasks := range []int{1, 2, 4} {
		parts := randomPartitions(r, 4000, 4, start)
		run := newRun(t, ordersPipeline(), rttest.Config{Parallelism: tasks, Partitions: map[string]int{"orders": 4}, Rand: r})
		for p, records := range parts {
			run.Append("orders", p, records...)
		}
		for range 400 {
			p, err := r.IntN(4), error(nil)
			switch r.IntN(20) {
			case 0, 1, 2:
				err = run.Idle("orders", p)
			case 3:
				err = run.Checkpoint()
			case 4:
				err = run.Crash(1 + r.IntN(4))
			default:
				err = run.Read("orders", p, 1+r.IntN(100))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := run.End(); err != nil {
			t.Fatal(err)
		}
		outcomeOf(t, run)
	}
}

// TestHarnessNames shows that a test with a wrong name says so.
func TestHarnessNames(t *testing.T) {
	r := newRun(t, ordersPipeline(), rttest.Config{})
	for name, f := range map[string]func(){
		"topic":     func() { r.Append("order", 0) },
		"partition": func() { r.Append("orders", 1) },
		"sink":      func() { r.Output("totals") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for an unknown %s", name)
				}
			}()
			f()
		}()
	}
}
