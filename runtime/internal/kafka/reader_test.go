package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

func (b *bed) reader(uncommitted bool, start ...engine.Position) engine.Reader {
	b.t.Helper()
	r, err := b.cluster.NewReader(uncommitted, start)
	b.must(err)
	b.t.Cleanup(r.Close)
	return r
}

// until polls until each partition has been read to its offset. It returns the values in order of arrival, and the last chunk of each partition.
func (b *bed) until(r engine.Reader, next map[int32]int64) ([]string, map[int32]engine.Chunk) {
	b.t.Helper()
	var values []string
	last := map[int32]engine.Chunk{}
	for len(next) > 0 {
		got, err := r.Poll(b.ctx)
		if err != nil {
			b.t.Fatalf("%v; partitions not read to these offsets: %v", err, next)
		}
		for _, c := range got.Chunks {
			for _, rec := range c.Records {
				values = append(values, string(rec.Value))
			}
			c.Records = nil
			last[c.Partition] = c
			if want, ok := next[c.Partition]; ok && c.Next >= want {
				delete(next, c.Partition)
			}
		}
		got.Release()
	}
	return values, last
}

func TestReader(t *testing.T) {
	b := newBed(t, 2)
	at := time.UnixMilli(1_700_000_000_123)
	b.Produce(t, b.in,
		kafkatest.Record{Key: []byte("k"), Value: []byte("v"), Time: at, Headers: []kafkatest.Header{{Key: "a", Value: []byte("1")}, {Key: "b"}}},
		kafkatest.Record{Key: []byte{}, Value: nil, Time: time.UnixMilli(-5)},
		kafkatest.Record{Key: nil, Value: []byte{}, Time: time.UnixMilli(-1)},
		kafkatest.Record{Partition: 1, Value: []byte("other"), Time: at, Headers: []kafkatest.Header{{Key: "c", Value: []byte("2")}}})
	r := b.reader(false, engine.Position{Source: 3, Topic: b.in, Partition: 0, Next: 0}, engine.Position{Source: 4, Topic: b.in, Partition: 1, Next: 0})
	for seen := 0; seen < 2; {
		got, err := r.Poll(b.ctx)
		b.must(err)
		for _, c := range got.Chunks {
			seen++
			if c.Topic != b.in || c.Source != 3+int(c.Partition) {
				t.Errorf("chunk of %s/%d, source %d", c.Topic, c.Partition, c.Source)
			}
			if c.Partition == 1 {
				if len(c.Records) != 1 || string(c.Records[0].Headers[0].Value) != "2" {
					t.Errorf("partition 1: %+v", c.Records)
				}
				continue
			}
			if c.Next != 3 || c.End != 3 || c.Stable != 3 || len(c.Records) != 3 {
				t.Fatalf("partition 0: %+v", c)
			}
			one, two, three := c.Records[0], c.Records[1], c.Records[2]
			if string(one.Key) != "k" || string(one.Value) != "v" || one.Time != at.UnixMicro() || one.Offset != 0 ||
				len(one.Headers) != 2 || one.Headers[0].Key != "a" || string(one.Headers[0].Value) != "1" || one.Headers[1].Key != "b" {
				t.Errorf("first record: %+v", one)
			}
			if two.Key == nil || len(two.Key) != 0 || two.Value != nil || two.Time != -5000 || two.Offset != 1 {
				t.Errorf("second record: %+v", two)
			}
			if three.Key != nil || three.Value == nil || len(three.Value) != 0 || three.Time != record.NoTime {
				t.Errorf("third record: %+v", three)
			}
		}
		got.Release()
	}
}

// The position of a reader passes aborted records and markers, and so reaches the end of a topic.
func TestReaderPassesWhatItDoesNotShow(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		b.ProduceTxn(t, true, b.in, kafkatest.Record{Value: []byte("a")})                                  // 0, marker 1
		b.ProduceTxn(t, false, b.in, kafkatest.Record{Value: []byte("x")}, kafkatest.Record{Value: nil})   // 2, 3, marker 4
		b.ProduceTxn(t, true, b.in, kafkatest.Record{Value: []byte("b")}, kafkatest.Record{Partition: 1})  // 5, marker 6; 0, marker 1
		b.ProduceTxn(t, false, b.in, kafkatest.Record{Value: []byte("y")}, kafkatest.Record{Partition: 1}) // 7, marker 8; 2, marker 3
		b.AwaitSettled(t, b.in)
		values, last := b.until(b.reader(false, b.at(0)...), map[int32]int64{0: 9, 1: 4})
		slices.Sort(values)
		if !slices.Equal(values, []string{"", "a", "b"}) {
			t.Errorf("read %q", values)
		}
		for id, end := range map[int32]int64{0: 9, 1: 4} {
			if c := last[id]; c.Next != end || c.End != end || c.Stable != end {
				t.Errorf("partition %d: %+v, want all at %d", id, c, end)
			}
			for _, kind := range []engine.OffsetKind{engine.End, engine.LastStable} {
				got, err := b.cluster.Offsets(b.ctx, b.in, []int32{id}, engine.OffsetAt{Kind: kind})
				b.must(err)
				if got[id] != end {
					t.Errorf("offset of kind %d is %d, want %d", kind, got[id], end)
				}
			}
		}
	})
}

// Records of an open transaction are waited for; a reader of uncommitted records has them at once.
func TestReaderAndOpenTransaction(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := b.sink(b.cluster, b.config())
		one := b.prepare(s, 1, "a", "b", "c")
		zero, other := engine.Position{Topic: b.out, Partition: 0}, engine.Position{Topic: b.out, Partition: 1}
		ends, err := b.cluster.Offsets(b.ctx, b.out, []int32{0, 1}, engine.OffsetAt{Kind: engine.End})
		b.must(err)
		stable, err := b.cluster.Offsets(b.ctx, b.out, []int32{0, 1}, engine.OffsetAt{Kind: engine.LastStable})
		b.must(err)
		if ends[0]+ends[1] != 3 || stable[0] != 0 || stable[1] != 0 {
			t.Errorf("ends %v, last stable offsets %v", ends, stable)
		}
		open := map[int32]int64{}
		for id, end := range ends {
			if end > 0 {
				open[id] = end
			}
		}
		values, _ := b.until(b.reader(true, zero, other), open)
		if len(values) != 3 {
			t.Errorf("a reader of uncommitted records has %q", values)
		}
		committed := b.reader(false, zero, other)
		ctx, cancel := context.WithTimeout(b.ctx, 2*fetchWait)
		defer cancel()
		if got, err := committed.Poll(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a reader of committed records has %v, %v", got, err)
		}
		b.must(s.Commit(b.ctx, one))
		for id := range ends {
			if ends[id] > 0 {
				open[id] = ends[id] + 1 // the marker
			}
		}
		if values, _ := b.until(committed, open); len(values) != 3 {
			t.Errorf("after the commit: %q", values)
		}
	})
}

func TestReaderOutOfRange(t *testing.T) {
	b := newBed(t, 2)
	b.Produce(t, b.in, kafkatest.Record{Value: []byte("a")}, kafkatest.Record{Value: []byte("b")}, kafkatest.Record{Value: []byte("c")})
	b.DeleteRecords(t, b.in, 0, 2)
	_, err := b.reader(false, engine.Position{Topic: b.in, Next: 1}).Poll(b.ctx)
	wantKind(t, err, failure.Lost, b.in, "partition 0", "offset 1,", "from 2 to before 3", "1 record is lost", "--accept-loss")
	_, err = b.reader(false, engine.Position{Topic: b.in, Next: 9}).Poll(b.ctx)
	wantKind(t, err, failure.Lost, b.in, "partition 0", "offset 9,", "from 2 to before 3", "made anew or cut back")
	values, _ := b.until(b.reader(false, engine.Position{Topic: b.in, Next: 2}), map[int32]int64{0: 3})
	if !slices.Equal(values, []string{"c"}) {
		t.Errorf("read %q", values)
	}
}

func TestReaderAddPauseResume(t *testing.T) {
	b := newBed(t, 2)
	b.Produce(t, b.in, kafkatest.Record{Value: []byte("a0")}, kafkatest.Record{Partition: 1, Value: []byte("b0")})
	r := b.reader(false) // of nothing yet
	r.Add(b.at(0)[0])
	if values, _ := b.until(r, map[int32]int64{0: 1}); !slices.Equal(values, []string{"a0"}) {
		t.Errorf("read %q", values)
	}
	r.Pause(b.in, 0)
	b.Produce(t, b.in, kafkatest.Record{Value: []byte("a1")}, kafkatest.Record{Value: []byte("a2")}, kafkatest.Record{Partition: 1, Value: []byte("b1")})
	r.Add(b.at(0)[1])
	if values, _ := b.until(r, map[int32]int64{1: 2}); !slices.Equal(values, []string{"b0", "b1"}) {
		t.Errorf("while partition 0 is paused: %q", values)
	}
	r.Resume(b.in, 0)
	if values, _ := b.until(r, map[int32]int64{0: 3}); !slices.Equal(values, []string{"a1", "a2"}) {
		t.Errorf("after it: %q", values)
	}
	r.Add(b.at(0)[1])
	_, err := r.Poll(b.ctx)
	wantKind(t, err, failure.Internal, b.in, "read twice")
}

// Fetched records stay as they are until they are released, whatever is polled and released meanwhile.
func TestFetchedRecordsAreNotOverwritten(t *testing.T) {
	b := newBed(t, 2)
	const rounds, each, held = 40, 200, 3
	var queue []engine.Fetched
	check := func(f engine.Fetched) {
		for _, c := range f.Chunks {
			for _, rec := range c.Records {
				if want := value(rec.Offset); string(rec.Value) != want || string(rec.Key) != want[:6] || string(rec.Headers[0].Value) != want[:9] {
					t.Fatalf("record %d: key %q, value %q, header %q", rec.Offset, rec.Key, rec.Value, rec.Headers[0].Value)
				}
			}
		}
		f.Release()
	}
	r := b.reader(false, engine.Position{Topic: b.in})
	var next int64
	for round := range int64(rounds) {
		records := make([]kafkatest.Record, each)
		for i := range records {
			v := []byte(value(round*each + int64(i)))
			records[i] = kafkatest.Record{Key: v[:6], Value: v, Headers: []kafkatest.Header{{Key: "h", Value: v[:9]}}}
		}
		b.Produce(t, b.in, records...)
		for next < (round+1)*each {
			f, err := r.Poll(b.ctx)
			b.must(err)
			next = f.Chunks[0].Next
			if queue = append(queue, f); len(queue) > held {
				check(queue[0])
				queue = queue[1:]
			}
		}
	}
	for _, f := range queue {
		check(f)
	}
}

func value(offset int64) string { return strings.Repeat(fmt.Sprintf("%08d-", offset), 20) }

func TestCloseEndsPoll(t *testing.T) {
	b := newBed(t, 2)
	r := b.reader(false, b.at(0)...)
	polled := make(chan error)
	go func() {
		_, err := r.Poll(b.ctx)
		polled <- err
	}()
	r.Close()
	wantKind(t, <-polled, failure.Transient, "closed")
}

func TestMicros(t *testing.T) {
	for ms, want := range map[int64]int64{
		-1: record.NoTime, 0: 0, 1: 1000, -2: -2000, math.MaxInt64: math.MaxInt64, math.MaxInt64 / 1000: math.MaxInt64 / 1000 * 1000, math.MinInt64: record.NoTime + 1,
	} {
		if got := micros(ms); got != want {
			t.Errorf("micros of %d ms is %d, want %d", ms, got, want)
		}
	}
}

// stamps are Kafka timestamps that another client may have written, some of them beyond what 64 bits of nanoseconds hold, and what is read of them.
func stamps() (written, read []int64) {
	const half = 1 << 57 // ms that are read as they are
	for _, year := range []int{-4_000_000, -9999, 0, 1, 1677, 1678, 1969, 1970, 2026, 2262, 2263, 9999, 10_000, 4_000_000} {
		at := time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		written = append(written, at-2, at-1, at, at+1)
	}
	now := time.Date(2026, time.January, 31, 12, 0, 0, 0, time.UTC)
	written = append(written, now.UnixMicro(), -half, half-1) // who takes microseconds for milliseconds
	read = slices.Clone(written)
	// Beyond, there is the remainder: what it leaves is no time, or one far from all that happens, or, for the least, 1970.
	written = append(written, math.MaxInt64, half, -half-1, now.UnixNano(), math.MinInt64)
	return written, append(read, -1, -half, half-1, now.UnixNano()-6*2*half, 0)
}

func TestMillis(t *testing.T) {
	written, read := stamps()
	for i, ms := range written {
		if got := millis(time.Unix(0, ms*int64(time.Millisecond))); got != read[i] { // as the client does it
			t.Errorf("%d ms is read as %d, want %d", ms, got, read[i])
		}
	}
}

// Kafka timestamps that another client has written are read as they stand in the log.
func TestReaderOfExtremeTimes(t *testing.T) {
	b := newBed(t, 2)
	written, read := stamps()
	b.ProduceStamped(t, b.in, 0, written, make([][]byte, len(written)))
	r := b.reader(false, b.at(0)[0])
	for n := 0; n < len(written); {
		got, err := r.Poll(b.ctx)
		b.must(err)
		for _, rec := range got.Chunks[0].Records {
			if want := micros(read[n]); rec.Time != want || rec.Offset != int64(n) {
				t.Errorf("record %d of %d ms is at %d with a time of %d µs, want %d", n, written[n], rec.Offset, rec.Time, want)
			}
			n++
		}
		got.Release()
	}
	at, first := b.at(0)[0], slices.Index(written, time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	at.Next = int64(first)
	times, err := b.cluster.Times(b.ctx, []engine.Position{at}, map[string]map[int32]int64{b.in: {0: int64(len(written))}})
	b.must(err)
	if got := times[at]; got.UnixMilli() != written[first] {
		t.Errorf("doctor is told %v, want %d ms", got, written[first])
	}
}
