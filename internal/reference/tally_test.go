package reference

import "testing"

// TestCount loses, doubles and falsifies records by hand.
func TestCount(t *testing.T) {
	out := func(values ...string) []Output {
		var all []Output
		for _, v := range values {
			all = append(all, Output{Key: []byte("k"), Value: []byte(v)})
		}
		return all
	}
	letter := func(offset int64) DeadLetter {
		d := DeadLetter{Topic: "dlq", Value: []byte("x")}
		d.Refusal.Topic, d.Operator, d.Offset = "orders", "orders", offset
		return d
	}
	want := &Result{Sinks: map[string][]Output{"a": out("1", "2", "2", "3")}, DeadLetters: []DeadLetter{letter(1), letter(2)}}
	for _, c := range []struct {
		name string
		got  *Result
		want Tally
	}{
		{"all", want, Tally{Records: 6}},
		{"nothing", &Result{}, Tally{Records: 6, Lost: 6}},
		{"one lost", &Result{Sinks: map[string][]Output{"a": out("1", "2", "3")}, DeadLetters: want.DeadLetters}, Tally{Records: 6, Lost: 1}},
		{"two doubled", &Result{Sinks: map[string][]Output{"a": out("1", "1", "2", "2", "3", "3")}, DeadLetters: want.DeadLetters}, Tally{Records: 6, Doubled: 2}},
		{"one wrong", &Result{Sinks: map[string][]Output{"a": out("1", "2", "2", "4")}, DeadLetters: want.DeadLetters}, Tally{Records: 6, Lost: 1, Wrong: 1}},
		{"another topic", &Result{Sinks: map[string][]Output{"b": out("1", "2", "2", "3")}, DeadLetters: want.DeadLetters}, Tally{Records: 6, Lost: 4, Wrong: 4}},
		{"a dead letter twice", &Result{Sinks: want.Sinks, DeadLetters: []DeadLetter{letter(1), letter(1), letter(3)}},
			Tally{Records: 6, Lost: 1, Doubled: 1, Wrong: 1}},
	} {
		if got := Count(c.got, want); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
