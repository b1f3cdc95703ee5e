package runtime

import (
	"cmp"
	"math/bits"
	"strconv"
)

// Int128 is a signed integer of 128 bits: the unscaled value of a decimal(38, s), or a sum.
type Int128 struct {
	Hi int64
	Lo uint64
}

// Wide is v as an Int128.
func Wide(v int64) Int128 { return Int128{v >> 63, uint64(v)} }

// Narrow is x, which is known to fit.
func Narrow(x Int128) int64 { return int64(x.Lo) }

// Add adds an int, or the unscaled value of a decimal of at most 18 digits. A sum of
// them stays in 128 bits for any number of rows that fits an int64, so there is nothing to check.
func (x *Int128) Add(v int64) {
	lo, carry := bits.Add64(x.Lo, uint64(v), 0)
	x.Lo = lo
	x.Hi += v>>63 + int64(carry)
}

// Cmp is -1, 0 or 1 where x is less than, equal to or greater than y.
func (x Int128) Cmp(y Int128) int {
	if x.Hi != y.Hi {
		return cmp.Compare(x.Hi, y.Hi)
	}
	return cmp.Compare(x.Lo, y.Lo)
}

// String is x as a number, without the point that a decimal has.
func (x Int128) String() string { return string(AppendDecimal128(nil, x, 0)) }

// Sign is -1, 0 or 1 where x is negative, zero or positive.
func (x Int128) Sign() int { return x.Cmp(Int128{}) }

// Neg is -x. Every decimal has one.
func (x Int128) Neg() Int128 {
	lo, borrow := bits.Sub64(0, x.Lo, 0)
	return Int128{-x.Hi - int64(borrow), lo}
}

// Plus, Minus, Times and Up are for results that are known to fit.

// Plus is x + y.
func (x Int128) Plus(y Int128) Int128 {
	lo, carry := bits.Add64(x.Lo, y.Lo, 0)
	return Int128{x.Hi + y.Hi + int64(carry), lo}
}

// Minus is x - y.
func (x Int128) Minus(y Int128) Int128 {
	lo, borrow := bits.Sub64(x.Lo, y.Lo, 0)
	return Int128{x.Hi - y.Hi - int64(borrow), lo}
}

// Times is x × y.
func (x Int128) Times(y Int128) Int128 {
	hi, lo := bits.Mul64(x.Lo, y.Lo)
	return Int128{int64(hi) + x.Hi*int64(y.Lo) + int64(x.Lo)*y.Hi, lo}
}

// Up is x × 10^n, for n up to 38.
func (x Int128) Up(n int) Int128 {
	p := power10(n)
	return x.Times(Int128{int64(p.hi), p.lo})
}

// isInt64 reports whether x fits an int64.
func (x Int128) isInt64() bool { return x.Hi == int64(x.Lo)>>63 }

// abs is the magnitude of x and whether x is negative. The least Int128 has one too: 2^127.
func (x Int128) abs() (m uint128, neg bool) {
	if x.Hi < 0 {
		x = x.Neg()
		return uint128{uint64(x.Hi), x.Lo}, true
	}
	return uint128{uint64(x.Hi), x.Lo}, false
}

// Int192 is a signed integer of 192 bits: a sum of decimals of more than 18 digits, of which two may not
// fit 128 bits.
type Int192 struct {
	Hi      int64
	Mid, Lo uint64
}

// Add adds a decimal. The sum stays in 192 bits for any number of rows that fits an int64.
func (x *Int192) Add(v Int128) {
	lo, carry := bits.Add64(x.Lo, v.Lo, 0)
	mid, carry := bits.Add64(x.Mid, uint64(v.Hi), carry)
	x.Lo, x.Mid = lo, mid
	x.Hi += v.Hi>>63 + int64(carry)
}

// abs is the magnitude of x and whether x is negative.
func (x Int192) abs() (m wide, neg bool) {
	if x.Hi < 0 {
		lo, borrow := bits.Sub64(0, x.Lo, 0)
		mid, borrow := bits.Sub64(0, x.Mid, borrow)
		hi, _ := bits.Sub64(0, uint64(x.Hi), borrow)
		return wide{lo, mid, hi}, true
	}
	return wide{x.Lo, x.Mid, uint64(x.Hi)}, false
}

// DecimalOfInt is v as the unscaled value of a decimal with the given scale that holds every int: at
// least 19 digits before the point.
func DecimalOfInt(v int64, scale int) Int128 {
	return Wide(v).Up(scale)
}

// FloatOfDecimal is the float nearest to the decimal x / 10^scale.
func FloatOfDecimal(x Int128, scale int) float64 {
	if m, neg := x.abs(); m.hi == 0 && m.lo < 1<<53 && scale <= 22 {
		f := float64(m.lo) / float10[scale] // both are exact, so the quotient is the nearest
		if neg {
			return -f
		}
		return f
	}
	var text [48]byte
	f, err := strconv.ParseFloat(borrow(AppendDecimal128(text[:0], x, scale)), 64)
	if err != nil {
		panic(err) // 38 digits are far from infinity
	}
	return f
}

// float10[n] is 10^n, which a float holds exactly.
var float10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}
