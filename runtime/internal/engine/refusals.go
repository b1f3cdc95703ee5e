package engine

import (
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// Refusal is a record that an operator has refused, or a result: on_error says what became of it. Nothing of its contents is here: whoever reaches
// the port of a program can read its status, without a password.
type Refusal struct {
	Operator, Place string
	Reason          string // the field and what is wrong with it, such as `amount: not a number (byte 57)`

	Topic     string // of a record; "": it is a result
	Partition int32
	Offset    int64

	WindowStart, WindowEnd int64 // of a result, in microseconds of event time

	Skipped bool // it is one of the first that on_error skip has dropped since the start: see Worker.Refused

	At time.Time
	N  int64 // what the operator has refused up to the newest checkpoint, over all starts; Status fills it in
}

// KeptRefusals is how many operators Status shows with what they have refused last.
const KeptRefusals = 20

// FirstSkipped is how many of those that on_error skip drops the log has, of each operator in each start: on_error skip wants few words.
const FirstSkipped = 3

// countRejected is the name of the count of what was refused.
const countRejected = "rejected"

// lastRefusals are those of each operator before and since the last checkpoint, the newest first.
func lastRefusals(before, since []Refusal) []Refusal {
	all := slices.DeleteFunc(slices.Concat(since, before), func(r Refusal) bool { return r.Skipped })
	slices.SortStableFunc(all, func(a, b Refusal) int { return b.At.Compare(a.At) })
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(r Refusal) bool {
		old := seen[r.Operator]
		seen[r.Operator] = true
		return old
	})
	return all[:min(len(all), KeptRefusals)]
}

// refused are the last refusals with how many there were in all.
func refused(last []Refusal, counts []checkpoint.Count) []Refusal {
	last = slices.Clone(last)
	for i := range last {
		for _, c := range counts {
			if c.Operator == last[i].Operator && c.Name == countRejected {
				last[i].N += c.N
			}
		}
	}
	return last
}
