package engine

import (
	"slices"
	"time"
)

// bounds are the upper bounds of the buckets of a Histogram: a checkpoint takes some milliseconds on a quiet broker, and is abandoned
// after CheckpointTimeout.
var bounds = [...]time.Duration{
	time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond,
	time.Second, 3 * time.Second, 10 * time.Second, CheckpointTimeout,
}

// Histogram counts durations by length. It is a value: a copy stays as it is.
type Histogram struct {
	Count   int64
	Sum     time.Duration
	buckets [len(bounds)]int64
}

func (h *Histogram) add(d time.Duration) {
	h.Count++
	h.Sum += d
	if i, _ := slices.BinarySearch(bounds[:], d); i < len(bounds) {
		h.buckets[i]++
	}
}

// Buckets is how many durations were at most as long as each bound, shorter ones included.
func (h Histogram) Buckets(yield func(bound time.Duration, count int64) bool) {
	sum := int64(0)
	for i, n := range h.buckets {
		if sum += n; !yield(bounds[i], sum) {
			return
		}
	}
}
