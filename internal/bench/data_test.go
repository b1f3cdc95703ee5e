//go:build unix

package bench

import (
	"fmt"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// partitions is how many partitions each topic has.
const partitions = 4

// users is how many different keys the records have.
const users = 100_000

// firstEvent is the event time of the first record.
var firstEvent = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)

// workload is an example with its input.
type workload struct {
	example string
	inputs  []string // topics that it reads, with equal shares of the records
	outputs []string // topics that it writes
	// perMilli is how many records there are to a millisecond of event time when a topic is drained: so many that a
	// user has about ten in a window.
	perMilli int
	// append makes a record's value of about 200 bytes: number n, of a user, with its event time.
	append func(b []byte, n, user int, at time.Time) []byte
	// wait is how far event time has to go on behind the time of a result before it is due: to the end of the window, and beyond
	// by its grace and the disorder of the sources.
	wait time.Duration
	// speed is how many times faster than the clock event time passes when latency is measured. Windows close every 0.6 to 0.8 s
	// then, which is no divisor of the checkpoint interval: so they close at all moments between two checkpoints.
	speed int
}

var workloads = []workload{
	{
		example: "orders", perMilli: 16, inputs: []string{"orders"}, outputs: []string{"user-totals", "orders-late", "orders.dlq"},
		append: func(b []byte, n, user int, at time.Time) []byte {
			b = fmt.Appendf(b, `{"order_id":"%08x-6c1d-4b5e","user_id":"user-%06d","amount":%d.%02d,"currency":"EUR",`, n, user, 1+n%400, n%100)
			return fmt.Appendf(b, `"at":"%s","channel":"web","items":%d,"ship":{"country":"DE","zip":"%05d"}}`, at.Format(millis), 1+n%5, user%90000)
		},
		wait: time.Millisecond + 10*time.Second + 5*time.Second, speed: 97,
	},
	{
		example: "clicks", perMilli: 16, inputs: []string{"clicks"}, outputs: []string{"page-views", "page-views-slow", "clicks.dlq"},
		append: func(b []byte, n, user int, at time.Time) []byte {
			b = fmt.Appendf(b, `{"id":"%08x-6c1d-4b5e","user_id":"user-%06d","page":"/shop/item/%d","referrer":"https://example.com/",`, n, user, n%5000)
			return fmt.Appendf(b, `"status":200,"latency_ms":%d.5,"agent":"Mozilla/5.0 (X11; Linux x86_64)","at":%d}`, n%900, at.UnixMilli())
		},
		speed: 1,
	},
	{
		example: "payments", perMilli: 3, inputs: []string{"payments.card", "payments.bank"}, outputs: []string{"merchant-turnover", "payments-late", "payments.dlq"},
		append: func(b []byte, n, user int, at time.Time) []byte {
			b = fmt.Appendf(b, `{"id":"%08x-6c1d-4b5e-9e55","merchant":"merchant-%06d","currency":"EUR","amount":%d.%02d,`, n, user, 10+n%400, n%100)
			return fmt.Appendf(b, `"at":"%s","terminal":"T-%06d","reference":"invoice 4711 of May","country":"DE"}`, at.Format(millis), n%7000)
		},
		wait: time.Millisecond + 30*time.Second + 30*time.Second, speed: 411,
	},
}

// millis is RFC 3339 with milliseconds.
const millis = "2006-01-02T15:04:05.000Z07:00"

// spread is a user for a record number: every user comes as often as any other, in no order.
func spread(n int) int { return int(uint64(n) * 0x9E3779B97F4A7C15 >> 20 % users) }

// record makes record number n with the given event time, for the partition that is its turn.
func (w workload) record(n int, at time.Time) kafkatest.Record {
	user := spread(n)
	return kafkatest.Record{
		Partition: int32(n % partitions), Key: fmt.Appendf(nil, "user-%06d", user), Value: w.append(nil, n, user, at), Time: at,
	}
}

// inputOf is the topic that record number n goes to.
func (w workload) inputOf(n int) string { return w.inputs[n/partitions%len(w.inputs)] }
