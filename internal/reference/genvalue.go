package reference

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/ir"
)

// json makes a value of type t as JSON: an ordinary one, or an odd one, which may be none of t.
func (m *maker) json(t ir.Type) string {
	odd := m.oneIn(m.OddOneIn)
	switch t.Kind {
	case ir.Bool:
		return strconv.FormatBool(m.oneIn(2))
	case ir.String:
		return string(m.quoted(odd))
	case ir.Duration:
		return m.duration(odd)
	case ir.Timestamp:
		return m.moment(m.Start.UnixMicro()+m.Int64N(3600e6), t.Unit)
	}
	if odd {
		if text := choose(m.Rand, oddNumbers); m.bad || valid(t, text) {
			return text
		}
		return m.limit(t)
	}
	switch t.Kind {
	case ir.Int:
		return strconv.Itoa(m.IntN(2000) - 200)
	case ir.Float:
		return strconv.FormatFloat(float64(m.IntN(16_000)-1600)/8, 'g', -1, 64)
	}
	return m.decimal(t)
}

// valid reports whether a source takes text as a t.
func valid(t ir.Type, text string) bool {
	_, err := parseJSON(t.NonNull(), []byte(text))
	return err == nil && json.Valid([]byte(text))
}

// oddNumbers are numbers that some type must take and some must refuse, and some that are none.
var oddNumbers = []string{
	`0`, `-0`, `-0.0`, `1e2`, `1E+2`, `5e-1`, `5e-3`, `50e-3`, `1.005`, `1.500`, `0.010e1`, `0e99999`, `1.0`, `1e400`, `1e-400`,
	`9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `-9223372036854775809`, `9223372036854775807.0`,
	`9007199254740993`, `0.1`, `1.7976931348623157e308`, `4.9e-324`, `1e18`, `1e19`, `999999999999999999`, `1000000000000000000`,
	`99999999999999999999999999999999999999`, `100000000000000000000000000000000000000`, `0.000000000000000000000001e24`,
	`123456789012345678901234567890`, `99999999999999999999e-15`, `100000000000000000000e-20`, `1.0000000000000000000000000000000000000000`,
	`"1"`, `1.`, `.1`, `01`, `-`, `+1`, `1x`, `NaN`, `1.2.3`, `1e`,
}

// limit is the greatest or least value of a number type.
func (m *maker) limit(t ir.Type) string {
	switch t.Kind {
	case ir.Int:
		return []string{"9223372036854775807", "-9223372036854775808"}[m.IntN(2)]
	case ir.Float:
		return []string{"1e300", "-1e-300"}[m.IntN(2)]
	}
	v := pow10(t.Precision)
	v.Sub(v, big.NewInt(1))
	if m.oneIn(2) {
		v.Neg(v)
	}
	return string(appendValue(nil, t, v))
}

// decimal is a number of up to five digits before the point, fewer behind it than the scale at times.
func (m *maker) decimal(t ir.Type) string {
	whole := int64(1)
	for range min(t.Precision-t.Scale, 5) {
		whole *= 10
	}
	text := strconv.FormatInt(m.Int64N(whole), 10)
	if digits := m.IntN(t.Scale + 1); digits > 0 {
		text += "."
		for range digits {
			text += string(rune('0' + m.IntN(10)))
		}
	}
	if m.oneIn(10) {
		text = "-" + text
	}
	return text
}

// text is one of m.Keys keys, of different lengths.
func (m *maker) text() string {
	n := m.IntN(m.Keys)
	switch n % 10 {
	case 0:
		return fmt.Sprintf("a-key-of-more-than-sixteen-bytes-%d", n)
	case 1:
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("key-%d", n)
}

func (m *maker) quoted(odd bool) []byte {
	if odd {
		text := choose(m.Rand, oddTexts)
		if m.bad || valid(ir.Type{Kind: ir.String}, text) {
			return []byte(text)
		}
	}
	text := appendString(nil, m.text())
	if m.oneIn(50) { // its first letter as an escape: the same text
		return fmt.Appendf(nil, `"\u%04X%s`, text[1], text[2:])
	}
	return text
}

var oddTexts = []string{
	`""`, `"Ünï"`, `"\u00dcn\u00ef"`, `"U\u0308"`, `"\ud83d\ude00"`, `"😀"`, `"a\nb\"\\\/"`, `"\b\f\n\r\t"`, "\"\x7f\"", `"\u0000"`, `"\u001f<>&\u2028"`,
	`"null"`, `" "`, `"\ud83d"`, `"\udc00x"`, `"\ud83d_ude00"`, `"\ud83d\u0041"`, "\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", `7`, `["u"]`,
	`"` + strings.Repeat("long ", 200) + `"`,
}

func (m *maker) duration(odd bool) string {
	if odd {
		text := choose(m.Rand, []string{`"0s"`, `"-1h"`, `"1d2h3m4s5ms6us"`, `"1.5s"`, `"90"`, `""`, `"-"`, `60`, `"1ns"`, `"106751991d4h54s775ms807us"`})
		if m.bad || valid(ir.Type{Kind: ir.Duration}, text) {
			return text
		}
	}
	return `"` + durationText(big.NewInt(m.Int64N(10*3600e6))) + `"`
}

// moment writes a time given in microseconds in one of the ways that its type has, rarely an odd one.
func (m *maker) moment(us int64, unit ir.Unit) string {
	if m.oneIn(m.OddOneIn * 5) {
		text := choose(m.Rand, oddTimes)
		if m.bad || valid(ir.Type{Kind: ir.Timestamp, Unit: unit}, text) {
			return text
		}
	}
	if unit != ir.Text {
		return string(appendTime(nil, unit, us))
	}
	at := time.UnixMicro(us).UTC()
	switch m.IntN(8) {
	case 0:
		return `"` + at.In(time.FixedZone("", 60*(m.IntN(1600)-800))).Format(time.RFC3339Nano) + `"`
	case 1:
		return `"` + at.Format("2006-01-02T15:04:05.000000000000Z") + `"`
	case 2:
		return `"` + strings.Replace(at.Format(time.RFC3339Nano), "-", `\u002D`, 1) + `"`
	case 3:
		return `"` + at.Format("2006-01-02T15:04:05.000000") + `999Z"`
	case 4:
		return `"` + at.Format(time.RFC3339) + `"`
	}
	return `"` + at.Format(time.RFC3339Nano) + `"`
}

var oddTimes = []string{
	`"2026-02-29T00:00:00Z"`, `"2024-02-29T00:00:00Z"`, `"2026-13-01T00:00:00Z"`, `"2026-00-10T00:00:00Z"`, `"2026-01-01T24:00:00Z"`,
	`"2026-01-01T00:60:00Z"`, `"2026-01-01T00:00:60Z"`, `"2026-01-01 00:00:00Z"`, `"2026-01-01T00:00:00"`, `"2026-01-01T00:00:00.Z"`,
	`"2026-01-01T00:00:00+24:00"`, `"2026-01-01T00:00:00+0100"`, `"9999-12-31T23:59:59.999999Z"`, `"9999-12-31T23:59:59.9999999+00:00"`,
	`"9999-12-31T23:59:59-00:01"`, `"0001-01-01T00:00:00Z"`, `"0001-01-01T00:00:00+00:01"`, `"0000-12-31T23:59:59-00:01"`,
	`"1969-12-31T23:59:59.9999999Z"`, `"1677-12-31T00:00:00Z"`, `"2026-01-01T00:00:00z"`, `1767225600`, `"2026-1-1T0:0:0Z"`, `"2026-01-01T00:00:00Zz"`,
	`"20é6-01-01T00:00:00Z"`, `"2026-01-01T00:00:00,5Z"`, `-1`, `-1.5`, `1.0`, `1e3`, `0`, `253402300799`, `253402300800`, `-62135596800`, `-62135596801`,
	`253402300799999`, `253402300799999999`, `9223372036854775807`, `1e30`,
}
