package runtime

import (
	"math/bits"
	"strconv"
)

// AppendDecimal appends the decimal number v / 10^scale, with all scale digits.
func AppendDecimal(b []byte, v int64, scale int) []byte {
	return AppendDecimal128(b, Wide(v), scale)
}

// AppendDecimal128 is AppendDecimal for a decimal of more than 18 digits.
func AppendDecimal128(b []byte, x Int128, scale int) []byte {
	if x.Hi < 0 {
		b = append(b, '-')
		x = x.Neg()
	}
	if x.Hi != 0 || scale >= len(pow10) {
		return appendWide(b, x, scale)
	}
	unit := pow10[scale]
	b = strconv.AppendUint(b, x.Lo/unit, 10)
	if scale == 0 {
		return b
	}
	return appendDigits(append(b, '.'), x.Lo%unit, scale)
}

// appendWide is for what does not fit 64 bits: two numbers of at most 19 digits.
func appendWide(b []byte, x Int128, scale int) []byte {
	hi, lo := bits.Div64(uint64(x.Hi), x.Lo, 1e19)
	var buf [2 * 20]byte
	digits := strconv.AppendUint(buf[:0], lo, 10)
	if hi != 0 {
		digits = appendDigits(strconv.AppendUint(buf[:0], hi, 10), lo, 19)
	}
	if scale == 0 {
		return append(b, digits...)
	}
	if len(digits) <= scale {
		b = append(b, "0."...)
		b = appendDigits(b, 0, scale-len(digits))
		return append(b, digits...)
	}
	b = append(b, digits[:len(digits)-scale]...)
	b = append(b, '.')
	return append(b, digits[len(digits)-scale:]...)
}

// appendDigits appends the last n decimal digits of v.
func appendDigits(b []byte, v uint64, n int) []byte {
	end := len(b) + n
	for range n {
		b = append(b, '0')
	}
	for i := end - 1; v != 0 && i >= end-n; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return b
}
