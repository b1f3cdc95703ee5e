package runtime

import (
	"math"
	"math/bits"
	"strconv"
)

// rounding says what a number has beyond the digits that were read of it.
type rounding uint8

const (
	exact rounding = iota
	lessThanHalf
	half
	moreThanHalf
	tooLarge // it has more than maxDigits digits
)

// unsigned is the index after a minus at b[i].
func unsigned(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	return i
}

// skipNumberAt is skipNumber where there may be something else, or nothing.
func skipNumberAt(b []byte, i int) int {
	if i < len(b) && (b[i] == '-' || b[i]-'0' < 10) {
		return skipNumber(b, i)
	}
	return ^i
}

// exactDecimal reads the magnitude of the number without sign at b[i] in units of 10^-scale. The end is negative
// where there is no number, or where it is not a whole number of units or has too many digits.
func exactDecimal(b []byte, i, scale int) (v wide, end int) {
	if i < len(b) && b[i]-'0' < 10 {
		if end = skipNumber(b, i); end >= 0 {
			if v, r := readDigits(b[i:end], scale); r == exact {
				return v, end
			}
		}
	}
	return wide{}, ^i
}

// readDigits reads the magnitude of a number in units of 10^-scale, cut to whole units, and says what was cut off. b
// is a JSON number, or one that begins with zeros, of any length and with any exponent.
func readDigits(b []byte, scale int) (v wide, r rounding) {
	digits, exp := splitExponent(b)
	shift := exp + scale // the digits are to be multiplied with 10^shift
	whole := len(digits)
	for i, c := range digits {
		if c == '.' {
			whole = i
			shift -= len(digits) - i - 1
		}
	}
	keep := len(digits) // how many digits are whole units
	if whole < keep {
		keep--
	}
	keep += min(shift, 0)
	count, used := 0, 0 // of digits; of those since the first that is not zero
	var x uint128
	for _, c := range digits {
		if c-'0' > 9 {
			continue
		}
		d := uint64(c - '0')
		if count >= keep {
			r = r.cut(d, count == keep)
			count++
			continue
		}
		count++
		if used > 0 || d != 0 {
			used++
		}
		if used > maxDigits {
			return wide{}, tooLarge
		}
		hi, lo := bits.Mul64(x.lo, 10)
		lo, carry := bits.Add64(lo, d, 0)
		x = uint128{x.hi*10 + hi + carry, lo}
	}
	if used > 0 && used+max(shift, 0) > maxDigits {
		return wide{}, tooLarge
	}
	if used == 0 {
		return wide{}, r
	}
	return wide{x.lo, x.hi}.times(max(shift, 0)), r
}

// cut is r with one more digit cut off. first says that it is the first.
func (r rounding) cut(digit uint64, first bool) rounding {
	switch {
	case first && digit > 5:
		return moreThanHalf
	case first && digit == 5:
		return half
	case first && digit > 0:
		return lessThanHalf
	case digit > 0 && r == exact:
		return lessThanHalf
	case digit > 0 && r == half:
		return moreThanHalf
	}
	return r
}

// splitExponent takes sign and exponent off a number.
func splitExponent(b []byte) (digits []byte, exp int) {
	b = b[unsigned(b, 0):]
	for i, c := range b {
		if c|0x20 == 'e' {
			return b[:i], atoi(b[i+1:])
		}
	}
	return b, 0
}

// atoi reads an exponent. One that is greater than any number of digits stays so.
func atoi(b []byte) int {
	n, neg := 0, false
	for _, c := range b {
		if c == '-' {
			neg = true
		} else if c != '+' && n < 1e10 {
			n = n*10 + int(c-'0')
		}
	}
	if neg {
		return -n
	}
	return n
}

// plainInteger reads what numbers nearly always are where an integer is wanted: up to 18 digits at b[i] and nothing of
// fraction or exponent behind them. The end is negative where something else stands.
func plainInteger(b []byte, i int) (m uint64, end int) {
	const most = 18 // digits that fit into 64 bits, whatever they are
	end = i
	for end < len(b) && b[end]-'0' < 10 && end < i+most {
		m = m*10 + uint64(b[end]-'0')
		end++
	}
	if end == i || b[i] == '0' && end > i+1 || end < len(b) && (b[end]-'0' < 10 || b[end] == '.' || b[end]|0x20 == 'e') {
		return 0, ^i
	}
	return m, end
}

// readInt reads the number at b[i], which must be an integer in range. It never goes through a float.
func readInt(b []byte, i int) (v int64, end int, reason string) {
	start := unsigned(b, i)
	neg := start > i
	m, end := plainInteger(b, start)
	if end < 0 {
		if skipNumberAt(b, i) < 0 {
			return 0, i, notNumber
		}
		var w wide
		if w, end = exactDecimal(b, start, 0); end < 0 {
			return 0, i, notInteger
		}
		if x := w.signed(neg); x.isInt64() {
			return int64(x.Lo), end, ""
		}
		return 0, i, notInteger
	}
	if neg {
		return -int64(m), end, ""
	}
	return int64(m), end, ""
}

// readFloat reads the number at b[i] as the nearest float.
func readFloat(b []byte, i int) (v float64, end int, reason string) {
	if end = skipNumberAt(b, i); end < 0 {
		return 0, i, notNumber
	}
	v, err := strconv.ParseFloat(borrow(b[i:end]), 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, i, notFloat
	}
	return v, end, ""
}
