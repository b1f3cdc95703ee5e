package runtime

import (
	"strconv"
	"strings"
)

// Fault says why a record cannot be used. It is a value, so that a topic full of
// bad records costs no memory.
type Fault struct {
	Reason string // what is wrong, perhaps with # for Digits
	Digits int    // how many a decimal may have
	Field  string // in which field, if any
	At     int    // at which byte of the value; -1 for one that was computed
}

// noByte is the place of a fault that is not in the bytes of a record.
const noByte = -1

// Reasons of a Fault.
const (
	badDelimiter   = "not JSON: a comma, colon, quote or brace is missing"
	badName        = "not JSON: a field name is not closed or has a bad escape"
	badValue       = "not JSON: a value is malformed"
	tooDeep        = "nested more than # levels deep, which is as far as eoc reads"
	trailingBytes  = "not JSON: something follows the object"
	truncated      = "not JSON: the record ends too early"
	notAnObject    = "not a JSON object"
	duplicateField = "given twice"
	missingField   = "missing"
	isNull         = "null, which only a field of a type with ? takes, or one with a default"
	notString      = "not a string"
	notNumber      = "not a number"
	notInteger     = "not an integer of 64 bits"
	notFloat       = "too large for a float"
	notBool        = "not true or false"
	tooWide        = "more than # digits before the point"
	tooFine        = "more than # digits behind the point"
	notTime        = "not an RFC 3339 timestamp of the years 0001 to 9999"
	timeIsNumber   = "a number, not RFC 3339 text: a field of type timestamp(ms) reads milliseconds, timestamp(s) seconds"
	timeIsText     = "text, not a number: a field of type timestamp reads RFC 3339 text"
	lowerCase      = "a timestamp with a small t or z, which have to be capitals"
	leapSecond     = "a leap second: seconds go from 00 to 59"
	noZone         = "no time zone behind the timestamp, such as Z or +02:00"
	notEpoch       = "not a timestamp of the years 0001 to 9999"
	notDuration    = "not a duration such as 1m30s"
	badString      = "not closed, or with a bad escape, control character or invalid UTF-8"

	noValue     = "the record has no value, and on_null is fail"
	noTimestamp = "the record has no Kafka timestamp of the years 0001 to 9999"

	intOverflow     = "does not fit an int"
	floatOverflow   = "does not fit a float"
	decimalOverflow = "more than # digits"
	timeOverflow    = "outside the years 0001 to 9999"
	byZero          = "division by zero"
)

// Error is the text of the fault, which is an error where a record is read outside of a pipeline.
func (f Fault) Error() string { return string(f.AppendText(nil)) }

// AppendText appends the fault as a sentence: `amount: not a number (byte 57)`.
func (f Fault) AppendText(b []byte) []byte {
	if f.Field != "" {
		b = append(b, f.Field...)
		b = append(b, ": "...)
	}
	before, behind, numbered := strings.Cut(f.Reason, "#")
	b = append(b, before...)
	if numbered {
		b = strconv.AppendInt(b, int64(f.Digits), 10)
		b = append(b, behind...)
	}
	if f.At == noByte {
		return b
	}
	b = append(b, " (byte "...)
	b = strconv.AppendInt(b, int64(f.At), 10)
	return append(b, ')')
}
