package runtime

// grid is where windows lie: [start, end) with start = offset + n × size, closed at end + grace.
type grid struct{ size, offset, grace Time }

// span is one window of a grid.
type span struct{ start, end, closeAt Time }

// noSpan holds no time.
var noSpan = span{start: MaxTime, end: MinTime, closeAt: MinTime}

// longestWindow keeps the sums of times and lengths far from overflow. It is longer than all time
// there is, so nobody can tell a longer one from it.
const longestWindow = 4 * longerThanTime

func newGrid(size, offset, grace Time) grid {
	if size <= 0 {
		panic("rt: a window without size")
	}
	size = min(size, longestWindow)
	if offset %= size; offset < 0 {
		offset += size
	}
	return grid{size, offset, min(grace, longestWindow)}
}

// span is the window of time t. It rounds down, also before 1970.
func (g *grid) span(t Time) span {
	into := (t - g.offset) % g.size
	if into < 0 {
		into += g.size
	}
	start := t - into
	return span{start, start + g.size, start + g.size + g.grace}
}
