package runtime

// The operands of decimal arithmetic come with their scales, and the exact result is what must fit: a
// decimal(38, s).

// AddDecimal is the sum, with the greater of the two scales.
func (c *Calc) AddDecimal(l Int128, ls int, r Int128, rs int) Int128 {
	lm, lneg := l.abs()
	rm, rneg := r.abs()
	x := wide{lm.lo, lm.hi}.times(max(rs-ls, 0))
	y := wide{rm.lo, rm.hi}.times(max(ls-rs, 0))
	switch {
	case lneg == rneg:
		x = x.plus(y)
	case x.less(y):
		x, lneg = y.minus(x), rneg
	default:
		x = x.minus(y)
	}
	return c.decimal(x, lneg, maxDigits)
}

// SubDecimal is the difference, with the greater of the two scales.
func (c *Calc) SubDecimal(l Int128, ls int, r Int128, rs int) Int128 {
	return c.AddDecimal(l, ls, r.Neg(), rs)
}

// MulDecimal is the exact product. Its scale is the sum of the scales.
func (c *Calc) MulDecimal(l, r Int128) Int128 {
	lm, lneg := l.abs()
	rm, rneg := r.abs()
	return c.decimal(product(lm, rm), lneg != rneg, maxDigits)
}

// DivDecimal is l / 10^ls divided by r / 10^rs as a decimal(38, scale), rounded half-even. All scales are at
// most 38.
func (c *Calc) DivDecimal(l Int128, ls int, r Int128, rs, scale int) Int128 {
	if r == (Int128{}) {
		c.fail(byZero)
		return Int128{}
	}
	lm, lneg := l.abs()
	rm, rneg := r.abs()
	x := wide{lm.lo, lm.hi}
	up := rs + scale - ls
	if up < 0 { // only where scale < ls - rs: divide by the power too, in one step, since rounding twice is wrong
		d := product(rm, power10(-up))
		if d[2]|d[3] != 0 { // more than any decimal: the quotient rounds to 0
			return Int128{}
		}
		return c.decimal(x.divideEven(uint128{d[1], d[0]}), lneg != rneg, maxDigits)
	}
	return c.decimal(x.times(up).divideEven(rm), lneg != rneg, maxDigits)
}

// RemDecimal is the remainder, with the greater of the two scales and the sign of l.
func (c *Calc) RemDecimal(l Int128, ls int, r Int128, rs int) Int128 {
	if r == (Int128{}) {
		c.fail(byZero)
		return Int128{}
	}
	lm, neg := l.abs()
	rm, _ := r.abs()
	d := wide{rm.lo, rm.hi}.times(max(ls-rs, 0))
	if d[2]|d[3] != 0 {
		return l // r is greater
	}
	_, rem := wide{lm.lo, lm.hi}.times(max(rs-ls, 0)).divide(uint128{d[1], d[0]})
	return c.decimal(wide{rem.lo, rem.hi}, neg, maxDigits)
}

// Rescale is a decimal of scale from as a decimal(precision, to). Where digits go it rounds half-even.
func (c *Calc) Rescale(x Int128, from, precision, to int) Int128 {
	m, neg := x.abs()
	w := wide{m.lo, m.hi}
	if to >= from {
		return c.decimal(w.times(to-from), neg, precision)
	}
	return c.decimal(w.divideEven(power10(from-to)), neg, precision)
}

// Fits is x, which must have at most precision digits.
func (c *Calc) Fits(x Int128, precision int) Int128 {
	if m, _ := x.abs(); !m.less(power10(precision)) {
		return c.overflow(precision)
	}
	return x
}

// Fits192 is a sum as a decimal of at most precision digits.
func (c *Calc) Fits192(x Int192, precision int) Int128 {
	m, neg := x.abs()
	return c.decimal(m, neg, precision)
}

// AvgDecimal is sum / 10^from divided by n as a decimal(38, to), rounded half-even. to is not less than from, n is
// positive.
func (c *Calc) AvgDecimal(sum Int128, n int64, from, to int) Int128 {
	m, neg := sum.abs()
	return c.average(wide{m.lo, m.hi}, neg, n, to-from)
}

// AvgDecimal192 is AvgDecimal of a wider sum.
func (c *Calc) AvgDecimal192(sum Int192, n int64, from, to int) Int128 {
	m, neg := sum.abs()
	return c.average(m, neg, n, to-from)
}

func (c *Calc) average(sum wide, neg bool, n int64, up int) Int128 {
	return c.decimal(sum.times(up).divideEven(uint128{0, uint64(n)}), neg, maxDigits)
}

// decimal is x with its sign, which must have at most precision digits.
func (c *Calc) decimal(x wide, neg bool, precision int) Int128 {
	if !x.isDecimal(precision) {
		return c.overflow(precision)
	}
	return x.signed(neg)
}
