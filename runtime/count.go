package runtime

import (
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// Names of counters. For every clause and source partition, what came in is the sum of what went
// on and of what these say.
const (
	countRead       = "read"       // records of a source's topic
	countNull       = "null"       // of them without a value, skipped
	countRejected   = "rejected"   // handed to on_error
	countAhead      = "ahead"      // too far ahead of their Kafka timestamp to move the watermark; they go on
	countFiltered   = "filtered"   // dropped by a condition
	countLate       = "late"       // behind the watermark of their own partition
	countAggregated = "aggregated" // in a window
	countOut        = "out"        // records of a sink's topic
)

// counter counts what became of records in one operator, for each origin.
type counter struct {
	operator, place, name string
	n                     []int64 // by origin
}

// counter is the counter of that name; several declarations of an operator share it.
func (t *Task) counter(operator, place, name string) *counter {
	for _, c := range t.counters {
		if c.operator == operator && c.name == name {
			return c
		}
	}
	c := &counter{operator: operator, place: place, name: name}
	t.counters = append(t.counters, c)
	return c
}

// originOf is the number that counters know p by.
func (t *Task) originOf(p *engine.Partition) int {
	i := p.Slot + 1
	if i >= len(t.origins) {
		t.origins = slices.Concat(t.origins, make([]record.Origin, i+1-len(t.origins)))
		for _, c := range t.counters {
			c.n = slices.Concat(c.n, make([]int64, len(t.origins)-len(c.n)))
		}
	}
	if o := &t.origins[i]; o.Topic == "" { // slabs on their way have a look at those that are set
		*o = record.Origin{Topic: p.Topic, Partition: p.ID}
	}
	return i
}

// counts appends all counts that are not zero.
func (t *Task) counts(to []checkpoint.Count) []checkpoint.Count {
	for _, c := range t.counters {
		for i, n := range c.n {
			if n == 0 {
				continue
			}
			count := checkpoint.Count{Operator: c.operator, Name: c.name, Partition: -1, N: n}
			if i > 0 {
				count.Topic, count.Partition = t.origins[i].Topic, t.origins[i].Partition
			}
			to = append(to, count)
		}
	}
	return to
}
