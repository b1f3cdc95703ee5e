package runtime

import "math/bits"

// uint128 is a magnitude of 128 bits.
type uint128 struct{ hi, lo uint64 }

func (x uint128) less(y uint128) bool {
	return x.hi < y.hi || x.hi == y.hi && x.lo < y.lo
}

// pow10[n] is 10^n. A decimal of up to 18 digits fits an int64.
var pow10 = [...]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
}

// power10 is 10^n for n up to 38.
func power10(n int) uint128 {
	if n < len(pow10) {
		return uint128{0, pow10[n]}
	}
	hi, lo := bits.Mul64(1e19, pow10[n-19])
	return uint128{hi, lo}
}

// maxDigits is the precision of the widest decimal.
const maxDigits = 38

// wide is an unsigned integer of 448 bits, lowest word first: room for a sum of 192 bits or a product of two decimals,
// times 10^76, which is the most that a division multiplies with.
type wide [7]uint64

// times is x × 10^n.
func (x wide) times(n int) wide {
	for n > 0 {
		step := min(n, 19)
		var carry uint64
		for i := range x {
			hi, lo := bits.Mul64(x[i], pow10[step])
			var c uint64
			x[i], c = bits.Add64(lo, carry, 0)
			carry = hi + c
		}
		n -= step
	}
	return x
}

func (x wide) less(y wide) bool {
	for i := len(x) - 1; i >= 0; i-- {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

func (x wide) plus(y wide) wide {
	var c uint64
	for i := range x {
		x[i], c = bits.Add64(x[i], y[i], c)
	}
	return x
}

// minus is x - y, which is not greater than x.
func (x wide) minus(y wide) wide {
	var b uint64
	for i := range x {
		x[i], b = bits.Sub64(x[i], y[i], b)
	}
	return x
}

// product is x × y.
func product(x, y uint128) wide {
	var p wide
	var c uint64
	h00, l00 := bits.Mul64(x.lo, y.lo)
	h01, l01 := bits.Mul64(x.lo, y.hi)
	h10, l10 := bits.Mul64(x.hi, y.lo)
	h11, l11 := bits.Mul64(x.hi, y.hi)
	p[0] = l00
	p[1], c = bits.Add64(h00, l01, 0)
	p[2], c = bits.Add64(h01, l11, c)
	p[3] = h11 + c
	p[1], c = bits.Add64(p[1], l10, 0)
	p[2], c = bits.Add64(p[2], h10, c)
	p[3] += c
	return p
}

// divide is the quotient and remainder of x and d, which is not 0: long division, word by word (Knuth, The Art
// of Computer Programming, 4.3.1, algorithm D).
func (x wide) divide(d uint128) (q wide, rem uint128) {
	top := len(x) - 1
	for top > 0 && x[top] == 0 {
		top--
	}
	if d.hi == 0 {
		var r uint64
		for i := top; i >= 0; i-- {
			q[i], r = bits.Div64(r, x[i], d.lo)
		}
		return q, uint128{0, r}
	}
	// With the divisor's top bit set, an estimated word of the quotient is at most 2 too large.
	shift := bits.LeadingZeros64(d.hi)
	d1, d0 := d.hi<<shift|d.lo>>(64-shift), d.lo<<shift
	r1, r0 := uint64(0), x[top]>>(64-shift) // the remainder so far, shifted
	for i := top; i >= 0; i-- {
		next := x[i] << shift
		if i > 0 {
			next |= x[i-1] >> (64 - shift)
		}
		q[i], r1, r0 = divideStep(r1, r0, next, d1, d0)
	}
	return q, uint128{r1 >> shift, r1<<(64-shift) | r0>>shift}
}

// divideStep divides the three words r1, r0, next by d1, d0. The quotient is one word: r1, r0 < d1, d0.
func divideStep(r1, r0, next, d1, d0 uint64) (q, s1, s0 uint64) {
	q = ^uint64(0)
	if r1 < d1 {
		q, _ = bits.Div64(r1, r0, d1)
	}
	// The remainder is (r1, r0, next) - q × (d1, d0); while it is negative, q is too large.
	h0, l0 := bits.Mul64(q, d0)
	h1, l1 := bits.Mul64(q, d1)
	m1, c := bits.Add64(h0, l1, 0)
	m2 := h1 + c
	s0, b := bits.Sub64(next, l0, 0)
	s1, b = bits.Sub64(r0, m1, b)
	s2, _ := bits.Sub64(r1, m2, b)
	for s2 != 0 {
		q--
		s0, c = bits.Add64(s0, d0, 0)
		s1, c = bits.Add64(s1, d1, c)
		s2 += c
	}
	return q, s1, s0
}

// divideEven is x / d, rounded to the nearest, and to the even one where two are equally near.
func (x wide) divideEven(d uint128) wide {
	q, rem := x.divide(d)
	rest := uint128{}
	var b uint64
	rest.lo, b = bits.Sub64(d.lo, rem.lo, 0)
	rest.hi, _ = bits.Sub64(d.hi, rem.hi, b)
	if rest.less(rem) || rest == rem && q[0]&1 == 1 {
		return q.plusOne()
	}
	return q
}

func (x wide) plusOne() wide {
	for i := range x {
		if x[i]++; x[i] != 0 {
			break
		}
	}
	return x
}

// isDecimal reports whether x has at most so many decimal digits.
func (x wide) isDecimal(digits int) bool {
	for _, w := range x[2:] {
		if w != 0 {
			return false
		}
	}
	return uint128{x[1], x[0]}.less(power10(digits))
}

// signed is x, which fits, as an Int128.
func (x wide) signed(neg bool) Int128 {
	v := Int128{int64(x[1]), x[0]}
	if neg {
		return v.Neg()
	}
	return v
}
