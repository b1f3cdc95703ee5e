package runtime

import (
	"bytes"
	"cmp"
	"slices"
)

// deltaEntry is a key and its state in a delta.
type deltaEntry struct{ key, state []byte }

// deltaWindows is a delta by window, oldest first, with the keys in order of their bytes.
type deltaWindows []deltaWindow

type deltaWindow struct {
	start   Time
	entries []deltaEntry
}

// merge folds deltas of one group, oldest first, into one. It may run beside the task: it uses nothing but
// what the window declares.
func (w *Tumbling[S, V]) merge(group int, deltas [][]byte, closed Time) ([]byte, error) {
	all := make([]deltaWindows, len(deltas))
	for i, b := range deltas {
		var wrong string
		if all[i], wrong = w.parseDelta(b, closed); wrong != "" {
			return nil, w.damaged(group, wrong)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	// The first is the base and large: it is gone through once.
	return mergeDeltas(all[0], mergeAll(all[1:])).append(nil), nil
}

// parseDelta reads the windows of a delta that are still open.
func (w *Tumbling[S, V]) parseDelta(b []byte, closed Time) (d deltaWindows, wrong string) {
	r, last := readDelta(b), MinTime
	for {
		start, ok := r.nextWindow()
		if !ok {
			return d, r.wrong
		}
		if start <= last {
			return nil, "windows out of order"
		}
		last = start
		win := deltaWindow{start: start}
		for {
			key, state, ok := r.next()
			if !ok {
				break
			}
			win.entries = append(win.entries, deltaEntry{key, state})
		}
		if w.grid.span(start).closeAt <= closed {
			continue
		}
		if !win.sort() {
			return nil, "a key is given twice"
		}
		d = append(d, win)
	}
}

// sort puts the keys in order. A barrier has no time for it. It reports whether they differ.
func (w deltaWindow) sort() bool {
	byKey := func(x, y deltaEntry) int { return bytes.Compare(x.key, y.key) }
	if !slices.IsSortedFunc(w.entries, byKey) { // what has been merged is
		slices.SortFunc(w.entries, byKey)
	}
	for i := 1; i < len(w.entries); i++ {
		if bytes.Equal(w.entries[i-1].key, w.entries[i].key) {
			return false
		}
	}
	return true
}

// mergeAll merges neighbours, then these, so that an entry is copied as often as the number of deltas can be halved.
func mergeAll(all []deltaWindows) deltaWindows {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	half := len(all) / 2
	return mergeDeltas(mergeAll(all[:half]), mergeAll(all[half:]))
}

// mergeDeltas is both deltas in one. Where both have a key, newer counts.
func mergeDeltas(older, newer deltaWindows) deltaWindows {
	return mergeSorted(older, newer,
		func(x, y deltaWindow) int { return cmp.Compare(x.start, y.start) },
		func(x, y deltaWindow) deltaWindow {
			return deltaWindow{x.start, mergeSorted(x.entries, y.entries,
				func(x, y deltaEntry) int { return bytes.Compare(x.key, y.key) },
				func(_, newer deltaEntry) deltaEntry { return newer })}
		})
}

// mergeSorted is both lists in one list in order. both makes one of two that are equal.
func mergeSorted[E any](x, y []E, compare func(x, y E) int, both func(x, y E) E) []E {
	if len(x) == 0 {
		return y
	}
	merged := make([]E, 0, len(x)+len(y))
	for len(x) > 0 && len(y) > 0 {
		switch c := compare(x[0], y[0]); {
		case c < 0:
			merged, x = append(merged, x[0]), x[1:]
		case c > 0:
			merged, y = append(merged, y[0]), y[1:]
		default:
			merged, x, y = append(merged, both(x[0], y[0])), x[1:], y[1:]
		}
	}
	return append(append(merged, x...), y...)
}

// append appends the delta in its form.
func (d deltaWindows) append(b []byte) []byte {
	b = append(b, deltaFormat)
	for _, win := range d {
		b = appendDeltaWindow(b, win.start, len(win.entries))
		for _, e := range win.entries {
			b = appendSized(appendSized(b, e.key), e.state)
		}
	}
	return b
}
