package kafka

import (
	"fmt"
	"testing"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

const benchRecord = 180 // bytes of a value, as in docs/performance

// BenchmarkWrite writes records of 180 bytes in transactions of 200,000 to a broker on this machine, which takes CPU too: compare
// user time of the process (-benchtime=2000000x, time), not ns/op.
func BenchmarkWrite(b *testing.B) {
	const perSlab, perTransaction = 500, 200_000
	bed := newBed(b, 2)
	pool := newSlabs(16)
	cfg := bed.config()
	cfg.Recycle = pool.recycleOnly
	s := bed.sink(bed.cluster, cfg)
	value := fmt.Sprintf("%0*d", benchRecord, 0)
	b.ReportAllocs()
	n, inTxn := int64(0), 0
	bed.must(s.Begin(bed.ctx, n))
	end := func() {
		c, _, err := s.Prepare(bed.ctx, n, bed.at(n))
		bed.must(err)
		bed.must(s.Commit(bed.ctx, c))
		n, inTxn = n+1, 0
	}
	b.ResetTimer()
	for done := 0; done < b.N; {
		out := <-pool.free
		out.Reset()
		for i := range perSlab {
			add(out, value[i%100:i%100+8], value, 1_000_000)
		}
		bed.must(s.Write(bed.ctx, out))
		done += perSlab
		if inTxn += perSlab; inTxn >= perTransaction {
			end()
			bed.must(s.Begin(bed.ctx, n))
		}
	}
	end()
	b.SetBytes(benchRecord)
}

// BenchmarkPoll reads records of 180 bytes, as often as needed from the beginning of the topic.
func BenchmarkPoll(b *testing.B) {
	const records, batch = 200_000, 10_000
	bed := newBed(b, 2)
	value := []byte(fmt.Sprintf("%0*d", benchRecord, 0))
	for range records / batch {
		out := make([]kafkatest.Record, batch)
		for i := range out {
			out[i] = kafkatest.Record{Key: value[:8], Value: value}
		}
		bed.Produce(b, bed.in, out...)
	}
	b.ReportAllocs()
	b.SetBytes(benchRecord)
	b.ResetTimer()
	for done := 0; done < b.N; {
		r := bed.reader(false, engine.Position{Topic: bed.in})
		for next := int64(0); next < records; {
			f, err := r.Poll(bed.ctx)
			bed.must(err)
			for _, c := range f.Chunks {
				done += len(c.Records)
				next = c.Next
			}
			f.Release()
		}
		r.Close()
	}
}

// BenchmarkConvert is the part of Poll that is ours.
func BenchmarkConvert(b *testing.B) {
	bed := newBed(b, 2)
	bed.Produce(b, bed.in, make([]kafkatest.Record, 1000)...)
	r := bed.reader(false, engine.Position{Topic: bed.in}).(*reader)
	got := r.client.PollFetches(bed.ctx)
	bed.must(got.Err())
	var to batch
	b.ReportAllocs()
	for b.Loop() {
		to.load(got)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(to.records)), "ns/record")
}

// BenchmarkLoad is the part of Write that is ours.
func BenchmarkLoad(b *testing.B) {
	const records = 1000
	s := &record.Slab{}
	for range records {
		add(s, "key", "value", 1_000_000)
	}
	f, l, t := newFlight(func(*flight) {}), &lane{topic: "t"}, &tally{}
	b.ReportAllocs()
	for b.Loop() {
		f.load(s, l, t, 2_000_000)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}
