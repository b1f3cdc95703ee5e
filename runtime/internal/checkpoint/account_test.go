package checkpoint

import (
	"slices"
	"testing"
	"time"
)

// fill runs a pipeline for a time with a checkpoint every minute, each of which writes a record, and returns the last account.
func fill(t *testing.T, long time.Duration, producers int64) *Account {
	t.Helper()
	a := (*Account)(nil).Run("p", 0, nil)
	a.Outputs = []Output{{Topic: "out", TopicID: ID{1}, From: 100}}
	at, n := time.Unix(1_000_000, 0), int64(0)
	for end := at.Add(long); at.Before(end); at = at.Add(time.Minute) {
		n++
		offset := 99 + n
		a = a.Add(n, at, n%producers, []Written{{Topic: "out", First: offset, Tally: Tally{Next: offset + 1, Records: 1, Sum: HashOffset(offset)}}})
	}
	return a
}

// TestMilestonesOfAllAges looks at what an account keeps of a year: few milestones, and for any retention one that lies within it and reaches back over
// a good part of it.
func TestMilestonesOfAllAges(t *testing.T) {
	const year = 365 * 24 * time.Hour
	a := fill(t, year, 2)
	if len(a.Milestones) > maxMilestones {
		t.Errorf("%d milestones", len(a.Milestones))
	}
	end := int64(1_000_000) + int64(year/time.Second)
	for _, keep := range []time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 300 * 24 * time.Hour} {
		best := time.Duration(0)
		for _, m := range a.Milestones {
			if age := time.Duration(end-m.At) * time.Second; age <= keep {
				best = max(best, age)
			}
		}
		if best < keep/4 {
			t.Errorf("of a topic that keeps %v only %v can be verified", keep, best)
		}
	}
	for i, m := range a.Milestones {
		got, ok := m.Stored(0)
		if !ok || got.Records != m.Checkpoint || got.Next != 100+m.Checkpoint {
			t.Errorf("milestone %d of checkpoint %d says %+v", i, m.Checkpoint, got)
		}
	}
}

// The account keeps what was, whatever is added to its copies: a checkpoint that is dropped takes its account along.
func TestAddLeavesTheAccountBefore(t *testing.T) {
	a := fill(t, time.Hour, 2)
	records, marks, last := a.Outputs[0].Records, len(a.Milestones), a.Producers[len(a.Producers)-1]
	for range 2 {
		b := a.Add(61, time.Unix(2_000_000, 0), 77, []Written{{Topic: "out", Partition: 1, First: 0, Tally: Tally{Next: 1, Records: 1}}, {Topic: "out", First: 160, Tally: Tally{Next: 161, Records: 1}}})
		if len(b.Outputs) != 2 || b.Outputs[1].From != 0 || b.Outputs[1].Since != 0 || b.Outputs[1].TopicID != (ID{1}) || b.Outputs[0].Records != records+1 {
			t.Errorf("%+v", b.Outputs)
		}
		if _, ok := a.Milestones[0].Stored(1); ok {
			t.Error("a milestone knows a partition that was not there")
		}
	}
	if len(a.Outputs) != 1 || a.Outputs[0].Records != records || len(a.Milestones) != marks || a.Producers[len(a.Producers)-1] != last {
		t.Errorf("the account before has changed: %+v", a)
	}
}

// A partition that a topic gets is one of the topic as it is now, not of one of that name before.
func TestAddAPartitionOfATopicThatWasMadeAgain(t *testing.T) {
	a := (*Account)(nil).Run("p", 0, nil)
	a.Outputs = []Output{{Topic: "out", TopicID: ID{1}}, {Topic: "other", TopicID: ID{7}}, {Topic: "out", TopicID: ID{2}}, {Topic: "another", TopicID: ID{8}}}
	a = a.Add(1, time.Unix(1_000_000, 0), 1, []Written{{Topic: "out", Partition: 1, Tally: Tally{Next: 1, Records: 1}}})
	if !a.Knows("out", ID{2}, 1) {
		t.Errorf("%+v", a.Outputs)
	}
}

func TestProducersAreForgotten(t *testing.T) {
	a := fill(t, 600*time.Minute, 600)
	if len(a.Producers) != maxProducers || a.Forgotten != 600-maxProducers {
		t.Errorf("%d producers, forgotten up to %d", len(a.Producers), a.Forgotten)
	}
}

func TestOffsetsThatFall(t *testing.T) {
	a := fill(t, time.Hour, 2)
	b := a.Add(61, time.Unix(2_000_000, 0), 1, []Written{{Topic: "out", First: 120, Tally: Tally{Next: 121, Records: 1}}})
	if a.Outputs[0].Fell != 0 || b.Outputs[0].Fell != 61 {
		t.Errorf("%+v, then %+v", a.Outputs[0], b.Outputs[0])
	}
	c := b.Add(62, time.Unix(2_000_000, 0), 1, []Written{{Topic: "out", First: 130, Tally: Tally{Next: 131, Records: 1}}})
	if c.Outputs[0].Fell != 61 {
		t.Errorf("%+v", c.Outputs[0])
	}
}

// Another program begins its counts anew, and keeps what is known of the topics.
func TestAnotherProgram(t *testing.T) {
	a := fill(t, time.Hour, 2)
	if a.Run("p", 60, nil) != a {
		t.Error("the same program has got another account")
	}
	b := a.Run("q", 60, []Count{{Operator: "o", Name: "read", N: 7}})
	if b.Program != "q" || b.Since != 60 || len(b.Counts) != 1 || b.Outputs[0].Base != 60 || b.Outputs[0].Records != 60 || len(b.Milestones) != len(a.Milestones) {
		t.Errorf("%+v", b)
	}
	if a.Outputs[0].Base != 0 {
		t.Error("the account before has changed")
	}
}

// TestMilestonesAreBounded: what is written with each checkpoint does not grow with milestones, however many partitions there are.
func TestMilestonesAreBounded(t *testing.T) {
	for partitions, want := range map[int]int{1: maxMilestones, 100: 10, 1000: 4, 2000: 2, 4096: 1, 10_000: 0} {
		a := (*Account)(nil).Run("p", 0, nil)
		a.Outputs = make([]Output, partitions)
		for n := range int64(40) {
			a.Outputs[0].Records++
			a = a.Add(n+1, time.Unix(1_000_000, 0).Add(time.Duration(n)*MilestoneEvery), 1, nil)
		}
		tallies := 0
		for _, m := range a.Milestones {
			tallies += len(m.Tallies)
		}
		if len(a.Milestones) != want || tallies > mostTallies {
			t.Errorf("%d partitions: %d milestones with %d tallies, want %d milestones", partitions, len(a.Milestones), tallies, want)
		}
	}
}

// TestNoMilestoneWithoutRecords: neither what comes before the first record nor a time without any takes the place of one at which comparing can begin.
func TestNoMilestoneWithoutRecords(t *testing.T) {
	a := (*Account)(nil).Run("p", 0, nil)
	at := time.Unix(1_000_000, 0)
	for n := range int64(100) {
		var written []Written
		if n == 10 || n == 80 {
			written = []Written{{Topic: "out", First: n, Tally: Tally{Next: n + 1, Records: 1}}}
		}
		a = a.Add(n+1, at.Add(time.Duration(n)*MilestoneEvery), 1, written)
	}
	var got []int64
	for _, m := range a.Milestones {
		got = append(got, m.Checkpoint)
	}
	if want := []int64{11, 81}; !slices.Equal(got, want) {
		t.Errorf("milestones %d, want %d", got, want)
	}
}

// What was written at an offset was written after the last milestone before it.
func TestWrittenAfter(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	a := (&Account{Program: "p"}).Add(1, begin, 7, []Written{{Topic: "t", Partition: 0, Tally: Tally{Next: 10, Records: 10}}})
	later := begin.Add(MilestoneEvery)
	a = a.Add(2, later, 7, []Written{{Topic: "t", Partition: 0, First: 10, Tally: Tally{Next: 20, Records: 10}}, {Topic: "t", Partition: 1, Tally: Tally{Next: 5, Records: 5}}})
	for _, c := range []struct {
		partition int32
		offset    int64
		want      time.Time
	}{{0, 5, time.Time{}}, {0, 10, begin}, {0, 19, begin}, {0, 20, later}, {1, 4, time.Time{}}, {1, 5, later}, {2, 0, time.Time{}}} {
		if got := a.After("t", c.partition, c.offset); !got.Equal(c.want) {
			t.Errorf("partition %d, offset %d: after %v, want %v", c.partition, c.offset, got, c.want)
		}
	}
	if got := (*Account)(nil).After("t", 0, 0); !got.IsZero() {
		t.Errorf("without an account: %v", got)
	}
}
