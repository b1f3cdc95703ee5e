package checkpoint

import (
	"slices"
	"time"
)

// Account is what a checkpoint says of the output beside the state, for whoever wants to know later whether all of it is there, and nothing else:
// `PROGRAM verify` compares it with the topics. The protocol takes no decision by it.
type Account struct {
	// Program is a hash of the operators and of the ways between them. Counts goes back to the checkpoint at which it became this one: what
	// another program has counted need not add up in this one.
	Program string
	Since   int64   // that checkpoint
	Counts  []Count `json:",omitempty"` // as of it

	Outputs    []Output    `json:",omitempty"` // partitions of the topics of exactly_once sinks, in the order in which they became known
	Milestones []Milestone `json:",omitempty"` // the oldest first
	Producers  []Producer  `json:",omitempty"` // whose transactions were committed, the one that was used last at the end
	Forgotten  int64       `json:",omitempty"` // producers that were used last up to this checkpoint are not in the list any more; 0: all are
}

// Output is a partition that transactions write to.
type Output struct {
	Topic     string
	TopicID   ID
	Partition int32
	Since     int64 // the records of all transactions behind this checkpoint are in the account; 0: of all there are
	From      int64 // offset at which they begin
	Base      int64 // Records as of Account.Since
	Tally
	Untold int64 `json:",omitempty"` // records among them whose offset the broker has not told
	Fell   int64 `json:",omitempty"` // first checkpoint whose records got lower offsets than records before; 0: none did
}

// Tally is the records of a partition up to a checkpoint: how many, the sum of HashOffset over their offsets, and the offset behind the last.
type Tally struct {
	Next, Records int64
	Sum           uint64
}

// Milestone is what the account was at an earlier checkpoint. Topics do not keep records for ever, so there must be places to begin at.
type Milestone struct {
	Checkpoint int64
	At         int64   // seconds since 1970
	Tallies    []Tally // of Account.Outputs; those that follow were not known yet
}

// Producer is a producer id that brokers have given out.
type Producer struct {
	ID   int64
	Last int64 // the last checkpoint whose transaction it has written
}

// Written is what one transaction has written to a partition, as the brokers have acknowledged it.
type Written struct {
	Topic     string
	Partition int32
	First     int64 // offset of the first record; -1: not told
	Tally
	Untold int64
	Fell   bool // offsets did not only grow
}

const (
	// MilestoneEvery is the time between two milestones, as long as they are young.
	MilestoneEvery = 10 * time.Minute
	// maxMilestones is how many are kept: as many as have so many tallies, or a few with mostTallies. They are written with each checkpoint.
	maxMilestones, manyTallies, fewMilestones, mostTallies = 24, 1024, 4, 4096
	// maxProducers is how many producer ids are remembered. A transactional id gets a new one about every 32,000 transactions.
	maxProducers = 512
)

// HashOffset spreads offsets over 64 bits (the finaliser of SplitMix64), so that sets of offsets with equal sums are equal sets: another one of
// the same size has the same sum by chance only, once in 2^64.
func HashOffset(offset int64) uint64 {
	x := uint64(offset) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Run is the account of a state in checkpoint n when a program goes on from it. It is a itself if that is the program's already; a nil: there was none.
func (a *Account) Run(program string, n int64, counts []Count) *Account {
	if a != nil && a.Program == program {
		return a
	}
	next := &Account{Program: program, Since: n, Counts: slices.Clone(counts)}
	if a != nil {
		next.Outputs, next.Milestones, next.Producers, next.Forgotten = slices.Clone(a.Outputs), a.Milestones, a.Producers, a.Forgotten
	}
	for i := range next.Outputs {
		next.Outputs[i].Base = next.Outputs[i].Records
	}
	return next
}

// Knows says whether the account has the partition of the topic with that id.
func (a *Account) Knows(topic string, id ID, partition int32) bool {
	i := a.find(topic, partition)
	return i >= 0 && a.Outputs[i].TopicID == id
}

// find is the index of a partition, of the topic that was known last by the name; -1: it is not known.
func (a *Account) find(topic string, partition int32) int {
	for i := len(a.Outputs) - 1; i >= 0; i-- {
		if a.Outputs[i].Topic == topic && a.Outputs[i].Partition == partition {
			return i
		}
	}
	return -1
}

// Add is the account of checkpoint n: that of the one before and what the transaction of n has written.
func (a *Account) Add(n int64, at time.Time, producer int64, written []Written) *Account {
	next := *a
	next.Outputs = slices.Clone(a.Outputs)
	for _, w := range written {
		i := next.find(w.Topic, w.Partition)
		if i < 0 { // it was made while the program ran: those that were there are known from the start
			o := Output{Topic: w.Topic, Partition: w.Partition}
			for _, known := range next.Outputs {
				if known.Topic == w.Topic {
					o.TopicID = known.TopicID // that of the last, if it was made again
				}
			}
			i, next.Outputs = len(next.Outputs), append(next.Outputs, o)
		}
		next.Outputs[i].add(n, w)
	}
	if len(written) > 0 {
		next.remember(producer, n)
	}
	next.passMilestone(n, at)
	return &next
}

func (o *Output) add(n int64, w Written) {
	if o.Fell == 0 && (w.Fell || w.First >= 0 && w.First < max(o.Next, o.From)) {
		o.Fell = n
	}
	o.Records += w.Records
	o.Sum += w.Sum
	o.Untold += w.Untold
	o.Next = max(o.Next, w.Next)
}

// remember notes that the producer has written the transaction of checkpoint n.
func (a *Account) remember(producer, n int64) {
	list := slices.DeleteFunc(slices.Clone(a.Producers), func(p Producer) bool { return p.ID == producer })
	if len(list) == maxProducers {
		a.Forgotten, list = list[0].Last, list[1:]
	}
	a.Producers = append(list, Producer{producer, n})
}

// passMilestone makes one of checkpoint n, if the last one is old enough and something was written behind it, and drops the one that is missed least: where those around it are close
// together for their age. With more partitions than mostTallies there are none. So there are many young ones and few old ones, and one about as old as whatever a topic keeps.
func (a *Account) passMilestone(n int64, at time.Time) {
	now, outputs := at.Unix(), max(1, len(a.Outputs))
	room := min(maxMilestones, max(manyTallies/outputs, min(fewMilestones, mostTallies/outputs)))
	if room == 0 {
		a.Milestones = nil
		return
	}
	if k := len(a.Milestones); k > 0 && now-a.Milestones[k-1].At < int64(MilestoneEvery/time.Second) && now >= a.Milestones[k-1].At {
		return
	}
	if !a.grown() {
		return
	}
	m := Milestone{Checkpoint: n, At: now}
	for _, o := range a.Outputs {
		m.Tallies = append(m.Tallies, o.Tally)
	}
	a.Milestones = append(slices.Clone(a.Milestones), m)
	for len(a.Milestones) > room {
		least, drop := 0.0, 0
		for i := 1; i < len(a.Milestones)-1; i++ {
			share := float64(a.Milestones[i+1].At-a.Milestones[i-1].At) / float64(max(1, now-a.Milestones[i-1].At))
			if drop == 0 || share < least {
				least, drop = share, i
			}
		}
		a.Milestones = slices.Delete(a.Milestones, drop, drop+1)
	}
}

// After is a time after which a committed record at an offset was written: that of the last milestone before it. It is zero if there is none.
func (a *Account) After(topic string, partition int32, offset int64) time.Time {
	if a == nil {
		return time.Time{}
	}
	i := a.find(topic, partition)
	for _, m := range slices.Backward(a.Milestones) {
		if i >= 0 && i < len(m.Tallies) && m.Tallies[i].Next <= offset {
			return time.Unix(m.At, 0)
		}
	}
	return time.Time{}
}

// grown says whether anything was written behind the last milestone: one more of the same would be no other place to begin at.
func (a *Account) grown() bool {
	var last Milestone
	if k := len(a.Milestones); k > 0 {
		last = a.Milestones[k-1]
	}
	for i, o := range a.Outputs {
		if before, _ := last.Stored(i); o.Records != before.Records {
			return true
		}
	}
	return false
}

// Stored is the tally of a partition, by its index in Outputs, at the checkpoint of a milestone; false: it was not known then.
func (m Milestone) Stored(output int) (Tally, bool) {
	if output >= len(m.Tallies) {
		return Tally{}, false
	}
	return m.Tallies[output], true
}
