package reference

import (
	"fmt"
	"strings"
	"testing"
)

const windowed = `type T { k: string  n: int  at: timestamp }
source src: T from kafka("t") { time at  watermark 5s  on_error skip }
stream s {
  from      src
  window    tumbling 1m by k grace 10s late to late
  aggregate n = count(), sum = sum(n)
  to        out
}
sink out to kafka("out") { key k }
sink late to kafka("late") {}
`

// at makes records {k, n, at} of which only the time of day, or the whole timestamp, matters. A time after a
// slash is the Kafka timestamp.
func at(times ...string) []Record {
	var records []Record
	for i, text := range times {
		event, kafka, found := strings.Cut(text, "/")
		r := Record{Value: fmt.Appendf(nil, `{"k":"a","n":%d,"at":"%s"}`, i+1, moment(event)), Offset: int64(i), Time: stamp}
		if found {
			us, err := parseTime(moment(kafka))
			if err != nil {
				panic(err)
			}
			r.Time = us.Int64()
		}
		records = append(records, r)
	}
	return records
}

func moment(text string) string {
	if !strings.Contains(text, "T") {
		return "2026-01-01T" + text + "Z"
	}
	return text
}

// result is a result of the program windowed.
func result(start, end string, n, sum int) string {
	return fmt.Sprintf(`a {"k":"a","window_start":"%s","window_end":"%s","n":%d,"sum":%d}`, moment(start), moment(end), n, sum)
}

func TestWindows(t *testing.T) {
	// The window [00:00, 00:01) is closed for a partition that has seen 00:01:15: 1 min + 10 s grace + 5 s disorder.
	for _, c := range []struct {
		name       string
		partitions [][]string
		want       []string
		late       int
	}{
		{"start is in, end is not", [][]string{{"00:00:00", "00:00:59.999999", "00:01:00"}},
			[]string{result("00:00:00", "00:01:00", 2, 3), result("00:01:00", "00:02:00", 1, 3)}, 0},
		{"a microsecond before the window is closed", [][]string{{"00:01:14.999999", "00:00:59"}},
			[]string{result("00:00:00", "00:01:00", 1, 2), result("00:01:00", "00:02:00", 1, 1)}, 0},
		{"closed", [][]string{{"00:01:15", "00:00:59"}}, []string{result("00:01:00", "00:02:00", 1, 1)}, 1},
		{"the watermark never moves back", [][]string{{"00:01:15", "00:01:00", "00:00:59"}}, []string{result("00:01:00", "00:02:00", 2, 3)}, 1},
		{"late for one window, not for the next", [][]string{{"00:01:15", "00:00:59", "00:01:00"}},
			[]string{result("00:01:00", "00:02:00", 2, 4)}, 1},
		{"every partition has its own", [][]string{{"00:01:15"}, {"00:00:59"}},
			[]string{result("00:00:00", "00:01:00", 1, 1), result("00:01:00", "00:02:00", 1, 1)}, 0},
		{"before 1970", [][]string{{"1969-12-31T23:58:59.999999Z", "1969-12-31T23:59:00Z", "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z"}},
			[]string{result("1969-12-31T23:58:00Z", "1969-12-31T23:59:00Z", 1, 1), result("1969-12-31T23:59:00Z", "1970-01-01T00:00:00Z", 2, 5),
				result("1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z", 1, 4)}, 0},
		{"the ends of time", [][]string{{"0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"}},
			[]string{result("0001-01-01T00:00:00Z", "0001-01-01T00:01:00Z", 1, 1), result("9999-12-31T23:59:00Z", "9999-12-31T23:59:59.999999Z", 1, 2)}, 0},
		{"ahead of its Kafka timestamp by an hour", [][]string{{"01:00:00/00:00:00", "00:00:59"}},
			[]string{result("01:00:00", "01:01:00", 1, 1)}, 1},
		{"ahead by more: the watermark stays", [][]string{{"01:00:00.000001/00:00:00", "00:00:59"}},
			[]string{result("00:00:00", "00:01:00", 1, 2), result("01:00:00", "01:01:00", 1, 1)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var input [][]Record
			for _, p := range c.partitions {
				input = append(input, at(p...))
			}
			r := Run(graph(t, windowed), Input{"src": input})
			equal(t, "results", r.sink("out"), strings.Join(c.want, "\n"))
			if n := len(r.Sinks["late"]); n != c.late || r.Counts[Counter{"s/window", "late", "t", 0}] != int64(c.late) {
				t.Errorf("%d late, want %d\n%s", n, c.late, r.counts())
			}
		})
	}
}

func TestLateRowsAndTimes(t *testing.T) {
	r := Run(graph(t, windowed), Input{"src": {at("00:01:15", "00:00:59")}})
	equal(t, "late", r.sink("late"), `{"k":"a","n":2,"at":"2026-01-01T00:00:59Z"}`)
	// A result has the time end - 1 ms, a late row its own.
	if got := r.Sinks["out"][0].Time; got != stamp/1000+120_000-1 {
		t.Errorf("result: %d", got)
	}
	if got := r.Sinks["late"][0].Time; got != stamp/1000+59_000 {
		t.Errorf("late: %d", got)
	}
	// A window in the past of Kafka's clock is written as of 1970.
	r = Run(graph(t, windowed), Input{"src": {at("1969-01-01T00:00:00Z")}})
	if got := r.Sinks["out"][0].Time; got != 0 {
		t.Errorf("before 1970: %d", got)
	}
	equal(t, "counts", Run(graph(t, windowed), Input{"src": {at("03:00:00/00:00:00", "00:00:00"), at("00:01:15", "00:00:59")}}).counts(), `
		s/window aggregated 0: 2
		s/window aggregated 1: 1
		s/window late 1: 1
		src ahead 0: 1`)
}

// TestOffset: windows begin at offset + n × size.
func TestOffset(t *testing.T) {
	text := strings.Replace(windowed, "grace 10s", "offset 15s", 1)
	r := Run(graph(t, text), Input{"src": {at("00:00:14", "00:00:15", "00:01:14")}})
	equal(t, "results", r.sink("out"), strings.Join([]string{
		result("2025-12-31T23:59:15Z", "00:00:15", 1, 1), result("00:00:15", "00:01:15", 2, 5)}, "\n"))
	text = strings.Replace(text, "1m", "7m", 1)
	r = Run(graph(t, text), Input{"src": {at("1970-01-01T00:00:14Z", "1970-01-01T00:00:15Z")}})
	equal(t, "results", r.sink("out"), strings.Join([]string{
		result("1969-12-31T23:53:15Z", "1970-01-01T00:00:15Z", 1, 1), result("1970-01-01T00:00:15Z", "1970-01-01T00:07:15Z", 1, 2)}, "\n"))
}

// TestTimestampAsTime: without a time the Kafka timestamp counts, and windows need one.
func TestTimestampAsTime(t *testing.T) {
	text := strings.Replace(windowed, "time at ", "", 1)
	records := at("05:00:00/00:01:15", "05:00:00/00:00:59", "05:00:00/00:01:00")
	records[2].Time = NoTime
	r := Run(graph(t, text), Input{"src": {records}})
	equal(t, "results", r.sink("out"), result("00:01:00", "00:02:00", 1, 1))
	equal(t, "counts", r.counts(), "s/window aggregated 0: 1\ns/window late 0: 1\nsrc rejected 0: 1")
}

// TestRejectedRecordsMoveNoWatermark, but filtered ones do.
func TestRejectedRecordsMoveNoWatermark(t *testing.T) {
	records := at("00:01:15", "00:00:59")
	records[0].Value = []byte(strings.Replace(string(records[0].Value), `"n":1`, `"n":"one"`, 1))
	r := Run(graph(t, windowed), Input{"src": {records}})
	equal(t, "results", r.sink("out"), result("00:00:00", "00:01:00", 1, 2))

	filtered := strings.Replace(windowed, "  window", "  where n > 1\n  window", 1)
	r = Run(graph(t, filtered), Input{"src": {at("00:01:15", "00:00:59")}})
	equal(t, "counts", r.counts(), "s/where filtered 0: 1\ns/window late 0: 1")
}

func TestInputThatGoesOn(t *testing.T) {
	// W is the least watermark of the partitions: 00:01:10 at 00:01:15 with 5 s of disorder.
	first := result("00:00:00", "00:01:00", 2, 2)
	for _, c := range []struct {
		name       string
		partitions [][]string
		want       string
	}{
		{"W has not passed", [][]string{{"00:00:01", "00:01:14.999999"}, {"00:00:01", "00:03:00"}}, ""},
		{"W has passed", [][]string{{"00:00:01", "00:01:15"}, {"00:00:01", "00:03:00"}}, first},
		{"a partition without records is idle", [][]string{{"00:00:01", "00:01:15"}, {"00:00:01", "00:03:00"}, {}}, first},
	} {
		t.Run(c.name, func(t *testing.T) {
			var input [][]Record
			for _, p := range c.partitions {
				input = append(input, at(p...))
			}
			equal(t, "results", RunOn(graph(t, windowed), Input{"src": input}).sink("out"), c.want)
		})
	}
}
