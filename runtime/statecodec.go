package runtime

import (
	"encoding/binary"
	"math"
)

// The Append functions are the form of state in a checkpoint. The Read functions return the value and
// the rest of b, which is nil if b is damaged.

// AppendStateInt appends an int, or a decimal of at most 18 digits.
func AppendStateInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// ReadStateInt reads what AppendStateInt appended.
func ReadStateInt(b []byte) (int64, []byte) {
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil
	}
	return v, b[n:]
}

// AppendStateTime appends a timestamp or a duration.
func AppendStateTime(b []byte, t Time) []byte { return binary.AppendVarint(b, int64(t)) }

// ReadStateTime reads what AppendStateTime appended.
func ReadStateTime(b []byte) (Time, []byte) {
	v, b := ReadStateInt(b)
	return Time(v), b
}

// AppendStateBool appends a bool.
func AppendStateBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// ReadStateBool reads what AppendStateBool appended.
func ReadStateBool(b []byte) (bool, []byte) {
	if len(b) == 0 || b[0] > 1 {
		return false, nil
	}
	return b[0] == 1, b[1:]
}

// AppendStateFloat appends a float.
func AppendStateFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// ReadStateFloat reads what AppendStateFloat appended.
func ReadStateFloat(b []byte) (float64, []byte) {
	if len(b) < 8 {
		return 0, nil
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
}

// AppendStateInt128 appends a decimal of more than 18 digits, or a sum.
func AppendStateInt128(b []byte, x Int128) []byte {
	b = binary.AppendVarint(b, x.Hi)
	return binary.AppendUvarint(b, x.Lo)
}

// ReadStateInt128 reads what AppendStateInt128 appended.
func ReadStateInt128(b []byte) (Int128, []byte) {
	hi, b := ReadStateInt(b)
	lo, n := binary.Uvarint(b)
	if n <= 0 {
		return Int128{}, nil
	}
	return Int128{hi, lo}, b[n:]
}

// AppendStateInt192 appends a sum of decimals of more than 18 digits.
func AppendStateInt192(b []byte, x Int192) []byte {
	b = binary.AppendVarint(b, x.Hi)
	b = binary.AppendUvarint(b, x.Mid)
	return binary.AppendUvarint(b, x.Lo)
}

// ReadStateInt192 reads what AppendStateInt192 appended.
func ReadStateInt192(b []byte) (Int192, []byte) {
	hi, b := ReadStateInt(b)
	mid, n := binary.Uvarint(b)
	if n <= 0 {
		return Int192{}, nil
	}
	b = b[n:]
	lo, n := binary.Uvarint(b)
	if n <= 0 {
		return Int192{}, nil
	}
	return Int192{hi, mid, lo}, b[n:]
}
