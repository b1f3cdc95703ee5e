package runtime

import "strconv"

// durationUnits are the units of a duration's text, the longest first.
var durationUnits = [...]struct {
	name string
	size Time
}{{"d", Day}, {"h", Hour}, {"m", Minute}, {"s", Second}, {"ms", Millisecond}, {"us", Microsecond}}

// AppendDuration appends d as a JSON string: `"1m30s"`. Its text is a minus where it is negative, then numbers with
// their units, the longest first, each at most once; zero is `0s`.
func AppendDuration(b []byte, d Time) []byte {
	b = append(b, '"')
	if d == 0 {
		return append(b, `0s"`...)
	}
	rest, neg := magnitude(int64(d))
	if neg {
		b = append(b, '-')
	}
	for _, u := range &durationUnits {
		if n := rest / uint64(u.size); n > 0 {
			b = strconv.AppendUint(b, n, 10)
			b = append(b, u.name...)
			rest -= n * uint64(u.size)
		}
	}
	return append(b, '"')
}

// parseDuration reads what AppendDuration writes, and the same with more than 59 seconds and the like.
func parseDuration(b []byte) (d Time, ok bool) {
	i := unsigned(b, 0)
	neg := i > 0
	last := -1 // the unit before
	var c Calc
	for i < len(b) {
		end := skipDigits(b, i)
		m, err := strconv.ParseUint(borrow(b[i:end]), 10, 64)
		n := int64(m)
		if neg {
			n = -n
		}
		if err != nil || n != 0 && n < 0 != neg {
			return 0, false
		}
		unit, size := durationUnit(b[end:])
		if unit <= last {
			return 0, false
		}
		d = c.AddDuration(d, c.MulDuration(durationUnits[unit].size, n))
		i, last = end+size, unit
	}
	return d, last >= 0 && !c.Failed()
}

// durationUnit is the unit that b begins with and the length of its name; -1 for none.
func durationUnit(b []byte) (unit, size int) {
	end := 0
	for end < len(b) && b[end]-'0' > 9 {
		end++
	}
	for i := range durationUnits {
		if string(b[:end]) == durationUnits[i].name {
			return i, end
		}
	}
	return -1, 0
}
