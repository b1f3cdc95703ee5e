package kafka

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// TestWritten compares where brokers say that they have put records with where a reader finds them: two sinks to one topic, two transactions.
func TestWritten(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		cfg := b.config()
		cfg.Topics = append(cfg.Topics, cfg.Topics[0])
		s := b.sink(b.cluster, cfg)
		account := (&checkpoint.Account{}).Run("p", 0, nil)
		for n := int64(1); n <= 2; n++ {
			b.must(s.Begin(b.ctx, n))
			for sink := range 2 {
				b.must(s.Write(b.ctx, slab(sink, "a", "b", "c", "d", "e")))
			}
			c, written, err := s.Prepare(b.ctx, n, b.at(n))
			b.must(err)
			b.must(s.Commit(b.ctx, c))
			account = account.Add(n, time.Now(), c.ProducerID, written)
		}
		b.AwaitSettled(t, b.out)
		found := map[int32]checkpoint.Tally{}
		for _, r := range b.ReadCommitted(t, b.out) {
			f := found[r.Partition]
			found[r.Partition] = checkpoint.Tally{Next: r.Offset + 1, Records: f.Records + 1, Sum: f.Sum + checkpoint.HashOffset(r.Offset)}
		}
		total := int64(0)
		for _, o := range account.Outputs {
			if o.Tally != found[o.Partition] || o.Fell != 0 || o.Untold != 0 {
				t.Errorf("partition %d: acknowledged %+v, found %+v", o.Partition, o, found[o.Partition])
			}
			total += o.Records
		}
		if total != 20 || len(account.Outputs) != len(found) {
			t.Errorf("%d records in %d partitions, want 20 in %d", total, len(account.Outputs), len(found))
		}
	})
}

// TestAuditReadsWhatIsCommitted reads from one offset to another: committed records in order, without those of aborted transactions.
func TestAuditReadsWhatIsCommitted(t *testing.T) {
	b := newBed(t, 2)
	value := func(partition int32) kafkatest.Record {
		return kafkatest.Record{Partition: partition, Value: []byte("v")}
	}
	b.Produce(t, b.out, value(0), value(0), value(1)) // 0 and 1; 0
	aborted := b.OpenTxn(t, b.out+"-a", b.out, value(0))
	b.must(aborted.Abort(b.ctx)) // 2, end 3
	b.AwaitSettled(t, b.out)     // the end of a transaction is written behind the answer
	committed := b.OpenTxn(t, b.out+"-c", b.out, value(0), value(1))
	b.must(committed.Commit(b.ctx)) // 4, end 5; 1, end 2
	b.AwaitSettled(t, b.out)
	var got [2][]int64
	transactional := map[int64]bool{}
	passed := int64(0)
	b.must(b.cluster.ReadCommitted(b.ctx, []Stretch{{b.out, 0, 1, 6}, {b.out, 1, 0, 2}, {b.in, 0, 0, 0}}, func(r Committed) {
		got[r.Partition] = append(got[r.Partition], r.Offset)
		transactional[r.Offset] = r.Producer >= 0
	}, func(n int64) { passed += n }))
	if want := [2][]int64{{1, 4}, {0, 1}}; !equal(got, want) || passed != 7 {
		t.Errorf("got %v, want %v; passed %d offsets of 7", got, want, passed)
	}
	b.DeleteRecords(t, b.out, 0, 2)
	err := b.cluster.ReadCommitted(b.ctx, []Stretch{{b.out, 0, 0, 6}}, func(Committed) {}, func(int64) {})
	if failure.KindOf(err) != failure.Lost {
		t.Errorf("deleted records: %v", err)
	}
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := b.cluster.ReadCommitted(ctx, []Stretch{{b.out, 1, 0, 2}}, func(Committed) {}, func(int64) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func equal(a, b [2][]int64) bool {
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return false
		}
		for j := range a[i] {
			if a[i][j] != b[i][j] {
				return false
			}
		}
	}
	return true
}

// TestAuditNeedsLittleMemory reads a topic that is several times as large as what it may take.
func TestAuditNeedsLittleMemory(t *testing.T) {
	b := newBed(t, 2)
	const batch, rounds, size, limit = 1000, 96, 1000, 64 << 20
	value := bytes.Repeat([]byte("x"), size)
	for range rounds {
		var list []kafkatest.Record
		for i := range batch {
			list = append(list, kafkatest.Record{Partition: int32(i % 2), Value: value})
		}
		b.Produce(t, b.out, list...)
	}
	ends, err := b.cluster.Offsets(b.ctx, b.out, []int32{0, 1}, engine.OffsetAt{Kind: engine.LastStable})
	b.must(err)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, most := 0, uint64(0)
	b.must(b.cluster.ReadCommitted(b.ctx, []Stretch{{b.out, 0, 0, ends[0]}, {b.out, 1, 0, ends[1]}}, func(Committed) { n++ }, func(int64) {
		runtime.GC() // what is in use, not what the collector has not come to yet
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapAlloc)
	}))
	if n != batch*rounds {
		t.Errorf("read %d records", n)
	}
	if took := int64(most) - int64(before.HeapAlloc); took > limit {
		t.Errorf("reading %d MiB took %d MiB of memory", n*size>>20, took>>20)
	}
	t.Logf("%d MiB read, %d MiB more in use", n*size>>20, (int64(most)-int64(before.HeapAlloc))>>20)
}
