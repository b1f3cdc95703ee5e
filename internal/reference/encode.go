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

// sinkKey is the key of a record: none is null, one string its bytes, another scalar its JSON text,
// several a JSON array.
func sinkKey(key []ir.Named, values []any) ([]byte, error) {
	parts := make([]any, len(key))
	for i, k := range key {
		v, err := evaluate(k.Expr, values)
		if err != nil {
			return nil, err
		}
		parts[i] = v
	}
	switch {
	case len(parts) == 0 || len(parts) == 1 && parts[0] == nil:
		return nil, nil
	case len(parts) > 1:
		b := []byte{'['}
		for i, v := range parts {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, key[i].Expr.Type(), v)
		}
		return append(b, ']'), nil
	}
	if s, ok := parts[0].(string); ok {
		return []byte(s), nil
	}
	return appendValue(nil, key[0].Expr.Type(), parts[0]), nil
}

// appendRow writes a row as a JSON object, fields in order, without blanks.
func appendRow(b []byte, r ir.Row, values []any) []byte {
	b = append(b, '{')
	for i, f := range r {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, f.Name), ':')
		b = appendValue(b, f.Type, values[i])
	}
	return append(b, '}')
}

// appendValue writes a value as JSON.
func appendValue(b []byte, t ir.Type, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendString(b, v)
	case float64:
		text, err := json.Marshal(v) // shortest
		if err != nil {
			panic(err)
		}
		return append(b, text...)
	case *big.Int:
		switch t.Kind {
		case ir.Int:
			return v.Append(b, 10)
		case ir.Decimal:
			return append(b, new(big.Rat).SetFrac(v, pow10(t.Scale)).FloatString(t.Scale)...)
		case ir.Timestamp:
			return appendTime(b, t.Unit, v.Int64())
		case ir.Duration:
			return append(append(append(b, '"'), durationText(v)...), '"')
		}
	}
	panic(fmt.Sprintf("reference: %T as %s", v, t))
}

// appendString escapes what JSON demands and nothing else.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// appendTime writes RFC 3339 text in UTC with as many digits as it needs, or an integer in the unit, finer digits
// dropped towards the past. What lies beyond the years 1 to 9999, the end of the last window, is written
// as the last time within.
func appendTime(b []byte, unit ir.Unit, us int64) []byte {
	us = max(firstTime, min(us, lastTime))
	switch unit {
	case ir.Seconds:
		return strconv.AppendInt(b, floorDiv(us, 1e6), 10)
	case ir.Millis:
		return strconv.AppendInt(b, floorDiv(us, 1e3), 10)
	case ir.Micros:
		return strconv.AppendInt(b, us, 10)
	case ir.Nanos:
		i := big.NewInt(us)
		return i.Mul(i, big.NewInt(1000)).Append(b, 10)
	}
	return time.UnixMicro(us).UTC().AppendFormat(b, `"2006-01-02T15:04:05.999999Z"`)
}

// durationText writes 1m30s: the units from days down, those that are zero left out.
func durationText(us *big.Int) string {
	if us.Sign() == 0 {
		return "0s"
	}
	var text strings.Builder
	if us.Sign() < 0 {
		text.WriteByte('-')
	}
	left := new(big.Int).Abs(us)
	for _, unit := range []string{"d", "h", "m", "s", "ms", "us"} {
		n := new(big.Int)
		n.DivMod(left, big.NewInt(durationUnit[unit]), left)
		if n.Sign() > 0 {
			text.WriteString(n.String() + unit)
		}
	}
	return text.String()
}
