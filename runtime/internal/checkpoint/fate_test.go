package checkpoint

import (
	"slices"
	"testing"
)

func transaction(producer int64, epoch int16) Committable {
	return Committable{TransactionalID: "p-0", ProducerID: producer, Epoch: epoch}
}

// Three lives of a pipeline: what each has committed is proved, what lies between two of them was aborted.
func TestFate(t *testing.T) {
	c := &Checkpoint{}
	life := func(names ...Committable) {
		p := ProofsFrom(c)
		for _, n := range names {
			c = &Checkpoint{Number: c.Number + 1, Committed: p.Spans(), Committable: n}
			p.Add(n)
		}
	}
	life(transaction(4, 2), transaction(5, 2), transaction(4, 5), transaction(5, 5), transaction(4, 8)) // 5/8 and 4/11 were aborted
	life(transaction(5, 12), transaction(4, 14), transaction(5, 15))                                    // 4/17 was aborted
	life(transaction(4, 20), transaction(6, 0))                                                         // 5 has run out of epochs
	for _, x := range []struct {
		producer  int64
		epoch     int16
		confirmed bool
		want      Decision
	}{
		{4, 2, true, ItIsCommitted}, {4, 5, true, ItIsCommitted}, {4, 8, true, ItIsCommitted}, {5, 5, true, ItIsCommitted},
		{4, 14, true, ItIsCommitted}, {5, 15, true, ItIsCommitted}, {4, 20, true, ItIsCommitted},
		{5, 8, true, ItIsAborted}, {4, 11, true, ItIsAborted}, {4, 17, true, ItIsAborted}, {4, 23, true, ItIsAborted},
		{6, 0, true, ItIsCommitted}, {6, 0, false, NoDecision},
		{6, 1, true, ItIsAborted}, {6, 1, false, NoDecision},
		{4, 1, true, NoDecision}, {7, 3, true, NoDecision},
	} {
		if got := c.Fate(x.confirmed, x.producer, x.epoch); got != x.want {
			t.Errorf("%d/%d, confirmed %v: %v, want %v of %v and %v", x.producer, x.epoch, x.confirmed, got.verdict(), x.want.verdict(), c.Committed, c.Committable)
		}
	}
}

// A state does not grow with its lives, and what it has forgotten is not taken for aborted.
func TestFateForgets(t *testing.T) {
	c := &Checkpoint{}
	for life := range int16(100) {
		p := ProofsFrom(c)
		for _, n := range []Committable{transaction(4, 10*life), transaction(5, 10*life), transaction(4, 10*life+3), transaction(5, 10*life+3)} {
			c = &Checkpoint{Committed: p.Spans(), Committable: n}
			p.Add(n)
		}
	}
	if len(c.Committed) > keptSpans {
		t.Errorf("%d spans are kept", len(c.Committed))
	}
	if got := c.Fate(true, 4, 993); got != ItIsCommitted {
		t.Errorf("the last life: %v in %v", got.verdict(), c.Committed)
	}
	if got := c.Fate(true, 4, 985); got != ItIsAborted {
		t.Errorf("between the last two lives: %v in %v", got.verdict(), c.Committed)
	}
	if got := c.Fate(true, 4, 5); got != NoDecision {
		t.Errorf("long ago: %v in %v", got.verdict(), c.Committed)
	}
	if !slices.ContainsFunc(c.Committed, func(s Span) bool { return s.Producer == 5 }) {
		t.Error("only one producer is kept")
	}
}
