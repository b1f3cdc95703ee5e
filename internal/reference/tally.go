package reference

// Tally is how far what a program made is from the reference, in records over all sinks and dead-letter topics.
type Tally struct {
	Records int // that the reference has
	Lost    int // of these, missing
	Doubled int // too many of one that the reference has
	Wrong   int // that the reference does not have at all
}

// Count counts the differences of which Compare tells the first, without those of counts, of timestamps and within inexact fields.
func Count(got, want *Result) Tally {
	var t Tally
	for _, sink := range names(got.Sinks, want.Sinks) {
		count(&t, group(got.Sinks[sink], want.Inexact[sink]), group(want.Sinks[sink], want.Inexact[sink]))
	}
	count(&t, texts(got.DeadLetters, true), texts(want.DeadLetters, true))
	return t
}

func count[V any](t *Tally, got, want map[string][]V) {
	for _, text := range names(got, want) {
		g, w := len(got[text]), len(want[text])
		t.Records += w
		t.Lost += max(0, w-g)
		if w == 0 {
			t.Wrong += g
		} else {
			t.Doubled += max(0, g-w)
		}
	}
}
