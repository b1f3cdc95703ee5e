package runtime

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Masks for looking at eight bytes of text at once.
const (
	lowBits   = 0x0101010101010101
	highBits  = 0x8080808080808080
	quotes    = 0x2222222222222222
	escapes   = 0x5c5c5c5c5c5c5c5c
	firstChar = 0x2020202020202020 // what is below is a control character
)

// maxDepth is how many levels of objects and arrays a record may have, itself included: as many as for encoding/json.
const maxDepth = 10_000

// usualDepth is how deep a value may be nested to be skipped without memory.
const usualDepth = 256

// plainText returns the index of the first quote, backslash or control character
// in b[i:], or len(b).
func plainText(b []byte, i int) int {
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		q, e := w^quotes, w^escapes
		if m := ((q-lowBits)&^q | (e-lowBits)&^e | (w-firstChar)&^w) & highBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3 // the first hit is never a false one
		}
		i += 8
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	return i
}

// skipString returns the index after the string that begins with the quote b[i],
// or ^k for a fault at byte k.
func skipString(b []byte, i int) int {
	i = plainText(b, i+1)
	for i < len(b) && b[i] == '\\' {
		n := escapeLen(b[i:])
		if n == 0 {
			return ^i
		}
		i = plainText(b, i+n)
	}
	if i >= len(b) || b[i] != '"' {
		return ^i
	}
	return i + 1
}

// escapeLen is the length of the escape that b begins with, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 || b[0] != '\\' {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

// readString reads the string that begins with the quote at i: its text without
// escapes and the index after it, or ^k for a fault at byte k.
func (c *JSON) readString(i int) (text []byte, end int, escaped bool) {
	b := c.rec
	if j := plainText(b, i+1); j < len(b) && b[j] == '"' {
		text, end = b[i+1:j], j+1
	} else {
		text, end = c.unescape(i + 1)
		escaped = true
	}
	if end >= 0 && !utf8.Valid(text) {
		end = ^i
	}
	return text, end, escaped
}

// unescape copies the string whose text begins at i to the scratch space.
func (c *JSON) unescape(i int) (text []byte, end int) {
	b, start := c.rec, len(c.scratch)
	for {
		j := plainText(b, i)
		c.scratch = append(c.scratch, b[i:j]...)
		if j == len(b) {
			return nil, ^j
		}
		if b[j] == '"' {
			return c.scratch[start:], j + 1
		}
		n := escapeLen(b[j:])
		switch {
		case n == 0:
			return nil, ^j
		case n == 2:
			c.scratch = append(c.scratch, unescaped[b[j+1]])
		default:
			r, _ := hex4(b[j+2:])
			if utf16.IsSurrogate(r) {
				var r2 rune
				if escapeLen(b[j+n:]) == 6 {
					r2, _ = hex4(b[j+n+2:])
					n += 6
				}
				if r = utf16.DecodeRune(r, r2); r == utf8.RuneError {
					return nil, ^j // half a character is not text
				}
			}
			c.scratch = utf8.AppendRune(c.scratch, r)
		}
		i = j + n
	}
}

var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// skipSpace returns the index of the first byte at or after i that is no space.
func skipSpace(b []byte, i int) int {
	if i < len(b) && b[i] > ' ' {
		return i // in nearly all records; small enough to be inlined
	}
	return skipSpaces(b, i)
}

func skipSpaces(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the index after the value at i, or ^k for a fault at byte k.
func skipValue(b []byte, i int) int {
	if i < len(b) && b[i] == '"' {
		if end := plainText(b, i+1); end < len(b) && b[end] == '"' {
			return end + 1
		}
		return skipString(b, i)
	}
	if i = skipSpace(b, i); i == len(b) {
		return ^i
	}
	switch c := b[i]; {
	case c == '-' || c-'0' < 10:
		return skipNumber(b, i)
	case c == '{' || c == '[':
		return skipNested(b, i)
	case c == '"':
		return skipString(b, i)
	}
	return skipWord(b, i)
}

func skipWord(b []byte, i int) int {
	for _, w := range [...]string{"null", "true", "false"} {
		if len(b)-i >= len(w) && string(b[i:i+len(w)]) == w {
			return i + len(w)
		}
	}
	return ^i
}

func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	end := skipDigits(b, i)
	if end == i || b[i] == '0' && end > i+1 {
		return ^i
	}
	if end < len(b) && b[end] == '.' {
		i = end + 1
		if end = skipDigits(b, i); end == i {
			return ^i
		}
	}
	if end < len(b) && b[end]|0x20 == 'e' {
		i = end + 1
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if end = skipDigits(b, i); end == i {
			return ^i
		}
	}
	return end
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}

// skipNested skips an object or array.
func skipNested(b []byte, i int) int {
	var levels [usualDepth / 64]uint64
	if end, ok := skipLevels(b, i, levels[:], usualDepth); ok {
		return end
	}
	end, _ := skipLevels(b, i, make([]uint64, maxDepth/64+1), maxDepth)
	return end
}

// nestedTooDeep says whether the value at i, which cannot be skipped, cannot because of its depth.
func nestedTooDeep(b []byte, i int) bool {
	if i = skipSpace(b, i); i == len(b) || b[i] != '{' && b[i] != '[' {
		return false
	}
	_, ok := skipLevels(b, i, make([]uint64, maxDepth/64+1), maxDepth)
	return !ok
}

// skipLevels skips an object or array. Bit d of objects tells whether the value at depth d is an object. It returns
// false if the depth is not below limit.
func skipLevels(b []byte, i int, objects []uint64, limit int) (end int, ok bool) {
	depth := 0
	for {
		// At the begin of a value.
		if i = skipSpace(b, i); i == len(b) {
			return ^i, true
		}
		if c := b[i]; c == '{' || c == '[' {
			if depth++; depth == limit {
				return ^i, false
			}
			bit := uint64(1) << (depth % 64)
			objects[depth/64] &^= bit
			i = skipSpace(b, i+1)
			if c == '{' {
				objects[depth/64] |= bit
			}
			if i == len(b) || b[i] != c+2 { // '{'+2 == '}', '['+2 == ']'
				if c == '{' {
					if i = skipName(b, i); i < 0 {
						return i, true
					}
				}
				continue
			}
			i++
			depth--
		} else if i = skipValue(b, i); i < 0 {
			return i, true
		}
		// At the end of a value: of as many as close here.
		for {
			if depth == 0 {
				return i, true
			}
			if i = skipSpace(b, i); i == len(b) {
				return ^i, true
			}
			isObject := objects[depth/64]>>(depth%64)&1 != 0
			if b[i] == ',' {
				i++
				if isObject {
					if i = skipName(b, skipSpace(b, i)); i < 0 {
						return i, true
					}
				}
				break
			}
			if isObject && b[i] != '}' || !isObject && b[i] != ']' {
				return ^i, true
			}
			i++
			depth--
		}
	}
}

// skipName skips a name and its colon.
func skipName(b []byte, i int) int {
	if i == len(b) || b[i] != '"' {
		return ^i
	}
	if i = skipString(b, i); i < 0 {
		return i
	}
	if i = skipSpace(b, i); i == len(b) || b[i] != ':' {
		return ^i
	}
	return i + 1
}
