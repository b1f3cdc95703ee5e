package runtime

import "encoding/binary"

// The key of a row is its only key field if that is a string that cannot be null: its bytes. Else it is all fields
// one behind the other, each telling where it ends, so that different fields never give equal bytes. A field that may
// be null has AppendKeyNull before it, so null differs from "".
//
// The Read functions return the value and the rest of b, which is nil if b is damaged.

// AppendKeyNull says whether a value follows.
func AppendKeyNull(b []byte, ok bool) []byte { return AppendStateBool(b, ok) }

// ReadKeyNull reports whether a value follows.
func ReadKeyNull(b []byte) (ok bool, rest []byte) { return ReadStateBool(b) }

// AppendKeyString appends a string with its length.
func AppendKeyString(b, s []byte) []byte {
	return appendSized(b, s)
}

// ReadKeyString returns a string that points into b.
func ReadKeyString(b []byte) (s, rest []byte) { return takeSized(b) }

// AppendKeyBool appends a bool.
func AppendKeyBool(b []byte, v bool) []byte { return AppendStateBool(b, v) }

// ReadKeyBool reads what AppendKeyBool appended.
func ReadKeyBool(b []byte) (bool, []byte) { return ReadStateBool(b) }

// AppendKeyInt appends an int.
func AppendKeyInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// ReadKeyInt reads what AppendKeyInt appended.
func ReadKeyInt(b []byte) (int64, []byte) { return ReadStateInt(b) }

// AppendKeyDecimal is for a decimal of at most 18 digits.
func AppendKeyDecimal(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// ReadKeyDecimal reads what AppendKeyDecimal appended.
func ReadKeyDecimal(b []byte) (int64, []byte) { return ReadStateInt(b) }

// AppendKeyDecimal128 is for a decimal of more than 18 digits.
func AppendKeyDecimal128(b []byte, x Int128) []byte { return AppendStateInt128(b, x) }

// ReadKeyDecimal128 reads what AppendKeyDecimal128 appended.
func ReadKeyDecimal128(b []byte) (Int128, []byte) { return ReadStateInt128(b) }

// AppendKeyTime appends a timestamp.
func AppendKeyTime(b []byte, t Time) []byte { return binary.AppendVarint(b, int64(t)) }

// ReadKeyTime reads what AppendKeyTime appended.
func ReadKeyTime(b []byte) (Time, []byte) { return ReadStateTime(b) }

// AppendKeyDuration appends a duration.
func AppendKeyDuration(b []byte, d Time) []byte { return AppendKeyTime(b, d) }

// ReadKeyDuration reads what AppendKeyDuration appended.
func ReadKeyDuration(b []byte) (Time, []byte) { return ReadStateTime(b) }
