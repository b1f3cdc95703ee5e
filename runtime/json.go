package runtime

import "encoding/binary"

// JSON reads one JSON object after the other, without copying or allocating:
//
//	for c.Begin(value); c.Next(); {
//		switch c.Field() {
//		case orderUserID:
//			o.UserID = c.String()
//		...
//	}
//	return c.End()
//
// Next stops at the declared fields only. It checks and skips all others, in any
// order and with any white space. The text between two values, such as
// `,"amount":`, is nearly always the text that stood there in the record before:
// Next compares 16 bytes with what followed last time and reads the name byte by
// byte only when they differ. So it needs no promise about the order of fields,
// and a record of another shape costs time, never correctness.
//
// After a fault every method is harmless and Next returns false.
type JSON struct {
	rec    []byte  // the record
	pos    int     // next byte to read
	field  int     // the field Next stopped at
	seen   uint64  // a bit for each declared field of this record
	prev   *member // the last member read
	missed int     // how many members of this record were not the expected ones
	fault  Fault

	fields   []Field
	required uint64
	members  [maxMembers]member // members[0] stands for the begin of a record
	learned  int                // how many of them are in use
	other    member             // a member that is not learned
	scratch  []byte             // unescaped strings of this record
	day      day                // the date of the last timestamp
}

// Field is a member of a JSON object that a pipeline uses.
type Field struct {
	Name     string
	Optional bool // it may be missing: it is nullable or has a default
}

// MaxFields is how many members of an object a pipeline can use: the number of bits in JSON.seen.
const MaxFields = 64

// maxMembers bounds what is remembered of the shape of records. Names beyond it
// are read byte by byte every time.
const maxMembers = 64

// maxLessons bounds how many members of one record are looked up and learned, so
// that records whose fields come in any order are not much slower than without.
const maxLessons = 2

// maxLearned bounds the text that is remembered of a member, in bytes: a record may have names and white space of any length.
const maxLearned = 256

// member is the text from the end of one value to the begin of the next.
type member struct {
	text  [2]uint64 // the first 16 bytes,
	mask  [2]uint64 // of which these count,
	n     int       // length of the whole text
	field int       // index into fields, or noField
	next  *member   // the member that came after this one last time
	tail  string    // what is beyond 16 bytes
}

const noField = -1

// NewJSON makes a reader of objects with the given fields.
func NewJSON(fields []Field) *JSON {
	if len(fields) > MaxFields {
		panic("rt: more than 64 fields in one object")
	}
	c := &JSON{fields: fields, learned: 1}
	// The text of members[0] is no JSON: it is never the next member.
	c.members[0] = member{mask: [2]uint64{^uint64(0), ^uint64(0)}, field: noField}
	c.members[0].next = &c.members[0]
	c.other.next = &c.members[0]
	for i, f := range fields {
		if !f.Optional {
			c.required |= 1 << i
		}
	}
	return c
}

// Begin starts with the object in rec. What String returned for the record
// before is valid until then.
func (c *JSON) Begin(rec []byte) {
	c.rec, c.pos, c.seen, c.missed = rec, 0, 0, 0
	c.prev = &c.members[0]
	c.fault.Reason = ""
	c.scratch = c.scratch[:0]
}

// Field is the index of the field whose value is next.
func (c *JSON) Field() int { return c.field }

// Next goes on to the value of the next declared field.
func (c *JSON) Next() bool {
	b, i, m := c.rec, c.pos, c.prev
	for {
		next := m.next
		if i+16 <= len(b) && next.begins((*[16]byte)(b[i:])) && (next.n <= 16 || next.goesOn(b[i:])) {
			m = next
			i += m.n
		} else {
			c.pos, c.prev = i, m
			if m = c.readMember(); m == nil {
				return false
			}
			i = c.pos
		}
		if m.field != noField {
			c.field, c.pos, c.prev = m.field, skipSpace(b, i), m
			bit := uint64(1) << m.field
			if c.seen&bit != 0 {
				return c.fail(duplicateField, i)
			}
			c.seen |= bit
			return true
		}
		end := skipValue(b, i)
		if end < 0 {
			return c.failSkipped(i, ^end)
		}
		i = end
	}
}

// begins reports whether the first 16 bytes of the text of m are those of head.
func (m *member) begins(head *[16]byte) bool {
	return (binary.LittleEndian.Uint64(head[:8])^m.text[0])&m.mask[0]|
		(binary.LittleEndian.Uint64(head[8:])^m.text[1])&m.mask[1] == 0
}

// goesOn reports whether b has the rest of the text of m.
func (m *member) goesOn(b []byte) bool {
	return m.n <= len(b) && string(b[16:m.n]) == m.tail
}

// End reports whether the record was a complete object with all required fields.
func (c *JSON) End() bool {
	if c.fault.Reason != "" {
		return false
	}
	if missing := c.required &^ c.seen; missing != 0 {
		for c.field = 0; missing&1 == 0; missing >>= 1 {
			c.field++
		}
		return c.fail(missingField, len(c.rec))
	}
	return true
}

// Fault says what is wrong with the record after End returned false.
func (c *JSON) Fault() Fault { return c.fault }

// fail keeps the first fault. It returns false.
func (c *JSON) fail(reason string, at int) bool {
	if c.fault.Reason == "" {
		c.fault = Fault{Reason: c.why(reason, at), At: at}
		if c.field >= 0 {
			c.fault.Field = c.fields[c.field].Name
		}
	}
	// Nothing can be read from an empty record.
	c.rec, c.pos = nil, 0
	return false
}

// failSkipped is fail for the value at i, which cannot be skipped because of what stands at a byte.
func (c *JSON) failSkipped(i, at int) bool {
	c.field = noField
	if !nestedTooDeep(c.rec, i) {
		return c.fail(badValue, at)
	}
	c.fail(tooDeep, at)
	c.fault.Digits = maxDepth
	return false
}

// why is the reason for a fault at a byte, where something is looked for. It is another one if the record was cut off there or within
// the value of a field, and if that is null.
func (c *JSON) why(reason string, at int) string {
	switch {
	case reason == missingField || reason == duplicateField:
		return reason
	case skipSpace(c.rec, at) == len(c.rec):
		return truncated
	case c.field < 0:
		return reason
	case c.Null():
		return isNull
	case ^skipValue(c.rec, c.pos) == len(c.rec):
		return truncated
	}
	return reason
}

// readMember reads from the end of a value to the begin of the next one, byte by
// byte. It returns nil at the end of the object.
func (c *JSON) readMember() *member {
	c.field = noField
	if c.fault.Reason != "" {
		return nil
	}
	b, start := c.rec, c.pos
	i := skipSpace(b, start)
	first := start == 0
	switch {
	case i == len(b):
		return c.stop(truncated, i)
	case !first && b[i] == '}':
		return c.endObject(i)
	case first && b[i] != '{':
		return c.stop(notAnObject, i)
	case !first && b[i] != ',':
		return c.stop(badDelimiter, i)
	}
	i = skipSpace(b, i+1)
	if first && i < len(b) && b[i] == '}' {
		return c.endObject(i)
	}
	if i == len(b) || b[i] != '"' {
		return c.stop(badDelimiter, i)
	}
	var name []byte
	escaped := false
	if end := plainText(b, i+1); end < len(b) && b[end] == '"' {
		name, i = b[i+1:end], end+1
	} else {
		name, _ = c.unescape(i + 1) // nil for half a character: no name of ours
		escaped = true
		if i = skipString(b, i); i < 0 {
			return c.stop(badName, ^i)
		}
	}
	i = skipSpace(b, i)
	if i == len(b) || b[i] != ':' {
		return c.stop(badDelimiter, i)
	}
	c.pos = skipSpace(b, i+1)

	field := noField
	for k := range c.fields {
		if string(name) == c.fields[k].Name {
			field = k
		}
	}
	m := &c.other
	if c.missed++; c.missed <= maxLessons && !escaped && c.pos-start <= maxLearned {
		m = c.learn(b[start:c.pos], field)
	}
	m.field = field
	c.prev = m
	return m
}

// stop is fail for a function that returns a member.
func (c *JSON) stop(reason string, at int) *member {
	c.fail(reason, at)
	return nil
}

// endObject checks what follows the brace at i. It returns nil.
func (c *JSON) endObject(i int) *member {
	if end := skipSpace(c.rec, i+1); end != len(c.rec) {
		return c.stop(trailingBytes, end)
	}
	c.pos = len(c.rec)
	return nil
}

// learn remembers that the text of a field came after c.prev.
func (c *JSON) learn(text []byte, field int) *member {
	var head [16]byte
	n := copy(head[:], text)
	word0, word1 := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:])
	for i := 1; i < c.learned; i++ {
		m := &c.members[i]
		if m.text[0] == word0 && m.text[1] == word1 && m.n == len(text) && (n < 16 || string(text[16:]) == m.tail) {
			c.prev.next = m
			return m
		}
	}
	if c.learned == maxMembers {
		return &c.other
	}
	m := &c.members[c.learned]
	c.learned++
	*m = member{text: [2]uint64{word0, word1}, n: len(text), field: field, next: &c.members[0], tail: string(text[n:])}
	m.mask[0] = ^uint64(0) >> (64 - 8*min(n, 8))
	m.mask[1] = ^uint64(0) >> (64 - 8*max(n-8, 0))
	c.prev.next = m
	return m
}
