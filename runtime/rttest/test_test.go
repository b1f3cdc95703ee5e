package rttest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/golden/packages/orders"
	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// recorder is a test that remembers how it failed. Fatalf panics with it.
type recorder struct{ said []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); panic(r) }

// failing is what a test says that fails.
func failing(t *testing.T, pipeline rt.Pipeline, cfg rttest.Config, test func(*rttest.Test)) string {
	t.Helper()
	r := &recorder{}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(r) {
				panic(p)
			}
		}()
		test(cfg.Start(r, pipeline))
	}()
	return strings.Join(r.said, "\n")
}

const order = `{"user_id":"u1","amount":10,"at":"2026-01-01T00:00:05Z"}`

// What a test does wrong, or finds wrong, is said in its own words.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  rttest.Config
		test func(*rttest.Test)
		want string
	}{
		"topic":      {test: func(p *rttest.Test) { p.Send("order", order) }, want: `orders.eo reads no topic "order"; it reads orders`},
		"partition":  {test: func(p *rttest.Test) { p.SendTo("orders", 1, order) }, want: "topic orders has partitions 0 to 0 here, and no 1; Config.Partitions says how many"},
		"idle":       {test: func(p *rttest.Test) { p.Idle("orders", -1) }, want: "and no -1"},
		"sink":       {test: func(p *rttest.Test) { p.Output("totals") }, want: `orders.eo writes no topic "totals"; it writes orders-late, orders.dlq, user-totals`},
		"operator":   {test: func(p *rttest.Test) { p.Count("user_totals/were", "filtered") }, want: `orders.eo has no operator "user_totals/were" that counts; there is `},
		"counter":    {test: func(p *rttest.Test) { p.Count("user_totals/where", "filterd") }, want: `operator user_totals/where counts no "filterd"; it counts filtered`},
		"committed":  {test: func(p *rttest.Test) { p.Committed("totals") }, want: `writes no topic "totals"`},
		"value":      {test: func(p *rttest.Test) { p.Send("orders", make(chan int)) }, want: "a record cannot be sent: json: unsupported type"},
		"no dlq":     {test: func(p *rttest.Test) { p.Send("orders", order); p.End(); p.DeadLetters("user-totals") }, want: "topic user-totals has a record that is no dead letter: {"},
		"results":    {test: func(p *rttest.Test) { p.Send("orders", order); p.End(); rttest.Results[[]int](p, "user-totals") }, want: "record 0 of topic user-totals is no []int: json: cannot unmarshal object"},
		"unexpected": {test: func(p *rttest.Test) { p.Send("orders", order); p.End(); p.Expect("user-totals") }, want: "topic user-totals is not as expected:\n  unexpected {\"user_id\":\"u1\""},
		"behind End": {test: func(p *rttest.Test) { p.Send("orders", order); p.End(); p.Send("orders", order) }, want: "topic orders, partition 0: nothing is read behind End, which has closed all windows"},
		"nearest": {test: func(p *rttest.Test) {
			p.Send("orders", order)
			p.End()
			p.Expect("user-totals", `{"user_id":"u2"}`, `{"user_id":"u1","total":11,"orders":1,"more":0,"window_start":"2026-01-01T00:00:00Z"}`)
		}, want: "\n  missing    {\"user_id\":\"u2\"}\n  missing    {\"user_id\":\"u1\",\"total\":11,\"orders\":1,\"more\":0,\"window_start\":\"2026-01-01T00:00:00Z\"}" +
			"\n             nearest: total is 10, not 11; more is not there; window_end is not expected: it is \"2026-01-01T00:01:00Z\"\n  unexpected {\"user_id\":\"u1\""},
		"refused": {test: func(p *rttest.Test) {
			p.Send("orders", `{"user_id":"u1","amount":"ten"}`, "not JSON")
			p.Expect("user-totals", `{"user_id":"u1"}`)
		}, want: "\n  missing    {\"user_id\":\"u1\"}\n  refused    in topic orders.dlq: amount: not a number (byte 25), and 1 more"},
		"malformed": {test: func(p *rttest.Test) {
			p.Expect("user-totals", `{"user_id":"u1"}`, "{\n  \"user_id\": \"u1\",\n  \"total\": }", `{"user_id":"u1"`, "")
		}, want: "\n  missing    {\"user_id\":\"u1\"}\n  missing    {\n  \"user_id\": \"u1\",\n  \"total\": }" +
			"\n             no JSON, so compared byte by byte: value 2 of 4, line 3, byte 12: invalid character '}' looking for beginning of value" +
			"\n  missing    {\"user_id\":\"u1\"" +
			"\n             no JSON, so compared byte by byte: value 3 of 4, line 1, byte 15: unexpected end of JSON input" +
			"\n  missing    " +
			"\n             no JSON, so compared byte by byte: value 4 of 4, line 1, byte 1: unexpected end of JSON input"},
		"missing": {test: func(p *rttest.Test) { p.Expect("user-totals", `{"a":1}`, nil) }, want: "topic user-totals is not as expected:\n  missing    {\"a\":1}\n  missing    (no value)"},
	} {
		if got := failing(t, orders.Pipeline(), c.cfg, c.test); !strings.Contains(got, c.want) {
			t.Errorf("%s: says %q, want %q", name, got, c.want)
		}
	}
}

// Each way to write a record gives the same one.
func TestSend(t *testing.T) {
	type Order struct {
		UserID string    `json:"user_id"`
		Amount int       `json:"amount"`
		At     time.Time `json:"at"`
	}
	at := time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC)
	for _, r := range []any{order, []byte(order), rttest.Record{Value: []byte(order)}, Order{"u1", 10, at}, rttest.At(at, order)} {
		p := rttest.Start(t, orders.Pipeline())
		p.Send("orders", r)
		p.Send("orders", nil)
		p.End()
		p.Expect("user-totals", `{"orders":1,"total":1e1,"user_id":"u1","window_start":"2026-01-01T00:00:00Z","window_end":"2026-01-01T00:01:00Z"}`)
		if n := p.Count("orders", "null"); n != 1 {
			t.Errorf("%d nulls", n)
		}
	}
	if v := rttest.At(at, nil); v.Time != at {
		t.Error(v)
	}
}

// A crash at any place, with any number of tasks, shows in no result.
func TestCrashesDoNotShow(t *testing.T) {
	for tasks := 1; tasks <= 3; tasks++ {
		p := rttest.Config{Parallelism: tasks, Partitions: map[string]int{"orders": 2}}.Start(t, orders.Pipeline())
		for i := range 20 {
			p.SendTo("orders", i%2, fmt.Sprintf(`{"user_id":"u%d","amount":%d.50,"at":"2026-01-01T00:00:%02dZ"}`, i%3, i, i))
			if i%4 == 0 {
				p.Checkpoint()
			}
			if i%3 == 0 {
				p.Crash()
			}
		}
		p.Idle("orders", 1)
		p.End()
		p.Expect("user-totals", total(0, 7), total(1, 7), total(2, 6))
	}
}

// total is the result for user u of TestCrashesDoNotShow, added up in a loop of its own.
func total(u, orders int) string {
	sum := 0
	for i := u; i < 20; i += 3 {
		sum += 10*i + 5
	}
	return fmt.Sprintf(`{"user_id":"u%d","window_start":"2026-01-01T00:00:00Z","window_end":"2026-01-01T00:01:00Z","total":%d.%d,"orders":%d}`, u, sum/10, sum%10, orders)
}
