package runtime

import (
	"math"
	"math/big"
	"math/bits"
)

// Calc is arithmetic that can fail. Like JSON it keeps the first fault: after it every result is zero
// and harmless, so an expression needs one check at its end:
//
//	total := p.calc.MulInt(o.Price, o.Count)
//	if p.calc.Failed() {
//		in.RejectIn(p.ordersLet, p.calc.Fault())
//		return
//	}
//
// Decimals are unscaled values in 128 bits.
type Calc struct {
	reason  string
	digits  int    // of a decimal, if the reason tells
	scratch []byte // of strings that casts have made
	day     day    // of the last timestamp that was read
}

// Failed reports whether something failed since Fault was asked.
func (c *Calc) Failed() bool { return c.reason != "" }

// Fault says what failed first, and makes c ready for the next expression.
func (c *Calc) Fault() Fault {
	f := Fault{Reason: c.reason, Digits: c.digits, At: noByte}
	c.reason, c.digits = "", 0
	return f
}

func (c *Calc) fail(reason string) {
	if c.reason == "" {
		c.reason = reason
	}
}

// overflow is a decimal of more digits than it may have.
func (c *Calc) overflow(precision int) Int128 {
	if c.reason == "" {
		c.reason, c.digits = decimalOverflow, precision
	}
	return Int128{}
}

// AddInt is l + r.
func (c *Calc) AddInt(l, r int64) int64 {
	sum := l + r
	if (l^sum)&(r^sum) < 0 {
		c.fail(intOverflow)
		return 0
	}
	return sum
}

// SubInt is l - r.
func (c *Calc) SubInt(l, r int64) int64 {
	d := l - r
	if (l^r)&(l^d) < 0 {
		c.fail(intOverflow)
		return 0
	}
	return d
}

// MulInt is l × r.
func (c *Calc) MulInt(l, r int64) int64 {
	lm, lneg := magnitude(l)
	rm, rneg := magnitude(r)
	hi, lo := bits.Mul64(lm, rm)
	neg := lneg != rneg
	if hi != 0 || lo > 1<<63 || lo == 1<<63 && !neg {
		c.fail(intOverflow)
		return 0
	}
	if neg {
		return -int64(lo)
	}
	return int64(lo)
}

func magnitude(v int64) (m uint64, neg bool) {
	if v < 0 {
		return -uint64(v), true
	}
	return uint64(v), false
}

// DivInt truncates.
func (c *Calc) DivInt(l, r int64) int64 {
	switch {
	case r == 0:
		c.fail(byZero)
		return 0
	case r == -1:
		return c.NegInt(l)
	}
	return l / r
}

// RemInt has the sign of l.
func (c *Calc) RemInt(l, r int64) int64 {
	switch r {
	case 0:
		c.fail(byZero)
		return 0
	case -1:
		return 0
	}
	return l % r
}

// NegInt is -v.
func (c *Calc) NegInt(v int64) int64 {
	if v == math.MinInt64 {
		c.fail(intOverflow)
		return 0
	}
	return -v
}

// IntOf128 is a sum of ints as an int.
func (c *Calc) IntOf128(x Int128) int64 {
	if !x.isInt64() {
		c.fail(intOverflow)
		return 0
	}
	return int64(x.Lo)
}

// AvgInt is the float nearest to sum / n. n is positive.
func AvgInt(sum Int128, n int64) float64 {
	const exact = 1 << 53 // floats hold these integers, and the quotient of two is the nearest
	if sum.isInt64() && -exact <= int64(sum.Lo) && int64(sum.Lo) <= exact && n <= exact {
		return float64(int64(sum.Lo)) / float64(n)
	}
	x := new(big.Int).Lsh(big.NewInt(sum.Hi), 64)
	x.Add(x, new(big.Int).SetUint64(sum.Lo))
	f, _ := new(big.Rat).SetFrac(x, big.NewInt(n)).Float64()
	return f
}

// AddFloat is l + r.
func (c *Calc) AddFloat(l, r float64) float64 { return c.finite(l + r) }

// SubFloat is l - r.
func (c *Calc) SubFloat(l, r float64) float64 { return c.finite(l - r) }

// MulFloat is l × r.
func (c *Calc) MulFloat(l, r float64) float64 { return c.finite(l * r) }

// DivFloat is l / r.
func (c *Calc) DivFloat(l, r float64) float64 {
	if r == 0 {
		c.fail(byZero)
		return 0
	}
	return c.finite(l / r)
}

// RemFloat has the sign of l.
func (c *Calc) RemFloat(l, r float64) float64 {
	if r == 0 {
		c.fail(byZero)
		return 0
	}
	return c.finite(math.Mod(l, r))
}

// finite is f, which is a fault if it is infinite or no number.
func (c *Calc) finite(f float64) float64 {
	if f-f != 0 {
		c.fail(floatOverflow)
		return 0
	}
	return f
}

// Finite is for the sum or average of floats.
func (c *Calc) Finite(f float64) float64 { return c.finite(f) }

// AddTime is a timestamp later by d.
func (c *Calc) AddTime(t, d Time) Time {
	sum := t + d
	if (t^sum)&(d^sum) < 0 || sum < firstTime || sum > lastTime {
		c.fail(timeOverflow)
		return 0
	}
	return sum
}

// SubTime is a timestamp earlier by d.
func (c *Calc) SubTime(t, d Time) Time {
	if d == MinTime {
		c.fail(timeOverflow)
		return 0
	}
	return c.AddTime(t, -d)
}

// AddDuration is l + r.
func (c *Calc) AddDuration(l, r Time) Time { return Time(c.AddInt(int64(l), int64(r))) }

// SubDuration is l - r.
func (c *Calc) SubDuration(l, r Time) Time { return Time(c.SubInt(int64(l), int64(r))) }

// NegDuration is -d.
func (c *Calc) NegDuration(d Time) Time { return Time(c.NegInt(int64(d))) }

// MulDuration is d × n.
func (c *Calc) MulDuration(d Time, n int64) Time { return Time(c.MulInt(int64(d), n)) }

// DivDuration truncates.
func (c *Calc) DivDuration(d Time, n int64) Time { return Time(c.DivInt(int64(d), n)) }
