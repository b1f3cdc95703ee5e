package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// squeezed writes records to an embedded broker, each a batch of its own that is as small as can be.
func squeezed(t *testing.T, b *bed, records ...*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerBatchMaxBytes(batchUnpack), kgo.BrokerMaxWriteBytes(2*batchUnpack))
	b.must(err)
	defer client.Close()
	for _, r := range records {
		r.Topic = b.in
		b.must(client.ProduceSync(b.ctx, r).FirstErr())
	}
}

// A batch that would take gigabytes by its headers alone is refused as one that unpacks to too much is. One that takes less is read, though it is more than a
// reader holds of several.
func TestHeadersTakeTooMuch(t *testing.T) {
	b := newBedAt(t, kafkatest.StartLiar(t).Broker)
	most := batchMost / headerTakes
	squeezed(t, b, &kgo.Record{Headers: make([]kgo.RecordHeader, heldMost/headerTakes+1)}, &kgo.Record{Headers: make([]kgo.RecordHeader, most)})
	r := b.reader(false, b.at(0)...)
	got, err := r.Poll(b.ctx)
	b.must(err)
	if n := len(got.Chunks[0].Records); n != 1 || got.Chunks[0].Next != 1 {
		t.Fatalf("%d records were read, up to %d", n, got.Chunks[0].Next)
	}
	got.Release()
	_, err = r.Poll(b.ctx)
	wantKind(t, err, failure.Record, "partition 0: the records from offset 1 to before 2 are one batch of more than 128 MiB, decompressed, or of more than 512 MiB with")
}

// messageSet is a set of messages in a format before Kafka 0.11, each with a value.
func messageSet(format int8, n int, value []byte) (set []byte) {
	for i := range n {
		var m []byte
		if format == 0 {
			m = (&kmsg.MessageV0{Offset: int64(i), Magic: format, Value: value}).AppendTo(nil)
		} else {
			m = (&kmsg.MessageV1{Offset: int64(i), Magic: format, Value: value}).AppendTo(nil)
		}
		binary.BigEndian.PutUint32(m[8:], uint32(len(m)-12))
		set = append(set, m...)
	}
	return set
}

// Old segments of a topic have messages in the formats before Kafka 0.11, which are weighed as what they are.
func TestMessagesOfOldFormats(t *testing.T) {
	for format := range int8(2) {
		const n = 1000
		for _, value := range [][]byte{nil, []byte("v"), make([]byte, 300)} {
			set := messageSet(format, n, value)
			if got := beside(set); got != n*messageTakes {
				t.Errorf("format %d, values of %d bytes: %d bytes beside them, want %d", format, len(value), got, n*messageTakes)
			}
			for _, broken := range [][]byte{set[:len(set)-1], append(slices.Clone(set), 0), append(bytes.Repeat([]byte{0}, 8), set...)} {
				if got := beside(broken); got < len(broken)*recordTakes/2 {
					t.Errorf("format %d: a set that is none counts %d bytes beside its %d, less than a broken batch", format, got, len(broken))
				}
			}
		}
	}
}

// What is refused waits for room, and nothing else is unpacked meanwhile. Room is made by what comes back, not by what never went out.
func TestLent(t *testing.T) {
	var l lent
	first, second, stranger := make([]byte, heldMost/4), make([]byte, heldMost/4), make([]byte, 1)
	if !l.add(first, 0) || !l.add(second, 0) || l.isFull() {
		t.Fatal("there is room for both")
	}
	const large = heldMost*3/4 - 1 // beside the byte
	refused := make([]byte, 1)
	if l.add(refused, large) {
		t.Fatal("there is no room for as much")
	}
	l.back(refused)
	l.back(stranger)
	if !l.isFull() {
		t.Error("nothing has come back, and something waits")
	}
	if l.collect(); !l.isFull() {
		t.Error("all is still in use, and something waits")
	}
	l.back(second)
	if l.isFull() || !l.add(refused, large) {
		t.Error("a quarter has come back, and there is no room for three quarters")
	}
	runtime.KeepAlive(first)
}

// What alone is more than may be held does not wait until nothing is held, which others may prevent for ever. It goes out beside them, one at a time, and
// they beside it.
func TestLargeIsNotStarved(t *testing.T) {
	var l lent
	small, next, first, second := make([]byte, heldMost), make([]byte, heldMost), make([]byte, 1), make([]byte, 1)
	if !l.add(small, 0) || !l.add(first, batchMost) {
		t.Fatal("a large one waits for small ones")
	}
	l.back(small)
	if !l.add(next, 0) {
		t.Fatal("small ones wait for a large one")
	}
	if l.add(second, heldMost) || !l.isFull() {
		t.Fatal("two large ones are out")
	}
	l.back(next)
	if !l.isFull() {
		t.Error("a small one has come back, and a large one waits for the other")
	}
	l.back(first)
	if l.isFull() || !l.add(second, heldMost) {
		t.Error("a large one has come back, and there is no room for another")
	}
	if l.back(second); l.total != 0 || l.large {
		t.Errorf("all has come back, and %d bytes are counted, a large one %v", l.total, l.large)
	}
}

// Memory that was thrown away, and that Go has collected by itself, makes room at the next look.
func TestCollectedMakesRoom(t *testing.T) {
	var l lent
	thrown := make([]byte, heldMost)
	if !l.add(thrown, 0) || l.add(make([]byte, 1), 0) || !l.isFull() {
		t.Fatal("alone any memory may go out, and none with too much")
	}
	runtime.KeepAlive(thrown)
	runtime.GC()
	if l.isFull() {
		t.Error("what nobody has is in the way")
	}
}

// Memory that the client has thrown away is not in the way for ever, be it little.
func TestLittleThrownAwayIsCollected(t *testing.T) {
	var l lent
	for _, leaked := range []int{32, heldMost / 4} { // smaller memory may share its block, and be there as long as its neighbours
		l.add(make([]byte, leaked), 0)
		wanted := make([]byte, heldMost-leaked+1)
		for range 3 { // the client asks for it again
			if !l.isFull() && l.add(wanted, 0) {
				l.back(wanted)
				break
			}
			l.back(wanted)
			l.collect()
		}
		if l.isFull() || l.total != 0 {
			t.Errorf("%d bytes that nobody has are in the way of %d: %d are counted", leaked, len(wanted), l.total)
		}
	}
}

// Memory that the client has thrown away is not in the way for ever.
func TestThrownAwayIsCollected(t *testing.T) {
	b := newBedAt(t, kafkatest.StartLiar(t).Broker)
	squeezed(t, b, &kgo.Record{Value: []byte("v")})
	r := b.reader(false, b.at(0)...)
	lent := &r.(*reader).pool.lent
	thrown := make([]byte, heldMost)
	if !lent.add(thrown, 0) || lent.add(make([]byte, 1), 0) {
		t.Fatal("alone any memory may go out, and none with too much")
	}
	runtime.KeepAlive(thrown)
	if values, _ := b.until(r, map[int32]int64{0: 1}); len(values) != 1 || values[0] != "v" {
		t.Errorf("read %q", values)
	}
}

// A reader whose memory is with the tasks waits for it, and no longer than it is wanted.
func TestAwaitRoom(t *testing.T) {
	b := newBedAt(t, kafkatest.StartLiar(t).Broker)
	r := b.reader(false, b.at(0)...).(*reader)
	r.polled.Add(2)
	r.awaitRoom(b.ctx) // there is some
	held := make([]byte, heldMost)
	r.pool.lent.add(held, 0)
	r.pool.lent.add(held[:1:1], 0)
	over, cancel := context.WithCancel(b.ctx)
	cancel()
	r.awaitRoom(over)
	go r.recycle(&batch{})
	r.awaitRoom(b.ctx)
	go r.Close()
	r.awaitRoom(b.ctx)
	runtime.KeepAlive(held)
}

// What is counted is what the client makes of a batch, and no less of one that is broken.
func TestCount(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		var batch []byte
		n := random.IntN(20)
		for i := range n {
			batch = appendRecord(batch, random, i)
		}
		records, headers := count(batch)
		if r, h := decoded(t, batch, n); r != records || h != headers || r != n {
			t.Fatalf("%d records with %d headers of %d were counted, the client made %d and %d: %x", records, headers, n, r, h, batch)
		}
		if len(batch) == 0 {
			continue
		}
		for range 1 + random.IntN(3) {
			batch[random.IntN(len(batch))] = byte(random.Uint32())
		}
		batch = batch[:random.IntN(len(batch)+1)]
		records, headers = count(batch)
		if r, h := decoded(t, batch, n); r > records || h > headers {
			t.Fatalf("%d records with %d headers were counted, the client made %d and %d: %x", records, headers, r, h, batch)
		}
	}
}

func appendRecord(batch []byte, random *rand.Rand, i int) []byte {
	some := func() []byte {
		if n := random.IntN(200) - 20; n >= 0 {
			return make([]byte, n)
		}
		return nil
	}
	r := kmsg.Record{TimestampDelta64: random.Int64N(1<<40) - 1<<39, OffsetDelta: int32(i), Key: some(), Value: some()}
	for range max(0, random.IntN(300)-200) {
		r.Headers = append(r.Headers, kmsg.Header{Key: string(some()), Value: some()})
	}
	unsized := r.AppendTo(nil)[1:] // a length of 0 is one byte
	r.Length = int32(len(unsized))
	return r.AppendTo(batch)
}

// decoded is what the client makes of an uncompressed batch.
func decoded(t *testing.T, section []byte, n int) (records, headers int) {
	t.Helper()
	const summed, beforeLength = 21, 12
	batch := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(n) - 1, NumRecords: int32(n), ProducerID: -1, Records: section}
	batch.Length = int32(len(batch.AppendTo(nil)) - beforeLength)
	batch.CRC = int32(crc32.Checksum(batch.AppendTo(nil)[summed:], crc32.MakeTable(crc32.Castagnoli)))
	from := kmsg.NewFetchResponseTopicPartition()
	from.RecordBatches = batch.AppendTo(nil)
	got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{}, &from, kgo.DefaultDecompressor(), nil)
	for _, r := range got.Records {
		headers += len(r.Headers)
	}
	return len(got.Records), headers
}

// BenchmarkUnpack compares ours with the client's, on batches as producers write them by default, and large ones.
func BenchmarkUnpack(b *testing.B) {
	for _, records := range []int{80, 5000} {
		var batch []byte
		for i := range records {
			r := kmsg.Record{OffsetDelta: int32(i), Key: []byte("customer"), Value: fmt.Appendf(nil, `{"order":%d,"customer":"c%d","note":"%0*d"}`, i, i%97, benchRecord-60, rand.Uint64())}
			r.Length = int32(len(r.AppendTo(nil)) - 1)
			batch = r.AppendTo(batch)
		}
		compressor, err := kgo.DefaultCompressor(kgo.Lz4Compression())
		if err != nil {
			b.Fatal(err)
		}
		var to bytes.Buffer
		small, codec := compressor.Compress(&to, batch)
		pool := &fetchPool{}
		ours, err := newUnpacker(pool)
		if err != nil {
			b.Fatal(err)
		}
		for name, of := range map[string]kgo.Decompressor{"client": ours.client, "ours": ours} {
			b.Run(fmt.Sprintf("%s/%d", name, records), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(batch)))
				for b.Loop() {
					out, err := of.Decompress(small, codec)
					if err != nil {
						b.Fatal(err)
					}
					pool.PutDecompressBytes(out)
				}
			})
		}
	}
}
