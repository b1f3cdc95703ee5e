package diag

import (
	"math/rand/v2"
	"testing"
)

// TestDistance: what distance leaves out because it is too far changes nothing of what is near.
func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = "ab"[r.IntN(2)]
		}
		return string(b)
	}
	for range 20_000 {
		a, b := word(), word()
		exact := distance(a, b, len(a)+len(b)+1)
		for least := abs(len(a)-len(b)) + 1; least < 8; least++ {
			if got := distance(a, b, least); got < least != (exact < least) || got < least && got != exact {
				t.Fatalf("%q to %q below %d: %d, exactly %d", a, b, least, got, exact)
			}
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"ab", "ba", 1}, {"amunt", "amount", 1}, {"abc", "", 3}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b, 100); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
