package reference

import (
	"strings"
	"testing"
)

// TestExpressions evaluates each expression over one record. "" stands for a record error.
func TestExpressions(t *testing.T) {
	const record = `{"i":7,"min":-9223372036854775808,"max":9223372036854775807,"zero":0,"f":2.5,"big":1e308,"d":10.25,"e":3.5,` +
		`"w":99999999999999999999999999999999999999,"s":"12","text":"ab","at":"2026-01-01T00:00:00Z","end":"9999-12-31T23:59:59Z","l":"1h30m","no":false}`
	const fields = `type T { i: int  min: int  max: int  zero: int  f: float  big: float  d: decimal(6, 2)  e: decimal(4, 1)  w: decimal(38, 0)
  s: string  text: string  at: timestamp  end: timestamp  l: duration  no: bool  n: int?  ns: string? }
source src: T from kafka("t") { on_error skip }
stream s { from src  select v = EXPR  to out }
sink out to kafka("out") {}
`
	for _, c := range []struct{ expr, want string }{
		// int
		{"i + 1", "8"}, {"i - 10", "-3"}, {"i * i", "49"}, {"i / 2", "3"}, {"-i / 2", "-3"}, {"-i % 4", "-3"}, {"i % -4", "3"},
		{"max + 1", ""}, {"min - 1", ""}, {"max * 2", ""}, {"min / -1", ""}, {"min % -1", "0"}, {"-min", ""}, {"-max", "-9223372036854775807"},
		{"i / zero", ""}, {"i % zero", ""},
		// float
		{"f + 1.5", "4"}, {"f * f", "6.25"}, {"f / 2", "1.25"}, {"-f", "-2.5"}, {"f % 2", "0.5"}, {"-f % 2", "-0.5"},
		{"big * 10", ""}, {"f / float(zero)", ""}, {"f % float(zero)", ""}, {"f + float(d)", "12.75"},
		// decimal: exact, but for division
		{"d + e", "13.75"}, {"d - e", "6.75"}, {"d * e", "35.875"}, {"-d", "-10.25"}, {"d % e", "3.25"}, {"-d % e", "-3.25"},
		{"d / e", "2.928571"}, {"d / decimal(zero, 1, 0)", ""}, {"d % decimal(zero, 1, 0)", ""}, {"w + 1", ""}, {"w * 10", ""}, {"i + d", "17.25"},
		{"decimal(1, 2, 0) / 8", "0.125000"}, {"decimal(5, 2, 0) / 1000000", "0.000005"}, {"decimal(5, 2, 0) / 10000000", "0.000000"},
		{"decimal(15, 2, 0) / 10000000", "0.000002"}, {"decimal(25, 2, 0) / 10000000", "0.000002"},
		// time
		{"end - at", `"2912442d23h59m59s"`}, {"at + l", `"2026-01-01T01:30:00Z"`}, {"at - l", `"2025-12-31T22:30:00Z"`}, {"end + l", ""},
		{"l + l", `"3h"`}, {"l - l", `"0s"`}, {"-l", `"-1h30m"`}, {"l * 3", `"4h30m"`}, {"l / 7", `"12m51s428ms571us"`}, {"l / zero", ""}, {"l * max", ""},
		// comparison and logic
		{"i == 7", "true"}, {"i != 7", "false"}, {"d > 10.2", "true"}, {"d >= 10.25", "true"}, {"f < 2.5", "false"}, {"f <= 2.5", "true"},
		{`text < "b"`, "true"}, {`text == "AB"`, "false"}, {"at < end", "true"}, {"l > 1h", "true"}, {"!no", "true"},
		{"no && 1 / zero == 1", "false"}, {"!no || 1 / zero == 1", "true"}, {"!no && 1 / zero == 1", ""},
		{"i in [1, 7]", "true"}, {"i not in [1, 7]", "false"}, {`text in ["a", "b"]`, "false"}, {"i in [7, 1 / zero]", "true"},
		// null
		{"n", "null"}, {"n ?? 3", "3"}, {"n ?? i", "7"}, {"n is null", "true"}, {"n is not null", "false"},
		{"n ?? 1 / zero", ""}, {"if n is not null then n else 0", "0"}, {"if no then 1 / zero else 2", "2"}, {"if no then i else n", "null"},
		// casts
		{"int(f)", "2"}, {"int(-f)", "-2"}, {"int(d)", "10"}, {"int(-d)", "-10"}, {"int(no)", "0"}, {"int(s)", "12"}, {"int(text)", ""}, {"int(big)", ""}, {"int(w)", ""},
		{`int("1e3")`, "1000"}, {`int("1.0")`, "1"}, {`int("+1")`, ""}, {`int("01")`, ""}, {`int(" 1")`, ""}, {`int("1.5")`, ""},
		{"float(i)", "7"}, {"float(d)", "10.25"}, {"float(s)", "12"}, {"float(text)", ""}, {`float("1e999")`, ""}, {"float(max)", "9223372036854776000"},
		{"decimal(i, 3, 1)", "7.0"}, {"decimal(i, 1, 0)", "7"}, {"decimal(max, 18, 0)", ""}, {"decimal(f, 3, 0)", "2"}, {"decimal(f + 1, 3, 0)", "4"}, {"decimal(d, 3, 1)", "10.2"},
		{"decimal(d, 2, 1)", ""}, {"decimal(s, 4, 1)", "12.0"}, {`decimal("2.25", 4, 1)`, "2.2"}, {`decimal("2.35", 4, 1)`, "2.4"}, {"decimal(text, 4, 1)", ""},
		{"decimal(2.675e0 * f / f, 4, 2)", "2.67"}, {"decimal(big, 38, 0)", ""},
		{"string(i)", `"7"`}, {"string(d)", `"10.25"`}, {"string(f)", `"2.5"`}, {"string(no)", `"false"`}, {"string(at)", `"2026-01-01T00:00:00Z"`}, {"string(l)", `"1h30m"`},
		{"timestamp(string(at))", `"2026-01-01T00:00:00Z"`}, {"timestamp(text)", ""},
		{"string(n)", "null"}, {"int(ns)", "null"},
	} {
		t.Run(c.expr, func(t *testing.T) {
			r := Run(graph(t, strings.Replace(fields, "EXPR", c.expr, 1)), Input{"src": {values(record)}})
			got := r.sink("out")
			want := `{"v":` + c.want + `}`
			if c.want == "" {
				want = ""
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if c.want == "" && r.counts() != "s/select rejected 0: 1" {
				t.Errorf("counts %s", r.counts())
			}
		})
	}
}
