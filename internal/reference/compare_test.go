package reference

import (
	"strings"
	"testing"
	"time"
)

func TestCompare(t *testing.T) {
	out := func(records ...string) map[string][]Output {
		var list []Output
		for _, r := range records {
			key, value, _ := strings.Cut(r, " ")
			list = append(list, Output{Key: []byte(key), Value: []byte(value), Time: 5})
		}
		return map[string][]Output{"out": list}
	}
	letter := DeadLetter{Topic: "dead", Value: []byte("x"), Headers: []Header{{"a", []byte("b")}},
		Refusal: Refusal{Operator: "s/where", Topic: "t", Partition: 1, Offset: 2, Class: Expression, Reason: "division by zero"}}
	elsewhere, unnamed := letter, letter
	elsewhere.Operator = "s/let"
	unnamed.Operator, unnamed.Reason, unnamed.Class = "", "", ""
	future := time.Now().Add(time.Hour).UnixMilli()
	late := Counter{"s/window", "late", "t", 0}
	passed := Counter{"s/where", "out", "t", 0}

	for _, c := range []struct {
		name      string
		got, want Result
		diff      []string // parts of the message; none: equal
	}{
		{"another order", Result{Sinks: out("a 1", "b 2", "a 1")}, Result{Sinks: out("a 1", "a 1", "b 2")}, nil},
		{"missing", Result{Sinks: out("a 1")}, Result{Sinks: out("a 1", "b 2")}, []string{"sink out", "1 records, want 2", "1 missing, 0 too many", `missing:  key "b" 2`}},
		{"doubled", Result{Sinks: out("a 1", "a 1")}, Result{Sinks: out("a 1")}, []string{"0 missing, 1 too many", `too many: key "a" 1`}},
		{"the nearest of what is too many", Result{Sinks: out("a 1", "b 7")}, Result{Sinks: out("a 1", "b 8")}, []string{`missing:  key "b" 8`, `too many: key "b" 7`}},
		{"no records at all", Result{}, Result{Sinks: out("a 1")}, []string{"0 records, want 1"}},
		{"another sink", Result{Sinks: map[string][]Output{"o": nil, "p": {{}}}}, Result{}, []string{"sink p"}},
		{"an empty key is not null", Result{Sinks: map[string][]Output{"out": {{Key: []byte{}}}}}, Result{Sinks: map[string][]Output{"out": {{}}}},
			[]string{"no key", `key ""`}},
		{"a byte", Result{Sinks: out(`a {"x": 1}`)}, Result{Sinks: out(`a {"x":1}`)}, []string{"1 missing, 1 too many"}},
		{"a timestamp", Result{Sinks: map[string][]Output{"out": {{Time: 4}}}}, Result{Sinks: map[string][]Output{"out": {{Time: 5}}}}, []string{"timestamp 4 instead of 5"}},
		{"no timestamp", Result{Sinks: map[string][]Output{"out": {{Time: NoTime}}}}, Result{Sinks: map[string][]Output{"out": {{Time: 5}}}}, nil},
		{"a timestamp that was ahead of the clock", Result{Sinks: map[string][]Output{"out": {{Time: 4}}}}, Result{Sinks: map[string][]Output{"out": {{Time: future}}}}, nil},
		{"timestamps of equal records", Result{Sinks: map[string][]Output{"out": {{Time: 4}, {Time: 9}}}}, Result{Sinks: map[string][]Output{"out": {{Time: 9}, {Time: 4}}}}, nil},

		{"a float sum", Result{Sinks: out(`a {"k":1.5,"f":0.30000000000000004,"g":2}`)},
			Result{Sinks: out(`a {"k":1.5,"f":0.3,"g":2}`), Inexact: map[string][]string{"out": {"f"}}}, nil},
		{"a float sum that is off", Result{Sinks: out(`a {"k":1.5,"f":0.301}`)},
			Result{Sinks: out(`a {"k":1.5,"f":0.3}`), Inexact: map[string][]string{"out": {"f"}}}, []string{"0.301 instead of 0.3"}},
		{"another field beside a float sum", Result{Sinks: out(`a {"k":1.51,"f":0.3}`)},
			Result{Sinks: out(`a {"k":1.5,"f":0.3}`), Inexact: map[string][]string{"out": {"f"}}}, []string{`{"k":1.5,"f":~}`}},
		{"a float that is exact", Result{Sinks: out(`a {"f":0.30000000000000004}`)}, Result{Sinks: out(`a {"f":0.3}`)}, []string{"1 missing"}},
		{"a null is no float sum", Result{Sinks: out(`a {"f":null}`)}, Result{Sinks: out(`a {"f":0}`), Inexact: map[string][]string{"out": {"f"}}}, []string{"1 missing"}},

		{"dead letters", Result{DeadLetters: []DeadLetter{letter}}, Result{DeadLetters: []DeadLetter{letter}}, nil},
		{"without operators", Result{DeadLetters: []DeadLetter{unnamed}}, Result{DeadLetters: []DeadLetter{letter}}, nil},
		{"of another operator", Result{DeadLetters: []DeadLetter{elsewhere}}, Result{DeadLetters: []DeadLetter{letter}}, []string{"dead letters", "s/where", "division by zero", "s/let"}},
		{"none", Result{}, Result{DeadLetters: []DeadLetter{letter}}, []string{"0 records, want 1", "t/1/2"}},

		{"counts", Result{Counts: map[Counter]int64{late: 2}}, Result{Counts: map[Counter]int64{late: 2, passed: 7}}, nil},
		{"a count", Result{Counts: map[Counter]int64{late: 2}}, Result{Counts: map[Counter]int64{late: 3}}, []string{"s/window late of t/0: 2, want 3"}},
		{"a count of nothing", Result{Counts: map[Counter]int64{}}, Result{Counts: map[Counter]int64{late: 3}}, []string{"0, want 3"}},
		{"no counts", Result{}, Result{Counts: map[Counter]int64{late: 3}}, nil},

		{"fails as it must", Result{Failures: []Refusal{unnamed.Refusal}}, Result{Failures: []Refusal{letter.Refusal}, Sinks: out("a 1")}, nil},
		{"does not fail", Result{}, Result{Failures: []Refusal{letter.Refusal}}, []string{"did not fail", "t/1/2"}},
		{"fails at a good record", Result{Failures: []Refusal{{Topic: "t", Offset: 1}}}, Result{Failures: []Refusal{letter.Refusal}}, []string{"t/0/1", "good record"}},
		{"fails without need", Result{Failures: []Refusal{letter.Refusal}}, Result{}, []string{"good record"}},
	} {
		got := Compare(&c.got, &c.want)
		if len(c.diff) == 0 && got != "" || len(c.diff) > 0 && got == "" {
			t.Errorf("%s: %q", c.name, got)
		}
		for _, part := range c.diff {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in %q", c.name, part, got)
			}
		}
	}
}
