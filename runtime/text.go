package runtime

import "unsafe"

// Text is a constant as a string value. It does not copy: the bytes must not be changed.
func Text(s string) []byte {
	if s == "" {
		return []byte{}
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// borrow is b as a string, for functions that do not keep it.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
