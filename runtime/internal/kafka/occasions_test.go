package kafka

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// total is how many there were.
func (o *occasions) total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.n
}

// The first ones are told of at once, what comes soon after them a minute later, and the last word is the whole sum.
func TestOccasions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []int64
		noted := int64(0)
		o := occasions{tell: func(total int64) { told = append(told, total) }, note: func(n int64) { noted += n }}
		expect := func(want ...int64) {
			t.Helper()
			synctest.Wait()
			o.mu.Lock()
			defer o.mu.Unlock()
			if !slices.Equal(told, want) {
				t.Fatalf("told %v, want %v", told, want)
			}
		}
		o.add(1)
		o.add(2)
		expect(1)
		time.Sleep(sayAgain)
		expect(1, 3) // though nothing more happens
		time.Sleep(5 * sayAgain)
		expect(1, 3)
		o.add(4)
		o.add(5)
		expect(1, 3, 7)
		o.close()
		expect(1, 3, 7, 12)
		o.close()
		o.add(1) // an answer that comes behind the end
		expect(1, 3, 7, 12)
		if noted != 13 || o.total() != 13 {
			t.Errorf("%d are noted and %d counted, want 13", noted, o.total())
		}
	})
}
