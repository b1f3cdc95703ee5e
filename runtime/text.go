package runtime

import (
	"bytes"
	"unsafe"
)

// Text is a constant as a string value. It does not copy: the bytes must not be changed.
func Text(s string) []byte {
	if s == "" {
		return []byte{}
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// Own is a copy of s in memory of its own, for a row that outlives the batch or is changed. nil stays nil.
func Own(s []byte) []byte { return bytes.Clone(s) }

// borrow is b as a string, for functions that do not keep it.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
