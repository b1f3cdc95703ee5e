package runtime_test

import (
	"bytes"
	"os"
	"testing"

	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// scales weighs the slabs that a worker hands on.
type scales struct {
	nowhere
	slabs, records, largest int
	origins                 map[record.Origin]int64 // the greatest offset
}

func (s *scales) Slab(x *record.Slab) *record.Slab {
	s.slabs++
	s.largest = max(s.largest, len(x.Data)+x.HeaderSize())
	for _, r := range x.Records {
		s.records++
		if from := x.Origins[r.Origin]; s.origins != nil {
			s.origins[from] = max(s.origins[from], r.Offset)
		}
	}
	x.Reset()
	return x
}

func weighed(t *testing.T, p rt.Pipeline, s *scales) engine.Worker {
	t.Helper()
	spec, err := p.Spec(os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return spec.New(s, 0)
}

// TestDeadLettersOfNothing: records without a byte become dead letters that have nothing but headers, and those count: between two
// barriers, which may be an hour apart, a task holds no more of them than of others.
func TestDeadLettersOfNothing(t *testing.T) {
	const records, each = 20_000, 10
	long := bytes.Repeat([]byte("h"), 500)
	for name, headers := range map[string][]record.Header{
		"headers of ours":   nil,
		"headers with text": {{Key: "h", Value: long}},
		"names of headers":  {{Key: string(long)}},
		"empty headers":     make([]record.Header, 200),
	} {
		s := &scales{origins: map[record.Origin]int64{}}
		w := weighed(t, ordersPipeline(), s)
		part := newPart()
		list := make([]record.Record, each)
		for i := 0; i < records; i += each {
			for k := range list {
				list[k] = record.Record{Value: []byte{}, Headers: headers, Offset: int64(i + k), Time: record.NoTime}
			}
			if err := w.Process(&part, list); err != nil {
				t.Fatal(err)
			}
		}
		const slab = 64 << 10
		if s.largest > slab+20_000 || s.records < records*9/10 {
			t.Errorf("%s: %d records in %d slabs, the largest of %d bytes", name, s.records, s.slabs, s.largest)
		}
		w.Flush()
		if got := s.origins[record.Origin{Topic: "orders", Partition: part.ID}]; s.records != records || got != records-1 || len(s.origins) != 1 {
			t.Errorf("%s: %d records, made of %v", name, s.records, s.origins)
		}
	}
}

// newPart is partition 3 of the orders.
func newPart() engine.Partition {
	return engine.Partition{Topic: "orders", ID: 3, Slot: 1, Watermark: int64(rt.MinTime), Floor: []int64{int64(rt.MinTime)}}
}
