package engine

import (
	"fmt"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// idleWorker does nothing with records, so that what is measured is the engine.
type idleWorker struct{ Worker }

func (idleWorker) Process(p *Partition, records []record.Record) error {
	p.Watermark = records[len(records)-1].Time
	return nil
}

func (idleWorker) Advance(int, int64) (int, error) { return 0, nil }

// BenchmarkProcess takes a fetch of 100 records from each of 8 partitions through a source task: what the engine
// adds to each record, and to each fetch. It allocates nothing.
func BenchmarkProcess(b *testing.B) {
	const partitions, records = 8, 100
	spec := &Spec{Sources: make([]SourceSpec, 1), Operators: []OperatorSpec{{Sources: []int{0}, Size: 1e6}}}
	tr := newTracker(spec, []int64{minTime})
	t := &sourceTask{
		spec: spec, worker: idleWorker{}, out: &outlet{}, tracker: tr, commands: make(chan command), active: func() {},
		moved: tr.subscribe(), w: make([]int64, 1), now: make([]int64, 1),
	}
	var chunks []Chunk
	for i := range int32(partitions) {
		p := &sourcePart{Partition: Partition{ID: i, Topic: fmt.Sprint(i), Watermark: minTime}, bound: -1, reach: newReach()}
		p.Slot, p.Floor = tr.add(0, 0, minTime, true)
		t.parts = append(t.parts, p)
		chunks = append(chunks, Chunk{Topic: p.Topic, Partition: i, Records: make([]record.Record, records)})
	}
	next := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		for i := range chunks {
			c := &chunks[i]
			for k := range c.Records {
				c.Records[k].Offset, c.Records[k].Time = next+int64(k), next+int64(k)
			}
			c.Next = next + records
			c.End, c.Stable = c.Next, c.Next
		}
		next += records
		if _, err := t.process(b.Context(), chunks); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*partitions*records), "ns/record")
}

// BenchmarkStatus asks a pipeline of 1000 partitions how it is.
func BenchmarkStatus(b *testing.B) {
	spec := &Spec{Sources: []SourceSpec{{Name: "in", Topic: "in"}}, Operators: []OperatorSpec{{Sources: []int{0}, Size: 1e6}}}
	e := &Engine{Spec: spec}
	a := &attempt{Engine: e, tracker: newTracker(spec, []int64{minTime})}
	for i := range int32(1000) {
		n, _ := a.tracker.add(0, 0, minTime, true)
		a.assigned = append(a.assigned, slot{slot: n, id: i, reach: newReach()})
	}
	e.board.show(a)
	b.ReportAllocs()
	for b.Loop() {
		e.Status()
	}
}
