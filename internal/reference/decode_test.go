package reference

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/ir"
)

// TestJSONValues says for each type which texts it takes, and how they are written again.
func TestJSONValues(t *testing.T) {
	decimal := ir.Type{Kind: ir.Decimal, Precision: 6, Scale: 2}
	wide := ir.Type{Kind: ir.Decimal, Precision: 38, Scale: 2}
	for _, c := range []struct {
		t        ir.Type
		in, want string // "" for one that is refused
	}{
		{ir.Type{Kind: ir.Bool}, `true`, `true`},
		{ir.Type{Kind: ir.Bool}, `"true"`, ``},
		{ir.Type{Kind: ir.Bool}, `1`, ``},

		{ir.Type{Kind: ir.Int}, `1`, `1`},
		{ir.Type{Kind: ir.Int}, `1.0`, `1`},
		{ir.Type{Kind: ir.Int}, `1e3`, `1000`},
		{ir.Type{Kind: ir.Int}, `12.5e1`, `125`},
		{ir.Type{Kind: ir.Int}, `-0`, `0`},
		{ir.Type{Kind: ir.Int}, `0e999999`, `0`},
		{ir.Type{Kind: ir.Int}, `9223372036854775807`, `9223372036854775807`},
		{ir.Type{Kind: ir.Int}, `-9223372036854775808`, `-9223372036854775808`},
		{ir.Type{Kind: ir.Int}, `9223372036854775808`, ``},
		{ir.Type{Kind: ir.Int}, `9007199254740993`, `9007199254740993`}, // no float in between
		{ir.Type{Kind: ir.Int}, `1.5`, ``},
		{ir.Type{Kind: ir.Int}, `1e-1`, ``},
		{ir.Type{Kind: ir.Int}, `1e999999`, ``},
		{ir.Type{Kind: ir.Int}, `"1"`, ``},
		{ir.Type{Kind: ir.Int}, `true`, ``},

		{ir.Type{Kind: ir.Float}, `1`, `1`},
		{ir.Type{Kind: ir.Float}, `-0.0`, `-0`},
		{ir.Type{Kind: ir.Float}, `0.1`, `0.1`},
		{ir.Type{Kind: ir.Float}, `1e21`, `1e+21`},
		{ir.Type{Kind: ir.Float}, `0.0000001`, `1e-7`},
		{ir.Type{Kind: ir.Float}, `1e-400`, `0`},
		{ir.Type{Kind: ir.Float}, `1e400`, ``},
		{ir.Type{Kind: ir.Float}, `"1"`, ``},

		{decimal, `1`, `1.00`},
		{decimal, `1.5`, `1.50`},
		{decimal, `1.500`, `1.50`},
		{decimal, `1e2`, `100.00`},
		{decimal, `-0.01`, `-0.01`},
		{decimal, `-0`, `0.00`},
		{decimal, `5e-2`, `0.05`},
		{decimal, `1.005`, ``}, // never rounded
		{decimal, `9999.99`, `9999.99`},
		{decimal, `10000`, ``},
		{decimal, `"1.5"`, ``},
		{decimal, `0.00000000000000000001e20`, `1.00`},
		{wide, `999999999999999999999999999999999999.99`, `999999999999999999999999999999999999.99`},
		{wide, `-1000000000000000000000000000000000000`, ``},

		{ir.Type{Kind: ir.String}, `""`, `""`},
		{ir.Type{Kind: ir.String}, `"a\"\\\/\b\f\n\r\t"`, `"a\"\\/\u0008\u000c\n\r\t"`},
		{ir.Type{Kind: ir.String}, `"\u00fc<>& \u2028"`, "\"ü<>& \u2028\""},
		{ir.Type{Kind: ir.String}, `"\ud83d\ude00"`, `"😀"`},
		{ir.Type{Kind: ir.String}, `"\\ud83d"`, `"\\ud83d"`},
		{ir.Type{Kind: ir.String}, `"\u0000"`, `"\u0000"`},
		{ir.Type{Kind: ir.String}, `"U\u0308"`, "\"U\u0308\""}, // not normalised
		{ir.Type{Kind: ir.String}, `"\ud83d"`, ``},
		{ir.Type{Kind: ir.String}, `"\ude00\ud83d"`, ``},
		{ir.Type{Kind: ir.String}, `"\ud83d\ud83d\ude00"`, ``},
		{ir.Type{Kind: ir.String}, "\"\xff\"", ``},
		{ir.Type{Kind: ir.String}, "\"\xed\xa0\x80\"", ``},
		{ir.Type{Kind: ir.String}, `7`, ``},

		{ir.Type{Kind: ir.Timestamp}, `"2026-01-01T00:00:00Z"`, `"2026-01-01T00:00:00Z"`},
		{ir.Type{Kind: ir.Timestamp}, `"2026-01-01T01:00:00.120+01:00"`, `"2026-01-01T00:00:00.12Z"`},
		{ir.Type{Kind: ir.Timestamp}, `"2026-01-01T00:00:00.1234569Z"`, `"2026-01-01T00:00:00.123456Z"`},
		{ir.Type{Kind: ir.Timestamp}, `"1969-12-31T23:59:59.9999999Z"`, `"1969-12-31T23:59:59.999999Z"`}, // the past
		{ir.Type{Kind: ir.Timestamp}, `"9999-12-31T23:59:59.999999Z"`, `"9999-12-31T23:59:59.999999Z"`},
		{ir.Type{Kind: ir.Timestamp}, `"9999-12-31T23:59:59-00:01"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `"0001-01-01T00:00:00Z"`, `"0001-01-01T00:00:00Z"`},
		{ir.Type{Kind: ir.Timestamp}, `"0001-01-01T00:00:00+00:01"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `"0000-12-31T23:59:59-00:01"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `"2026-02-29T00:00:00Z"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `"2026-01-01T00:00:60Z"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `"2026-01-01T24:00:00Z"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `"2026-01-01T0:00:00Z"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `"2026-01-01T00:00:00,5Z"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `"2026-01-01T00:00:00"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `"2026-01-01t00:00:00z"`, ``},
		{ir.Type{Kind: ir.Timestamp}, `1767225600`, ``},
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Seconds}, `1767225600`, `1767225600`},
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Millis}, `-1`, `-1`},
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Millis}, `1.5e3`, `1500`},
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Millis}, `1.5`, ``},
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Nanos}, `1999`, `1000`},
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Nanos}, `-1`, `-1000`}, // towards the past
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Nanos}, `253402300799999999999`, `253402300799999999000`},
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Seconds}, `253402300799`, `253402300799`},
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Seconds}, `253402300800`, ``},
		{ir.Type{Kind: ir.Timestamp, Unit: ir.Millis}, `"2026-01-01T00:00:00Z"`, ``},

		{ir.Type{Kind: ir.Duration}, `"1m30s"`, `"1m30s"`},
		{ir.Type{Kind: ir.Duration}, `"90s"`, `"1m30s"`},
		{ir.Type{Kind: ir.Duration}, `"25h"`, `"1d1h"`},
		{ir.Type{Kind: ir.Duration}, `"-1ms2us"`, `"-1ms2us"`},
		{ir.Type{Kind: ir.Duration}, `"0h"`, `"0s"`},
		{ir.Type{Kind: ir.Duration}, `"1s1m"`, ``},
		{ir.Type{Kind: ir.Duration}, `"1s1s"`, ``},
		{ir.Type{Kind: ir.Duration}, `"1.5s"`, ``},
		{ir.Type{Kind: ir.Duration}, `"-"`, ``},
		{ir.Type{Kind: ir.Duration}, `""`, ``},
		{ir.Type{Kind: ir.Duration}, `"106751991d4h54s775ms807us"`, `"106751991d4h54s775ms807us"`},
		{ir.Type{Kind: ir.Duration}, `"106751991d4h54s775ms808us"`, ``},
		{ir.Type{Kind: ir.Duration}, `90`, ``},
	} {
		got := ""
		v, err := parseJSON(c.t, []byte(c.in))
		if err == nil {
			got = string(appendValue(nil, c.t, v))
		}
		if got != c.want {
			t.Errorf("%s of %s: got %s (%v), want %s", c.t, c.in, got, err, c.want)
		}
	}
}

// TestRecords: what makes a record good or bad as a whole.
func TestRecords(t *testing.T) {
	row := ir.Row{
		{Name: "a", Type: ir.Type{Kind: ir.Int}},
		{Name: "b", Type: ir.Type{Kind: ir.Int, Null: true}},
		{Name: "c", Type: ir.Type{Kind: ir.Int}, Default: &ir.Const{Value: int64(7), T: ir.Type{Kind: ir.Int}}},
		{Name: "d", Type: ir.Type{Kind: ir.Int, Null: true}, Default: &ir.Const{Value: int64(8), T: ir.Type{Kind: ir.Int}}},
		{Name: "unused", Type: ir.Type{Kind: ir.Int}},
	}
	for _, c := range []struct{ value, want string }{
		{`{"a":1,"b":2,"c":3,"d":4}`, "1 2 3 4"},
		{` { "d" : 4 , "c" : 3 , "b" : 2 , "a" : 1 } `, "1 2 3 4"},
		{`{"a":1}`, "1 <nil> 7 8"},
		{`{"a":1,"b":null,"c":null,"d":null}`, "1 <nil> 7 8"},
		{`{"\u0061":1}`, "1 <nil> 7 8"},
		{`{"a":1,"A":[2,{"a":null}],"x":"\ud800","y":1e999}`, "1 <nil> 7 8"},
		{"{\"a\":1,\"z\":\"\xff\",\"\xff\":0,\"\\ud800\":0}", "1 <nil> 7 8"},
		{`{"a":1,"x":1,"x":2}`, "1 <nil> 7 8"},
		{`{"a":1,"unused":"no int","unused":1}`, "1 <nil> 7 8"},
		{`{"a":1,"b":2,"b":2}`, "b: given twice"},
		{`{"a":1,"\u0061":1}`, "a: given twice"},
		{`{"a":1,"b":2,"b":null}`, "b: given twice"},
		{`{"b":1}`, "a: missing"},
		{`{"a":null}`, "a: null"},
		{`{"A":1}`, "a: missing"},
		{`{}`, "a: missing"},
		{``, "not JSON"},
		{` `, "not JSON"},
		{`null`, "not a JSON object"},
		{`[]`, "not a JSON object"},
		{`"a"`, "not a JSON object"},
		{`{"a":1`, "not JSON"},
		{`{"a":1}}`, "not JSON"},
		{`{"a":1} x`, "not JSON"},
		{`{"a":1,}`, "not JSON"},
		{`{"a":01}`, "not JSON"},
		{`{"a":1,"x":"\x"}`, "not JSON"},
		{"{\"a\":1,\"x\":\"\x01\"}", "not JSON"},
		{"\xef\xbb\xbf{\"a\":1}", "not JSON"},
	} {
		got := ""
		v, err := decode(row, []int{0, 1, 2, 3}, []byte(c.value))
		if err != nil {
			got = err.Error()
		} else {
			got = strings.Trim(fmt.Sprint(v[:4]), "[]")
			if v[4] != nil {
				t.Errorf("%s: a field that is not used was read", c.value)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.value, got, c.want)
		}
	}
}

func TestHalfEven(t *testing.T) {
	for _, c := range []struct{ x, y, want int64 }{
		{5, 10, 0}, {15, 10, 2}, {25, 10, 2}, {35, 10, 4}, {26, 10, 3}, {24, 10, 2}, {-5, 10, 0}, {-15, 10, -2}, {-25, 10, -2}, {-26, 10, -3},
		{25, -10, -2}, {1, 3, 0}, {2, 3, 1}, {-2, 3, -1}, {6, 3, 2}, {0, 7, 0},
	} {
		if got := halfEven(big.NewInt(c.x), big.NewInt(c.y)); got.Int64() != c.want {
			t.Errorf("%d / %d = %s, want %d", c.x, c.y, got, c.want)
		}
	}
}
