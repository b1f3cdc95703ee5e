package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// places are where brokers say that they have put the records of one transaction: by lane, then by partition. The client calls note for one record after
// the other, and written is called when all are acknowledged.
type places [][]place

// place is the records in one partition.
type place struct {
	checkpoint.Tally
	first  int64
	untold int64
	fell   bool
}

func newPlaces(lanes int) places { return make(places, lanes) }

// note adds a record that is acknowledged.
func (p places) note(lane int, r *kgo.Record) {
	if p == nil {
		return
	}
	for int(r.Partition) >= len(p[lane]) {
		p[lane] = append(p[lane], place{})
	}
	at := &p[lane][r.Partition]
	at.Records++
	if r.Offset < 0 { // the broker has had the batch before, and does not know any more where it is
		at.untold++
		return
	}
	switch {
	case at.Next == 0:
		at.first = r.Offset
	case r.Offset < at.Next:
		at.fell = true
	}
	at.Next = max(at.Next, r.Offset+1)
	at.Sum += checkpoint.HashOffset(r.Offset)
}

// written is what there is, by topic: lanes may share one.
func (p places) written(lanes []lane) []checkpoint.Written {
	var out []checkpoint.Written
	for i, parts := range p {
		for id, at := range parts {
			if at.Records > 0 {
				out = merge(out, lanes[i].topic, int32(id), at)
			}
		}
	}
	return out
}

// merge adds what a lane has written to what others have in the same partition. Their records alternate, so only each lane's own offsets
// have to grow.
func merge(to []checkpoint.Written, topic string, id int32, at place) []checkpoint.Written {
	w := checkpoint.Written{Topic: topic, Partition: id, First: at.first, Tally: at.Tally, Untold: at.untold, Fell: at.fell}
	if at.Next == 0 {
		w.First = -1
	}
	i := slices.IndexFunc(to, func(o checkpoint.Written) bool { return o.Topic == topic && o.Partition == id })
	if i < 0 {
		return append(to, w)
	}
	o := &to[i]
	if o.First < 0 || w.First >= 0 && w.First < o.First {
		o.First = w.First
	}
	o.Next = max(o.Next, w.Next)
	o.Records, o.Sum, o.Untold, o.Fell = o.Records+w.Records, o.Sum+w.Sum, o.Untold+w.Untold, o.Fell || w.Fell
	return to
}
