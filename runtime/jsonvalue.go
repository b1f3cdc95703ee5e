package runtime

// String reads a string. It points into the record, or into c if it had escapes.
func (c *JSON) String() []byte {
	i := c.pos
	if i >= len(c.rec) || c.rec[i] != '"' {
		c.fail(notString, i)
		return nil
	}
	text, end, _ := c.readString(i)
	if end < 0 {
		c.fail(badString, ^end)
		return nil
	}
	c.pos = end
	return text
}

// Decimal reads a number as a decimal(precision, scale) of at most 18 digits and
// returns it as an integer of 10^-scale. It never rounds: digits beyond the scale
// must be zero.
func (c *JSON) Decimal(precision, scale int) int64 {
	b, i := c.rec, c.pos
	neg := i < len(b) && b[i] == '-'
	if neg {
		i++
	}
	start := i
	var v uint64
	for i < len(b) && b[i]-'0' < 10 {
		v = v*10 + uint64(b[i]-'0')
		i++
	}
	whole, frac := i-start, 0
	if i < len(b) && b[i] == '.' {
		i++
		for i < len(b) && b[i]-'0' < 10 {
			v = v*10 + uint64(b[i]-'0')
			i++
		}
		frac = i - start - whole - 1
		if frac == 0 {
			whole = 0
		}
	}
	if whole == 0 || b[start] == '0' && whole > 1 {
		c.fail(notNumber, start)
		return 0
	}
	if frac > scale || whole+scale > 18 || i < len(b) && b[i]|0x20 == 'e' {
		var w wide
		if w, i = exactDecimal(b, start, scale); i < 0 || !w.isDecimal(precision) {
			c.failDecimal(start, precision, scale)
			return 0
		}
		v = w[0]
	} else {
		v *= pow10[scale-frac]
	}
	if v >= pow10[precision] {
		c.failDecimal(start, precision, scale)
		return 0
	}
	c.pos = i
	if neg {
		return -int64(v)
	}
	return int64(v)
}

// Decimal128 is Decimal for a decimal of any precision.
func (c *JSON) Decimal128(precision, scale int) Int128 {
	start := c.pos
	w, end := exactDecimal(c.rec, unsigned(c.rec, start), scale)
	if end < 0 || !w.isDecimal(precision) {
		c.failDecimal(start, precision, scale)
		return Int128{}
	}
	c.pos = end
	return w.signed(c.rec[start] == '-')
}

// failDecimal says why what begins at start, with or without its sign, is no decimal(precision, scale).
func (c *JSON) failDecimal(start, precision, scale int) {
	end := skipNumberAt(c.rec, start)
	if end < 0 {
		c.fail(notNumber, start)
		return
	}
	reason, digits := tooFine, scale
	if v, r := readDigits(c.rec[start:end], scale); r == tooLarge || !v.isDecimal(precision) {
		reason, digits = tooWide, precision-scale
	}
	c.fail(reason, start)
	c.fault.Digits = digits
}

// Int reads a number that is an integer: `12`, `12.0`, `1.2e1`.
func (c *JSON) Int() int64 {
	v, end, reason := readInt(c.rec, c.pos)
	if reason != "" {
		c.fail(reason, c.pos)
		return 0
	}
	c.pos = end
	return v
}

// Float reads a number as the nearest float.
func (c *JSON) Float() float64 {
	v, end, reason := readFloat(c.rec, c.pos)
	if reason != "" {
		c.fail(reason, c.pos)
		return 0
	}
	c.pos = end
	return v
}

// Bool reads true or false.
func (c *JSON) Bool() bool {
	b, i := c.rec, c.pos
	switch {
	case i+4 <= len(b) && string(b[i:i+4]) == "true":
		c.pos = i + 4
		return true
	case i+5 <= len(b) && string(b[i:i+5]) == "false":
		c.pos = i + 5
		return false
	}
	c.fail(notBool, i)
	return false
}

// Null reads null and returns true. Where something else stands it reads nothing.
func (c *JSON) Null() bool {
	b, i := c.rec, c.pos
	if i+4 <= len(b) && string(b[i:i+4]) == "null" {
		c.pos = i + 4
		return true
	}
	return false
}

// Duration reads a string such as `1m30s`; see AppendDuration.
func (c *JSON) Duration() Time {
	i := c.pos
	if i < len(c.rec) && c.rec[i] == '"' {
		if text, end, _ := c.readString(i); end > 0 {
			if d, ok := parseDuration(text); ok {
				c.pos = end
				return d
			}
		}
	}
	c.fail(notDuration, i)
	return 0
}

// TimeUnit reads an integer that counts from 1970 in the unit: Second, Millisecond, Microsecond or Nanos. What
// is finer than a microsecond is dropped, towards the past.
func (c *JSON) TimeUnit(unit Time) Time {
	start := c.pos
	digits := unsigned(c.rec, start)
	m, end := plainInteger(c.rec, digits)
	w := wide{m}
	if end < 0 {
		if w, end = exactDecimal(c.rec, digits, 0); end < 0 {
			reason := notInteger
			if start < len(c.rec) && c.rec[start] == '"' {
				reason = timeIsText
			}
			c.fail(reason, start)
			return 0
		}
	}
	t, ok := timeOfUnit(w, c.rec[start] == '-', unit)
	if !ok {
		c.fail(notEpoch, start)
		return 0
	}
	c.pos = end
	return t
}
