package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// decode reads the used fields of a record. The values of the others stay nil.
func decode(r ir.Row, used []int, value []byte) ([]any, error) {
	members, err := objectMembers(value)
	if err != nil {
		return nil, err
	}
	values := make([]any, len(r))
	for _, i := range used {
		f := r[i]
		given := members[f.Name]
		if len(given) > 1 {
			return nil, fmt.Errorf("%s: given twice", f.Name)
		}
		switch {
		case len(given) == 1 && string(given[0]) != "null":
			if values[i], err = parseJSON(f.Type.NonNull(), given[0]); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		case f.Default != nil:
			values[i] = constant(f.Default)
		case !f.Type.Null && len(given) == 1:
			return nil, fmt.Errorf("%s: null", f.Name)
		case !f.Type.Null:
			return nil, fmt.Errorf("%s: missing", f.Name)
		}
	}
	return values, nil
}

// objectMembers reads a JSON object: all values of each name, in order. encoding/json alone would keep the
// last of several and take names in any case.
func objectMembers(value []byte) (map[string][]json.RawMessage, error) {
	if !json.Valid(value) {
		return nil, errors.New("not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(value))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	members := map[string][]json.RawMessage{}
	for d.More() {
		name, err := memberName(d, value)
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		members[name] = append(members[name], raw)
	}
	return members, nil
}

// memberName reads the next name. One that is no text is no name of a field; encoding/json would make
// replacement characters of it.
func memberName(d *json.Decoder, value []byte) (string, error) {
	start := d.InputOffset()
	t, err := d.Token()
	if err != nil {
		return "", err
	}
	raw := value[start:d.InputOffset()]
	raw = raw[bytes.IndexByte(raw, '"'):]
	if _, err := parseString(raw); err != nil {
		return "\xff", nil
	}
	return t.(string), nil
}

// parseJSON reads a value that is not null.
func parseJSON(t ir.Type, raw []byte) (any, error) {
	switch t.Kind {
	case ir.Bool:
		switch string(raw) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, errors.New("not a bool")
	case ir.Int:
		return parseInt(raw)
	case ir.Float:
		if !isNumber(raw) {
			return nil, errors.New("not a number")
		}
		return parseFloat(string(raw))
	case ir.Decimal:
		if !isNumber(raw) {
			return nil, errors.New("not a number")
		}
		return parseDecimal(string(raw), t)
	case ir.Timestamp:
		return parseTimestamp(raw, t.Unit)
	}
	s, err := parseString(raw)
	if err != nil || t.Kind == ir.String {
		return s, err
	}
	return parseDuration(s)
}

var halfPair = regexp.MustCompile(`(?i)\\ud[89ab]..(\\ud[c-f]..)?|\\ud[c-f]..`)

// parseString reads a JSON string. What is not UTF-8, or half a surrogate pair, is refused.
func parseString(raw []byte) (string, error) {
	if raw[0] != '"' {
		return "", errors.New("not a string")
	}
	if !utf8.Valid(raw) {
		return "", errors.New("invalid UTF-8")
	}
	if !bytes.Contains(raw, []byte(`\`)) {
		return string(raw[1 : len(raw)-1]), nil
	}
	unescaped := bytes.ReplaceAll(raw, []byte(`\\`), []byte("__"))
	for _, m := range halfPair.FindAll(unescaped, -1) {
		if len(m) != len(`\ud800\udc00`) {
			return "", errors.New("half a surrogate pair")
		}
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

func isNumber(raw []byte) bool { return raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9' }

var number = regexp.MustCompile(`^-?([0-9.]+)(?:[eE]([+-]?[0-9]+))?$`)

// parseNumber reads a number exactly. The length of its exponent is limited: the value of what is longer is out of
// range of every type, unless it is 0.
func parseNumber(s string) (*big.Rat, error) {
	m := number.FindStringSubmatch(s)
	if m == nil {
		return nil, errors.New("not a number")
	}
	if strings.Trim(m[1], "0.") == "" {
		return new(big.Rat), nil
	}
	if exponent := strings.TrimLeft(m[2], "+-0"); len(exponent) > 4 {
		return nil, errors.New("out of range")
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, errors.New("not a number")
	}
	return r, nil
}

// parseInt takes any JSON number that is an integer of 64 bits: 1, 1.0, 1e3.
func parseInt(raw []byte) (*big.Int, error) {
	i, err := parseInteger(raw)
	if err != nil {
		return nil, err
	}
	return fits(i, ir.Type{Kind: ir.Int})
}

func parseInteger(raw []byte) (*big.Int, error) {
	if !isNumber(raw) {
		return nil, errors.New("not a number")
	}
	r, err := parseNumber(string(raw))
	if err != nil {
		return nil, err
	}
	if !r.IsInt() {
		return nil, errors.New("not an integer")
	}
	return r.Num(), nil
}

func parseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, errors.New("out of range of a float")
	}
	return f, nil
}

// parseDecimal never rounds: digits beyond the scale must be zero.
func parseDecimal(s string, t ir.Type) (*big.Int, error) {
	r, err := parseNumber(s)
	if err != nil {
		return nil, err
	}
	r.Mul(r, new(big.Rat).SetInt(pow10(t.Scale)))
	if !r.IsInt() {
		return nil, fmt.Errorf("more digits than %s has", t)
	}
	return fits(r.Num(), t)
}

// parseTimestamp reads RFC 3339 text, or an integer counting from 1970 in the unit.
func parseTimestamp(raw []byte, unit ir.Unit) (*big.Int, error) {
	if unit == ir.Text {
		s, err := parseString(raw)
		if err != nil {
			return nil, err
		}
		return parseTime(s)
	}
	i, err := parseInteger(raw)
	if err != nil {
		return nil, err
	}
	switch unit {
	case ir.Seconds:
		i.Mul(i, big.NewInt(1e6))
	case ir.Millis:
		i.Mul(i, big.NewInt(1e3))
	case ir.Nanos:
		i.Div(i, big.NewInt(1e3)) // Euclidean: towards the past
	}
	return fits(i, ir.Type{Kind: ir.Timestamp})
}

// rfc3339 is stricter than time.Parse, which takes a comma and hours of one digit.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func parseTime(s string) (*big.Int, error) {
	if !rfc3339.MatchString(s) || s < "0001" {
		return nil, errors.New("not an RFC 3339 timestamp")
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, errors.New("not an RFC 3339 timestamp")
	}
	return fits(big.NewInt(t.Truncate(time.Microsecond).UnixMicro()), ir.Type{Kind: ir.Timestamp})
}

var (
	duration     = regexp.MustCompile(`^-?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?(\d+us)?$`)
	durationPart = regexp.MustCompile(`(\d+)(d|h|ms|us|m|s)`)
	durationUnit = map[string]int64{"d": 24 * 3600e6, "h": 3600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1}
)

// parseDuration reads text such as 1m30s: each unit at most once, the longest first.
func parseDuration(s string) (*big.Int, error) {
	parts := durationPart.FindAllStringSubmatch(s, -1)
	if !duration.MatchString(s) || len(parts) == 0 {
		return nil, errors.New("not a duration")
	}
	sum := new(big.Int)
	for _, m := range parts {
		n, _ := new(big.Int).SetString(m[1], 10)
		sum.Add(sum, n.Mul(n, big.NewInt(durationUnit[m[2]])))
	}
	if s[0] == '-' {
		sum.Neg(sum)
	}
	return fits(sum, ir.Type{Kind: ir.Duration})
}

// eventTime is what the `time` of the source says, else the Kafka timestamp. Windows need one; without windows a
// record may have none.
func eventTime(s *planner.Source, r row) (int64, error) {
	if s.Time == nil {
		stamp := r.origin.record.Time
		if s.HasWatermark && (stamp < firstTime || stamp > lastTime) {
			return 0, errors.New("no Kafka timestamp of the years 1 to 9999")
		}
		return stamp, nil
	}
	v, err := evaluate(s.Time, r.values)
	if err != nil {
		return 0, err
	}
	if v == nil {
		return 0, errors.New("the event time is null")
	}
	return v.(*big.Int).Int64(), nil
}

var (
	firstTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC).UnixMicro()
)

// fits refuses what is out of range of t: an overflow.
func fits(v *big.Int, t ir.Type) (*big.Int, error) {
	ok := v.IsInt64()
	switch t.Kind {
	case ir.Decimal:
		ok = v.CmpAbs(pow10(t.Precision)) < 0
	case ir.Timestamp:
		ok = ok && firstTime <= v.Int64() && v.Int64() <= lastTime
	}
	if !ok {
		return nil, fmt.Errorf("out of range of %s", t.NonNull())
	}
	return v, nil
}

func pow10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// constant is the value of a literal as rows hold it.
func constant(c *ir.Const) any {
	if v, ok := c.Value.(int64); ok {
		return big.NewInt(v)
	}
	return c.Value
}
