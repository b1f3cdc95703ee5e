package runtime

import (
	"math"
	"strconv"
)

// A cast from a string takes what JSON takes for the type: a number without spaces around it, or RFC 3339.

// IntOfFloat truncates.
func (c *Calc) IntOfFloat(f float64) int64 {
	if !(f >= -1<<63 && f < 1<<63) {
		c.fail(intOverflow)
		return 0
	}
	return int64(f)
}

// IntOfDecimal truncates.
func (c *Calc) IntOfDecimal(x Int128, scale int) int64 {
	m, neg := x.abs()
	q, _ := wide{m.lo, m.hi}.divide(power10(scale))
	return c.IntOf128(q.signed(neg))
}

// IntOfString reads a number that is an integer: `12`, `1.0`, `1e3`.
func (c *Calc) IntOfString(b []byte) int64 {
	v, end, reason := readInt(b, 0)
	if reason == "" && end != len(b) {
		reason = notNumber
	}
	if reason != "" {
		c.fail(reason)
		return 0
	}
	return v
}

// FloatOfString reads a number that is finite as a float.
func (c *Calc) FloatOfString(b []byte) float64 {
	v, end, reason := readFloat(b, 0)
	if reason == "" && end != len(b) {
		reason = notNumber
	}
	if reason != "" {
		c.fail(reason)
		return 0
	}
	return v
}

// DecimalOfString reads a number as a decimal(precision, scale), rounded half-even.
func (c *Calc) DecimalOfString(b []byte, precision, scale int) Int128 {
	if skipNumberAt(b, 0) != len(b) {
		c.fail(notNumber)
		return Int128{}
	}
	return c.roundDecimal(b, precision, scale)
}

// DecimalOfFloat is the exact value of f, rounded half-even.
func (c *Calc) DecimalOfFloat(f float64, precision, scale int) Int128 {
	if math.Abs(f) >= 1e39 {
		return c.overflow(precision)
	}
	if v, ok := units(f, scale); ok {
		return c.decimal(wide{uint64(math.Abs(v))}, v < 0, precision)
	}
	var text [96]byte // 39 digits, a point and 38 more
	return c.roundDecimal(strconv.AppendFloat(text[:0], f, 'f', scale, 64), precision, scale)
}

// units is f in units of 10^-scale, rounded half-even, unless it takes more than float64 to tell. Below 2^52 halves are floats
// and rounding a product keeps order: so the true product lies between the same two halves as the rounded one, if that is not a half.
func units(f float64, scale int) (v float64, ok bool) {
	if scale >= len(pow10) {
		return 0, false
	}
	product := f * float64(pow10[scale]) // up to 10^22 powers of ten are floats
	v = math.RoundToEven(product)
	return v, math.Abs(product) < 1<<52 && math.Abs(product-v) < 0.5
}

// roundDecimal reads the number b as a decimal(precision, scale), rounded half-even.
func (c *Calc) roundDecimal(b []byte, precision, scale int) Int128 {
	v, exact := readDigits(b, scale)
	if exact == tooLarge || !v.isDecimal(precision) {
		return c.overflow(precision)
	}
	if exact == moreThanHalf || exact == half && v[0]&1 == 1 {
		v = v.plusOne()
	}
	return c.decimal(v, b[0] == '-', precision)
}

// TimeOfString reads an RFC 3339 timestamp.
func (c *Calc) TimeOfString(b []byte) Time {
	t, ok, scratch := c.day.parseTime(b, c.scratch)
	if c.scratch = scratch; !ok {
		c.fail(c.day.whyNot(b))
		return 0
	}
	return t
}

// The strings that casts make live until the batch, or the window that is being closed, is done.

// maxIdleScratch is how many bytes of strings a Calc keeps room for.
const maxIdleScratch = 1 << 20

func (c *Calc) freeScratch() {
	if cap(c.scratch) > maxIdleScratch {
		c.scratch = nil
	}
	c.scratch = c.scratch[:0]
}

// added is what was appended to the scratch: b is the scratch with more.
func (c *Calc) added(b []byte) []byte {
	start := len(c.scratch)
	c.scratch = b
	return b[start:len(b):len(b)]
}

// unquoted is added for what is written to JSON in quotes.
func (c *Calc) unquoted(b []byte) []byte {
	s := c.added(b)
	return s[1 : len(s)-1 : len(s)-1]
}

// StringOfInt is v in digits.
func (c *Calc) StringOfInt(v int64) []byte { return c.added(AppendInt(c.scratch, v)) }

// StringOfFloat is the shortest text that reads back as v.
func (c *Calc) StringOfFloat(v float64) []byte { return c.added(AppendFloat(c.scratch, v)) }

// StringOfBool is true or false.
func (c *Calc) StringOfBool(v bool) []byte { return c.added(AppendBool(c.scratch, v)) }

// StringOfDecimal is for a decimal of at most 18 digits.
func (c *Calc) StringOfDecimal(v int64, scale int) []byte {
	return c.added(AppendDecimal(c.scratch, v, scale))
}

// StringOfDecimal128 is for a decimal of more than 18 digits.
func (c *Calc) StringOfDecimal128(x Int128, scale int) []byte {
	return c.added(AppendDecimal128(c.scratch, x, scale))
}

// StringOfTime is t as RFC 3339 in UTC.
func (c *Calc) StringOfTime(t Time) []byte { return c.unquoted(AppendTime(c.scratch, t)) }

// StringOfTimeUnit is t as AppendTimeUnit writes it.
func (c *Calc) StringOfTimeUnit(t, unit Time) []byte {
	return c.added(AppendTimeUnit(c.scratch, t, unit))
}

// StringOfDuration is d as AppendDuration writes it, without quotes.
func (c *Calc) StringOfDuration(d Time) []byte { return c.unquoted(AppendDuration(c.scratch, d)) }

// IntOfBool is 1 for true and 0 for false.
func IntOfBool(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
