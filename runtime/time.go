package runtime

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"time"
)

// Time is a point in time in microseconds since 1970-01-01T00:00:00Z, or a length
// of time. A record has one of the years 0001 to 9999, all that RFC 3339 can write:
// a thirtieth of what fits, so there is room for sums.
type Time int64

const (
	Microsecond Time = 1
	Millisecond      = 1e3 * Microsecond
	Second           = 1e3 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
	Day              = 24 * Hour

	// Nanos is the unit of numbers that count nanoseconds. It is no length: Time has nothing so short.
	Nanos Time = 0

	// MinTime and MaxTime are before and after every event.
	MinTime Time = math.MinInt64
	MaxTime Time = math.MaxInt64

	firstTime      = -719_162 * Day    // 0001-01-01T00:00:00Z
	lastTime       = 2_932_897*Day - 1 // 9999-12-31T23:59:59.999999Z
	longerThanTime = lastTime - firstTime + 1
)

// TimeOf is t as a field of a record has it. What is finer than a microsecond is dropped, towards the past.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Time is the point in time t as the standard library has it, in UTC.
func (t Time) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// day is the date of the last timestamp read. Nearly all records share it.
type day struct {
	text  [2]uint64 // `2026-01-` and `01T`
	start Time
}

// Time reads an RFC 3339 timestamp. Digits beyond microseconds are dropped: it
// becomes earlier, also before 1970.
func (c *JSON) Time() Time {
	b, i := c.rec, c.pos
	if i < len(b) && b[i] == '"' {
		if t, n := c.day.parse(b[i+1:]); n > 0 && b[i+1+n] == '"' {
			c.pos = i + n + 2
			return t
		}
	}
	return c.slowTime()
}

// slowTime is Time for a string with escapes, and for one that is no timestamp.
func (c *JSON) slowTime() Time {
	i := c.pos
	if i < len(c.rec) && c.rec[i] == '"' {
		if text, end, escaped := c.readString(i); escaped && end > 0 {
			text = append(text, '"')
			if t, n := c.day.parse(text); n == len(text)-1 {
				c.pos = end
				return t
			}
		}
	}
	c.fail(c.whyNoTime(i), i)
	return 0
}

// whyNoTime is what stands where an RFC 3339 timestamp was looked for.
func (c *JSON) whyNoTime(i int) string {
	switch {
	case skipNumberAt(c.rec, i) > 0:
		return timeIsNumber
	case i < len(c.rec) && c.rec[i] == '"':
		if text, end, _ := c.readString(i); end > 0 {
			return c.day.whyNot(text)
		}
	}
	return notTime
}

// whyNot is the reason for which text is no timestamp. What others take for one gets a reason of its own, if it is all that is wrong.
func (d *day) whyNot(text []byte) string {
	const (
		longest = len("2026-01-01T00:00:00.000000000+00:00")
		seconds = len("2026-01-01T00:00:")
	)
	if len(text) > longest || len(text) < seconds+2 {
		return notTime
	}
	var room [longest + len(`Z"`)]byte
	is := func(changed ...byte) bool {
		_, length := d.parse(append(changed, '"'))
		return length == len(changed)
	}
	b := append(room[:0], text...)
	switch capital := bytes.ToUpper(b); {
	case is(append(b, 'Z')...):
		return noZone
	case is(capital...):
		return lowerCase
	}
	if string(b[seconds:seconds+2]) == "60" {
		copy(b[seconds:], "59")
		if is(b...) {
			return leapSecond
		}
	}
	return notTime
}

// parse reads the timestamp that b begins with. The length is 0 if there is none, or
// if nothing follows it.
func (d *day) parse(b []byte) (t Time, length int) {
	if len(b) <= len("2026-01-01T00:00:00Z") {
		return 0, 0
	}
	date := [2]uint64{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]) & 0xffffff}
	if date != d.text {
		start, ok := parseDate(b[:11])
		if !ok {
			return 0, 0
		}
		*d = day{date, start}
	}
	t, ok := parseClock(binary.LittleEndian.Uint64(b[11:]))
	t += d.start
	i := 19
	if b[i] == '.' {
		unit := Second
		for i++; i < len(b) && b[i]-'0' < 10; i++ {
			unit /= 10
			t += unit * Time(b[i]-'0')
		}
		ok = ok && i > 20
	}
	switch {
	case !ok || i >= len(b):
		return 0, 0
	case b[i] == 'Z':
		i++
	default:
		var offset Time
		if offset, ok = parseOffset(b[i:]); !ok {
			return 0, 0
		}
		if t -= offset; t < firstTime || t > lastTime {
			return 0, 0
		}
		i += len("+00:00")
	}
	if i >= len(b) {
		return 0, 0
	}
	return t, i
}

// parseClock reads hh:mm:ss, all eight bytes at once.
func parseClock(w uint64) (t Time, ok bool) {
	w ^= 0x30303a30303a3030 // what `00:00:00` is
	if (w|(w+0x76767f76767f7676))&highBits != 0 {
		return 0, false // a byte is no digit, or no colon
	}
	w = w*10 + w>>8
	h, m, s := w&0xff, w>>24&0xff, w>>48&0xff
	return Time(h*3600+m*60+s) * Second, h < 24 && m < 60 && s < 60
}

// parseOffset reads +hh:mm or -hh:mm.
func parseOffset(b []byte) (offset Time, ok bool) {
	if len(b) < 6 || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	text := [8]byte{5: ':', 6: '0', 7: '0'}
	copy(text[:5], b[1:])
	offset, ok = parseClock(binary.LittleEndian.Uint64(text[:]))
	if b[0] == '-' {
		offset = -offset
	}
	return offset, ok
}

// parseDate reads yyyy-mm-ddT.
func parseDate(b []byte) (start Time, ok bool) {
	var v [3]int
	field := 0
	for i, c := range b {
		switch {
		case i == 4 || i == 7:
			ok = c == '-'
			field++
		case i == 10:
			ok = c == 'T'
		default:
			ok = c-'0' < 10
			v[field] = v[field]*10 + int(c-'0')
		}
		if !ok {
			return 0, false
		}
	}
	y, m, d := v[0], v[1], v[2]
	if y < 1 || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, false
	}
	// Years begin in March, so that the leap day is the last of its year.
	if m <= 2 {
		y--
		m += 12
	}
	days := 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 719469
	return Time(days) * Day, true
}

func daysIn(y, m int) int {
	if m == 2 && y%4 == 0 && (y%100 != 0 || y%400 == 0) {
		return 29
	}
	return [...]int{1: 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m]
}

// parseTime reads text that is an RFC 3339 timestamp. scratch is room to work in, and is returned.
func (d *day) parseTime(text, scratch []byte) (t Time, ok bool, _ []byte) {
	scratch = append(append(scratch, text...), '"')
	t, n := d.parse(scratch[len(scratch)-len(text)-1:])
	return t, n > 0 && n == len(text), scratch[:len(scratch)-len(text)-1]
}

// timeOfUnit is the time that a number counts in the unit, if it is one.
func timeOfUnit(w wide, neg bool, unit Time) (t Time, ok bool) {
	if unit == Nanos {
		q, rest := w.divide(uint128{0, 1000})
		if neg && rest.lo != 0 { // towards the past
			q = q.plusOne()
		}
		w, unit = q, Microsecond
	}
	x := w.signed(neg)
	if !x.isInt64() || Time(x.Lo) > lastTime/unit || Time(x.Lo) < firstTime/unit {
		return 0, false
	}
	return Time(x.Lo) * unit, true
}

// AppendTimeUnit appends the integer that counts from 1970 to t in the unit. What is finer than the unit is dropped,
// towards the past; what lies beyond the years 0001 to 9999 is written as for AppendTime.
func AppendTimeUnit(b []byte, t, unit Time) []byte {
	t = max(firstTime, min(t, lastTime))
	if unit == Nanos {
		b = strconv.AppendInt(b, int64(t), 10)
		if t != 0 {
			b = append(b, "000"...) // as text, since 64 bits of nanoseconds end in the year 2262
		}
		return b
	}
	n := t / unit
	if n*unit > t {
		n--
	}
	return strconv.AppendInt(b, int64(n), 10)
}

// AppendTime appends t as an RFC 3339 string in UTC, with as many digits after the
// second as it needs. What lies beyond the years 0001 to 9999, such as the end of the
// last window, is written as the first or last Time within them.
func AppendTime(b []byte, t Time) []byte {
	t = max(firstTime, min(t, lastTime))
	days := t / Day
	if t %= Day; t < 0 {
		days--
		t += Day
	}
	year, month, day := date(int(days))
	s := uint32(t / Second)
	b = append(b, `"0000-00-00T00:00:00`...)
	text := (*[20]byte)(b[len(b)-20:])
	put2(text[1:], year/100)
	put2(text[3:], year%100)
	put2(text[6:], month)
	put2(text[9:], day)
	put2(text[12:], s/3600)
	put2(text[15:], s/60%60)
	put2(text[18:], s%60)
	if t %= Second; t != 0 {
		b = appendDigits(append(b, '.'), uint64(t), 6)
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return append(b, 'Z', '"')
}

// date is the date of a day counted from 1970-01-01, after Neri and Schneider,
// "Euclidean affine functions and their application to calendar algorithms".
func date(days int) (year, month, day uint32) {
	n := uint32(days+719468)*4 + 3 // quarters of days since 0000-03-01
	century := n / 146097
	p := uint64(n%146097|3) * 2939745
	dayOfYear := uint32(p) / 2939745 / 4
	m := dayOfYear*2141 + 197913
	year, month, day = 100*century+uint32(p>>32), m>>16, m&0xffff/2141+1
	if dayOfYear >= 306 {
		return year + 1, month - 12, day
	}
	return year, month, day
}

func put2(b []byte, n uint32) {
	b[0], b[1] = byte('0'+n/10), byte('0'+n%10)
}
