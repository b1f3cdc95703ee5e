package runtime

import "encoding/binary"

// A delta is what changed in one key group of a window operator since the checkpoint before:
//
//	format, one byte
//	for each window with changes, oldest first:
//		start, varint
//		number of keys, uvarint
//		for each of them, in any order:
//			length, uvarint, and key
//			length, uvarint, and state
//
// Nothing is listed for a window that has closed: whoever reads a delta knows W, and skips it. So the cost
// of a checkpoint follows what changed in windows that are still open.
const deltaFormat = 1

func appendDeltaWindow(b []byte, start Time, keys int) []byte {
	b = binary.AppendVarint(b, int64(start))
	return binary.AppendUvarint(b, uint64(keys))
}

func appendSized(b, v []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}

// takeSized is what appendSized appended, and the rest of b, which is nil if b is damaged.
func takeSized(b []byte) (v, rest []byte) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil
	}
	b = b[n:]
	return b[:size:size], b[size:]
}

// deltaReader reads a delta. After something wrong it is at the end.
type deltaReader struct {
	b     []byte
	keys  uint64 // of the window at hand that are still to be read
	wrong string // what is damaged
}

func readDelta(b []byte) deltaReader {
	if len(b) == 0 || b[0] != deltaFormat {
		return deltaReader{wrong: "unknown format"}
	}
	return deltaReader{b: b[1:]}
}

// nextWindow goes on to the next window. The keys of the one before must have been read.
func (r *deltaReader) nextWindow() (start Time, ok bool) {
	if len(r.b) == 0 {
		return 0, false
	}
	at, n := binary.Varint(r.b)
	if start = Time(at); n <= 0 || start < firstTime-longestWindow || start > lastTime {
		return 0, r.fail("the start of a window")
	}
	keys, m := binary.Uvarint(r.b[n:])
	if m <= 0 {
		return 0, r.fail("the number of keys of a window")
	}
	r.b, r.keys = r.b[n+m:], keys
	return start, true
}

// expected is about how many keys the window has: no more than there are bytes for.
func (r *deltaReader) expected() int { return int(min(r.keys, uint64(len(r.b)/3))) }

// next goes on to the next key of the window.
func (r *deltaReader) next() (key, state []byte, ok bool) {
	if r.keys == 0 {
		return nil, nil, false
	}
	r.keys--
	key, rest := takeSized(r.b)
	if rest == nil {
		return nil, nil, r.fail("a key")
	}
	state, rest = takeSized(rest)
	if rest == nil {
		return nil, nil, r.fail("the state of a key")
	}
	r.b = rest
	return key, state, true
}

// fail keeps what is wrong. It returns false.
func (r *deltaReader) fail(what string) bool {
	r.b, r.keys, r.wrong = nil, 0, what
	return false
}
