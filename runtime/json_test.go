package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// everything has a field of each kind; those that may be missing are nullable.
type everything struct {
	text    []byte
	whole   int64
	real    float64
	flag    bool
	small   int64  // decimal(9, 3)
	large   Int128 // decimal(38, 10)
	at      Time
	millis  Time
	length  Opt[Time]
	comment Opt[[]byte]
}

var everythingFields = []Field{
	{Name: "text"}, {Name: "whole"}, {Name: "real"}, {Name: "flag"}, {Name: "small"}, {Name: "large"}, {Name: "at"}, {Name: "millis"},
	{Name: "length", Optional: true}, {Name: "a comment of more than 16 bytes", Optional: true},
}

func (e *everything) readJSON(c *JSON, value []byte) bool {
	*e = everything{}
	for c.Begin(value); c.Next(); {
		switch c.Field() {
		case 0:
			e.text = c.String()
		case 1:
			e.whole = c.Int()
		case 2:
			e.real = c.Float()
		case 3:
			e.flag = c.Bool()
		case 4:
			e.small = c.Decimal(9, 3)
		case 5:
			e.large = c.Decimal128(38, 10)
		case 6:
			e.at = c.Time()
		case 7:
			e.millis = c.TimeUnit(Millisecond)
		case 8:
			if !c.Null() {
				e.length = Some(c.Duration())
			}
		case 9:
			if !c.Null() {
				e.comment = Some(c.String())
			}
		}
	}
	return c.End()
}

// naiveEverything reads the same with encoding/json and math/big. Fields come as text.
func naiveEverything(value []byte) (map[string]string, error) {
	if !json.Valid(value) {
		return nil, errors.New("not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(value))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("no object")
	}
	got := map[string]string{}
	for d.More() {
		start := d.InputOffset()
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		rawName := bytes.TrimLeft(value[start:d.InputOffset()], ", \t\r\n")
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		key := name.(string)
		i := slices.IndexFunc(everythingFields, func(f Field) bool { return f.Name == key })
		if _, err := naiveText(rawName); i < 0 || err != nil {
			continue
		}
		if _, dup := got[key]; dup {
			return nil, errors.New("given twice")
		}
		if got[key], err = naiveValue(i, raw); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	for _, f := range everythingFields {
		if _, ok := got[f.Name]; !ok && !f.Optional {
			return nil, fmt.Errorf("%s is missing", f.Name)
		}
	}
	return got, nil
}

func naiveValue(field int, raw []byte) (string, error) {
	if string(raw) == "null" && field >= 8 {
		return "null", nil
	}
	isNumber := raw[0] == '-' || raw[0]-'0' < 10
	switch field {
	case 0, 9:
		return naiveText(raw)
	case 2:
		f, err := strconv.ParseFloat(string(raw), 64)
		if !isNumber || err != nil {
			return "", errors.New("no float")
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case 3:
		if s := string(raw); s == "true" || s == "false" {
			return s, nil
		}
		return "", errors.New("no bool")
	case 6, 8:
		s, err := naiveText(raw)
		if err != nil {
			return "", err
		}
		if field == 8 {
			d, ok := parseDuration([]byte(s)) // TestDuration is about it
			if !ok {
				return "", errors.New("no duration")
			}
			return fmt.Sprint(int64(d)), nil
		}
		var c Calc
		t := c.TimeOfString([]byte(s)) // TestTimeText is about it
		if c.Failed() {
			return "", errors.New("no time")
		}
		return fmt.Sprint(int64(t)), nil
	}
	if !isNumber {
		return "", errors.New("no number")
	}
	limit, scale := bigPow10(9), 3
	switch field {
	case 1:
		limit, scale = new(big.Int).Lsh(big.NewInt(1), 63), 0
	case 5:
		limit, scale = bigPow10(38), 10
	case 7:
		limit, scale = bigPow10(30), 0
	}
	v, err := naiveScaled(string(raw), scale)
	switch {
	case err != nil:
		return "", err
	case field == 1 && !v.IsInt64(), field != 1 && v.CmpAbs(limit) >= 0:
		return "", errors.New("out of range")
	case field == 7:
		v.Mul(v, big.NewInt(1000))
		if v.Cmp(big.NewInt(int64(firstTime))) < 0 || v.Cmp(big.NewInt(int64(lastTime))) > 0 {
			return "", errors.New("out of range")
		}
	}
	return v.String(), nil
}

// naiveScaled is a number times 10^scale, which must be an integer. big.Rat would take ages for a large exponent.
func naiveScaled(s string, scale int) (*big.Int, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if strings.Trim(mantissa, "-0.") == "" {
		return new(big.Int), nil
	}
	e, err := strconv.Atoi(cmpOr(exponent, "0"))
	if err != nil || e > 100_000 || e < -100_000 {
		return nil, errors.New("out of range")
	}
	r, ok := new(big.Rat).SetString(mantissa)
	if !ok {
		return nil, errors.New("no number")
	}
	if e += scale; e >= 0 {
		r.Mul(r, new(big.Rat).SetInt(bigPow10(e)))
	} else {
		r.Quo(r, new(big.Rat).SetInt(bigPow10(-e)))
	}
	if !r.IsInt() {
		return nil, errors.New("not exact")
	}
	return r.Num(), nil
}

func cmpOr(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// naiveText is a string without half surrogate pairs, which encoding/json would replace.
func naiveText(raw []byte) (string, error) {
	if raw[0] != '"' || !utf8.Valid(raw) {
		return "", errors.New("no string")
	}
	rest := strings.ReplaceAll(strings.ToLower(string(raw)), `\\`, "__")
	for {
		i := strings.Index(rest, `\ud`)
		if i < 0 {
			break
		}
		switch c := rest[i+3]; {
		case c < '8':
			rest = rest[i+6:]
			continue
		case c >= 'c' || len(rest) < i+10 || rest[i+6:i+9] != `\ud` || rest[i+9] < 'c':
			return "", errors.New("half a pair")
		}
		rest = rest[i+12:]
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

func (e *everything) fields() map[string]string {
	m := map[string]string{
		"text": string(e.text), "whole": fmt.Sprint(e.whole), "real": strconv.FormatFloat(e.real, 'g', -1, 64), "flag": fmt.Sprint(e.flag),
		"small": fmt.Sprint(e.small), "large": bigOf(e.large).String(), "at": fmt.Sprint(int64(e.at)), "millis": fmt.Sprint(int64(e.millis)),
	}
	if e.length.OK {
		m["length"] = fmt.Sprint(int64(e.length.V))
	}
	if e.comment.OK {
		m["a comment of more than 16 bytes"] = string(e.comment.V)
	}
	return m
}

// checkEverything compares a cursor with encoding/json.
func checkEverything(t *testing.T, c *JSON, value []byte) {
	t.Helper()
	var e everything
	given := bytes.Clone(value)
	ok := e.readJSON(c, value)
	want, err := naiveEverything(given)
	if !bytes.Equal(value, given) {
		t.Fatalf("%q was changed to %q", given, value)
	}
	if ok != (err == nil) {
		t.Fatalf("%q: got %v, %s; want %v", value, ok, c.Fault().AppendText(nil), err)
	}
	if !ok {
		if f := c.Fault(); f.Reason == "" || f.At < 0 || f.At > len(value) {
			t.Fatalf("%q: fault %+v", value, f)
		}
		return
	}
	got := e.fields()
	for _, f := range everythingFields {
		w := want[f.Name]
		if g, ok := got[f.Name]; f.Optional && !ok && (w == "null" || w == "") && !(w == "" && g != "") {
			continue
		}
		if got[f.Name] != w {
			t.Fatalf("%q: %s is %q, want %q", value, f.Name, got[f.Name], w)
		}
	}
}

const goodEverything = `{"text":"a","whole":1,"real":1.5,"flag":true,"small":1.5,"large":12345678901234567890.5,"at":"2026-01-01T00:00:00Z","millis":1767225600000,"length":"1m30s","a comment of more than 16 bytes":"b"}`

// values are good and bad ones for every field.
var values = []string{
	`"a"`, `""`, `"\u00e4\n\"\\\/"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83d\u0041"`, "\"\xff\"", "\"\x01\"", `"\x"`, `"open`,
	`0`, `-0`, `1`, `-1`, `1.0`, `1.5`, `1e3`, `1E+3`, `15e-1`, `1e-3`, `0.0005`, `1e400`, `-1e400`, `1e-400`, `0e9999999999`, `01`, `.5`, `1.`, `1e`, `+1`, `-`, `1_0`, `0x1`, `NaN`,
	`9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `-9223372036854775809`, `999999.999`, `-999999.999`, `1000000`, `123456789012345678901234567890123456789`,
	`9999999999999999999999999999.9999999999`, `10000000000000000000000000000`, `0.00000000001`, `0.1e-9`, `123456789012345678e-8`, `1000000000000000000000e-18`,
	`4.9e-324`, `2.2250738585072011e-308`, `1.7976931348623157e308`, `1.7976931348623159e308`, `9007199254740993`, `0.1`, `123456789.123456789`,
	`true`, `false`, `null`, `nul`, `truex`, `True`, `[]`, `[1,{"a":[]}]`, `{}`, `{"text":1}`, `[1`, `{"a"}`,
	`"2026-01-01T00:00:00.123456789Z"`, `"2026\u002d01-01T00:00:00Z"`, `"2026-02-29T00:00:00Z"`, `1767225600000`, `-62135596800000`, `-62135596800001`, `253402300799999`, `253402300800000`,
	`"1m30s"`, `"-1d"`, `"0s"`, `"1s1m"`, `"1\u006d"`, ` 1`, ``,
}

// TestJSONValues puts every value into every field.
func TestJSONValues(t *testing.T) {
	known := NewJSON(everythingFields)
	var record map[string]json.RawMessage
	if err := json.Unmarshal([]byte(goodEverything), &record); err != nil {
		t.Fatal(err)
	}
	for _, f := range everythingFields {
		for _, v := range values {
			var members []string
			for _, g := range everythingFields {
				value := string(record[g.Name])
				if g.Name == f.Name {
					value = v
				}
				members = append(members, `"`+g.Name+`":`+value)
			}
			text := []byte("{" + strings.Join(members, ",") + "}")
			checkEverything(t, NewJSON(everythingFields), text)
			checkEverything(t, known, text)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(goodEverything))
	for _, v := range values {
		f.Add([]byte(strings.Replace(goodEverything, "1.5", v, 1)))
		f.Add([]byte(strings.Replace(goodEverything, `"a"`, v, 1)))
		f.Add([]byte(strings.Replace(goodEverything, `{`, `{"unknown" : `+v+" ,\n", 1)))
	}
	f.Add([]byte(strings.Replace(goodEverything, `"text"`, `"te\u0078t"`, 1)))
	f.Add([]byte(`{"text":"a","text":"b"}`))
	f.Add([]byte(strings.Repeat(`{"a":[`, 2000)))
	known := NewJSON(everythingFields)
	f.Fuzz(func(t *testing.T, value []byte) {
		// A cursor that has learnt from other records must answer like a new one.
		for _, c := range []*JSON{NewJSON(everythingFields), known, known} {
			checkEverything(t, c, value)
		}
	})
}

// TestHostileJSON shows that records of ever new shapes cost no memory.
func TestHostileJSON(t *testing.T) {
	c := NewJSON(everythingFields)
	r := seeded(t)
	for range 10_000 {
		var e everything
		e.readJSON(c, []byte(fmt.Sprintf(`{"x%d":1,%s`, r.IntN(1e6), goodEverything[1:])))
	}
	if c.learned > maxMembers {
		t.Errorf("%d members learnt", c.learned)
	}
	checkEverything(t, c, []byte(goodEverything))
}

// TestDeepJSON shows that a value may be nested as deeply as for encoding/json, and no deeper.
func TestDeepJSON(t *testing.T) {
	c := NewJSON(everythingFields)
	for _, depth := range []int{1, usualDepth - 1, usualDepth, usualDepth + 1, maxDepth - 1, maxDepth, maxDepth + 1} {
		for _, level := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			deep := strings.Repeat(level[0], depth) + "1" + strings.Repeat(level[1], depth)
			checkEverything(t, c, []byte(`{"x":`+deep+","+goodEverything[1:]))
			if f := c.Fault(); (f.Reason == tooDeep) != (depth >= maxDepth) || f.Reason == tooDeep && !strings.HasPrefix(string(f.AppendText(nil)), "nested more than 10000 levels deep, ") {
				t.Errorf("%d levels: %s", depth, f.AppendText(nil))
			}
		}
	}
	// What is wrong before it gets that deep is what is wrong; behind that nobody looks.
	for text, want := range map[string]string{
		strings.Repeat("[", maxDepth-10) + "x":              badValue,
		strings.Repeat("[", 1_000_000):                      tooDeep,
		strings.Repeat(`{"a":`, 1_000_000):                  tooDeep,
		strings.Repeat(`[{"a":`, maxDepth):                  tooDeep,
		strings.Repeat("[", maxDepth-10):                    truncated,
		strings.Repeat(" ", 1_000_000) + "[":                truncated,
		`"` + strings.Repeat("[", 1_000_000):                truncated,
		strings.Repeat("[0,", maxDepth/2) + `{"a" 1`:        badValue,
		`{"a":1}` + strings.Repeat("}", maxDepth) + goodDay: trailingBytes,
	} {
		c.Begin([]byte(`{"x":` + text))
		for c.Next() {
		}
		if c.End() || c.Fault().Reason != want {
			t.Errorf("%.20s…: %q, want %q", text, c.Fault().Reason, want)
		}
	}
}

// goodDay is a member that nobody reads.
const goodDay = `,"day":1}`

// TestLearnsLittle: whatever names and white space records have, a reader remembers little of them.
func TestLearnsLittle(t *testing.T) {
	c := NewJSON(everythingFields)
	for i := range 2 * maxMembers {
		long := strings.Repeat(string(rune('a'+i%26)), 100_000+i)
		checkEverything(t, c, []byte(`{"`+long+`":1`+strings.Repeat(" ", 50_000+i)+","+goodEverything[1:]))
	}
	size := 0
	for i := range c.members {
		size += len(c.members[i].tail)
	}
	if size > maxMembers*maxLearned {
		t.Errorf("%d bytes are remembered", size)
	}
}

func TestTooManyFields(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewJSON(make([]Field, MaxFields+1))
}

func TestAppendString(t *testing.T) {
	r := seeded(t)
	for range rounds {
		text := make([]byte, 0, 64)
		for range r.IntN(20) {
			text = utf8.AppendRune(text, []rune{'a', '"', '\\', '\n', '\r', '\t', 0, 1, 0x1f, 0x7f, 'ä', '€', '😀', ' ', '/', '<', rune(r.IntN(0xd800))}[r.IntN(17)])
		}
		var back string
		got := AppendString(nil, text)
		if err := json.Unmarshal(got, &back); err != nil || back != string(text) {
			t.Fatalf("%q: got %s, read back as %q, %v", text, got, back, err)
		}
	}
}

func TestAppendFloat(t *testing.T) {
	r := seeded(t)
	for range rounds {
		f := float64(randomInt(r)) * []float64{1, 1e-3, 1e-9, 1e-30, 1e30}[r.IntN(5)]
		want, err := json.Marshal(f)
		if got := AppendFloat(nil, f); err != nil || string(got) != string(want) {
			t.Fatalf("%v: got %s, want %s", f, got, want)
		}
	}
}
