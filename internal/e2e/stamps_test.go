//go:build unix

package e2e

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/reference"
)

// stampsText has two sources without more in common: in one the Kafka timestamp is the event time, in the other skew compares the two.
const stampsText = `type Reading {
  id: string
  at: timestamp(ms)
}

source stamped: Reading from kafka("stamped") {
  watermark 0s
  on_error  dlq("stamped.dlq")
}

source dated: Reading from kafka("dated") {
  time      at
  watermark 0s
  skew      1h
}

stream by_stamp {
  from      stamped
  window    tumbling 1h by id
  aggregate readings = count()
  to        stamps
}

stream by_date {
  from      dated
  window    tumbling 1h by id
  aggregate readings = count()
  to        dates
}

sink stamps to kafka("stamps") {
  key id
}

sink dates to kafka("dates") {
  key id
}
`

// TestKafkaTimesOfOthers: a client that is not eoc's writes Kafka timestamps of all years, and some that are no time at all. They are event times as they stand
// in the log, and what skew compares with; what no event time can be is a fault of the record.
func TestKafkaTimesOfOthers(t *testing.T) {
	t.Parallel()
	r := alone(t, "stamps", stampsText, 1)
	day := func(year int) time.Time { return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC) }
	ms := func(year int) int64 { return day(year).UnixMilli() }
	const faults = 6
	stamped := []int64{
		ms(-9999), ms(1) - 1, -1, // faults
		ms(1), ms(1677), ms(1678), ms(1969), ms(1970), ms(2026), ms(2262), ms(2263), ms(9999), ms(10_000) - 1,
		ms(10_000), day(2026).UnixNano(), math.MaxInt64, // faults
	}
	dated := []struct{ stamp, at int64 }{
		{ms(2020), ms(2020)},
		{ms(1677), ms(2022)}, // ahead, so that what follows is not late
		{ms(2021), ms(2021)},
		{ms(2263), ms(2023)}, // not ahead, so that what follows is late, here and below
		{ms(2022), ms(2022)},
		{ms(1), ms(2025)}, // ahead
		{ms(9999), ms(2024)},
		{ms(2023), ms(2023)},
		{math.MaxInt64, ms(2025)},
		{ms(2024), ms(2024)},
	}
	input := reference.Input{"stamped": {nil}, "dated": {nil}}
	send := func(source string, stamps []int64, at func(i int) int64) {
		var values [][]byte
		for i, stamp := range stamps {
			value := fmt.Appendf(nil, `{"id":"%d","at":%d}`, i, at(i))
			values = append(values, value)
			input[source][0] = append(input[source][0], reference.Record{Value: value, Offset: int64(i), Time: kafkaMicros(stamp)})
		}
		r.broker.ProduceStamped(t, r.topics[source], 0, stamps, values)
	}
	send("stamped", stamped, func(int) int64 { return 0 })
	var stamps []int64
	for _, d := range dated {
		stamps = append(stamps, d.stamp)
	}
	send("dated", stamps, func(i int) int64 { return dated[i].at })
	r.load.want = reference.Run(r.graph, input)
	p := r.start(t, "EO_UNTIL=latest")
	exits(t, p, 0)
	r.judge(t, p)

	// That the reference says so is not taken on trust.
	counts := r.counted(t, p)
	for name, want := range map[string]int64{"stamped rejected stamped": faults, "dated ahead dated": 2, "by_date/window late dated": 3} {
		var c reference.Counter
		if _, err := fmt.Sscan(name, &c.Operator, &c.Name, &c.Topic); err != nil {
			t.Fatal(err)
		}
		if counts[c] != want {
			t.Errorf("the count %s is %d, want %d", name, counts[c], want)
		}
	}
	if got := len(r.broker.ReadCommitted(t, r.topics["stamps"])); got != len(stamped)-faults {
		t.Errorf("%d windows by Kafka timestamp, want %d", got, len(stamped)-faults)
	}
}

// kafkaMicros is a Kafka timestamp as the reference has it.
func kafkaMicros(ms int64) int64 {
	const perMilli = 1000
	switch {
	case ms == -1:
		return reference.NoTime
	case ms > math.MaxInt64/perMilli:
		return math.MaxInt64
	}
	return ms * perMilli
}
