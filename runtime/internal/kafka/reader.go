package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// Limits of what a reader fetches ahead: up to fetches × fetchBytes, before decompression (what comes of that: unpack.go). They are small on purpose: what is
// fetched is zeroed, received, decoded and given back while it is in the processor's cache, which costs a fifth less
// than with Kafka's own limits of 50 MB and 1 MB, in a third of the memory.
const (
	fetchBytes     = 4 << 20                // of one answer of a broker
	partitionBytes = 512 << 10              // of one partition in it
	fetches        = 3                      // fetched and not yet polled
	fetchWait      = 250 * time.Millisecond // a broker holds a request open; a resumed partition waits so long
)

// What one batch of records may be, since the whole of it has to be in memory: as it comes, in an answer that says something of other partitions, too, and
// decompressed. A batch of a few kilobytes can be made that decompresses to gigabytes.
const (
	batchStored = 100 << 20
	answerBytes = batchStored + 1<<20
	batchUnpack = 128 << 20
)

// partition names a partition of a topic.
type partition struct {
	topic string
	id    int32
}

// cursor is where a partition is read.
type cursor struct {
	source int
	next   int64
}

// reader reads partitions that it is told to, at offsets that it is told.
type reader struct {
	c      *Cluster
	client *kgo.Client
	pool   *fetchPool
	polled atomic.Int32  // batches that Poll has handed on and that have not come back
	came   chan struct{} // one has

	mu      sync.Mutex
	cursors map[partition]*cursor
	err     error // of Add: returned by the next Poll

	free sync.Pool // of *batch
}

// NewReader opens a reader of partitions at their offsets. Nothing resets an offset: one that is out of range is a
// failure of kind Lost.
func (c *Cluster) NewReader(readUncommitted bool, start []engine.Position) (engine.Reader, error) {
	r := &reader{c: c, pool: &fetchPool{}, came: make(chan struct{}, 1), cursors: map[partition]*cursor{}}
	level := kgo.ReadCommitted()
	if readUncommitted {
		level = kgo.ReadUncommitted()
	}
	at, err := r.place(start)
	if err != nil {
		return nil, err
	}
	unpacker, err := newUnpacker(r.pool)
	if err != nil {
		return nil, err
	}
	r.client, err = kgo.NewClient(append(c.options(c.txns),
		kgo.FetchIsolationLevel(level),
		kgo.ConsumePartitions(at),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		// Positions have to pass commit markers and aborted records, or they never reach the end of a topic.
		kgo.KeepControlRecords(),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(partitionBytes),
		kgo.MaxConcurrentFetches(fetches),
		kgo.FetchMaxWait(fetchWait),
		kgo.BrokerMaxReadBytes(answerBytes),
		kgo.WithDecompressor(unpacker),
		kgo.WithPools(r.pool),
	)...)
	if err != nil {
		return nil, failure.New(failure.Internal, "", err, "set up a reader")
	}
	return r, nil
}

// place notes positions and returns them as the client wants them.
func (r *reader) place(positions []engine.Position) (map[string]map[int32]kgo.Offset, error) {
	out := map[string]map[int32]kgo.Offset{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range positions {
		name := partition{p.Topic, p.Partition}
		if r.cursors[name] != nil {
			return nil, failure.New(failure.Internal, "", nil, "topic %s, partition %d is read twice by one reader", p.Topic, p.Partition)
		}
		r.cursors[name] = &cursor{p.Source, p.Next}
		if out[p.Topic] == nil {
			out[p.Topic] = map[int32]kgo.Offset{}
		}
		out[p.Topic][p.Partition] = kgo.NewOffset().At(p.Next)
	}
	return out, nil
}

// Add reads one more partition.
func (r *reader) Add(p engine.Position) {
	at, err := r.place([]engine.Position{p})
	if err != nil {
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
		return
	}
	r.client.AddConsumePartitions(at)
}

// Pause stops reading a partition; what was fetched of it is read again after Resume.
func (r *reader) Pause(topic string, id int32) {
	r.client.PauseFetchPartitions(map[string][]int32{topic: {id}})
}

// Resume goes on with a paused partition.
func (r *reader) Resume(topic string, id int32) {
	r.client.ResumeFetchPartitions(map[string][]int32{topic: {id}})
}

// Close ends the reader and a Poll that waits.
func (r *reader) Close() { r.client.Close() }

// Poll waits for records.
func (r *reader) Poll(ctx context.Context) (engine.Fetched, error) {
	if err := r.misplaced(); err != nil {
		return engine.Fetched{}, err
	}
	got := r.client.PollFetches(ctx)
	if err := r.check(ctx, got); err != nil {
		return engine.Fetched{}, err
	}
	if got.NumRecords() == 0 && refused(got) {
		r.awaitRoom(ctx)
	}
	b, _ := r.free.Get().(*batch)
	if b == nil {
		b = &batch{}
		b.release = func() { r.recycle(b) }
	}
	b.load(got)
	r.polled.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range b.chunks {
		chunk := &b.chunks[i]
		cursor := r.cursors[partition{chunk.Topic, chunk.Partition}]
		cursor.next, chunk.Source = chunk.Next, cursor.source
	}
	return engine.Fetched{Chunks: b.chunks, Release: b.release}, nil
}

// refused says that a fetch could not be unpacked.
func refused(got kgo.Fetches) (full bool) {
	got.EachError(func(_ string, _ int32, err error) { full = full || errors.Is(err, errFull) })
	return full
}

// awaitRoom waits until something may be unpacked again. What is in the way is with the tasks, or next in line for Poll, or nowhere.
func (r *reader) awaitRoom(ctx context.Context) {
	switch {
	case !r.pool.lent.isFull():
	case r.polled.Load() > 0:
		select {
		case <-r.came:
		case <-ctx.Done():
		case <-r.client.Context().Done():
		}
	case r.client.BufferedFetchRecords() == 0:
		r.pool.lent.collect()
	}
}

// misplaced is the error of an Add.
func (r *reader) misplaced() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// check finds the error of a fetch that says most. The records that came with it are not used: the pipeline goes back.
func (r *reader) check(ctx context.Context, got kgo.Fetches) error {
	err := r.misplaced()
	got.EachError(func(topic string, id int32, e error) {
		if !errors.Is(e, errFull) && (err == nil || errors.Is(e, kerr.OffsetOutOfRange)) {
			err = r.failed(ctx, topic, id, e)
		}
	})
	return err
}

func (r *reader) failed(ctx context.Context, topic string, id int32, err error) error {
	var loss *kgo.ErrDataLoss
	var large *kgo.ErrDecompressTooLarge
	switch {
	case errors.Is(err, kgo.ErrClientClosed):
		return failure.New(failure.Transient, "", err, "the reader was closed")
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return r.c.failed(err, "wait for records")
	case errors.As(err, &loss):
		return failure.New(failure.Lost, lostHelp(), err, "topic %s, partition %d was cut back: records that were read before are gone", topic, id)
	case errors.Is(err, kerr.OffsetOutOfRange):
		return r.outOfRange(ctx, topic, id)
	case largeSize(err) > 0:
		return r.tooLarge(ctx, err)
	case errors.As(err, &large):
		help := fmt.Sprintf("have the producer write smaller batches; to go on without these records, delete what is before offset %d with kafka-delete-records.sh, and start with --accept-loss", large.NextOffset)
		what := unpacksTooLarge(large)
		return failure.OfRecord(help, nil, what, what)
	}
	return r.c.failed(needs(err, Right{"READ", ofTopic, topic}), "read topic %s, partition %d", topic, id)
}

func lostHelp() string {
	return "--accept-loss goes on with what is there; a longer retention.ms of the topic prevents it"
}

// outOfRange says which records are not there.
func (r *reader) outOfRange(ctx context.Context, topic string, id int32) error {
	r.mu.Lock()
	want := r.cursors[partition{topic, id}].next
	r.mu.Unlock()
	there := "what is there is not known"
	first, err := r.c.Offsets(ctx, topic, []int32{id}, engine.OffsetAt{Kind: engine.First})
	if err == nil {
		var end map[int32]int64
		end, err = r.c.Offsets(ctx, topic, []int32{id}, engine.OffsetAt{Kind: engine.End})
		there = fmt.Sprintf("it holds offsets from %d to before %d", first[id], end[id])
		switch {
		case err != nil:
		case want < first[id]:
			there += fmt.Sprintf("; %s %s lost, at most", words.Many(first[id]-want, "record"), words.Does(first[id]-want, "is", "are"))
		case want > end[id]:
			there += "; the topic was made anew or cut back, so how many are lost is not known"
		}
	}
	return failure.New(failure.Lost, lostHelp(), err, "topic %s, partition %d does not have offset %d, which is to be read next: %s", topic, id, want, there)
}

// batch is what one poll brought, and the memory that it is handed on in.
type batch struct {
	fetched kgo.Fetches
	chunks  []engine.Chunk
	records []record.Record
	headers []record.Header
	release func()
}

// load converts fetched records. They keep pointing into the client's buffers.
func (b *batch) load(got kgo.Fetches) {
	records, headers := 0, 0
	got.EachPartition(func(p kgo.FetchTopicPartition) {
		records += len(p.Records)
		for _, r := range p.Records {
			headers += len(r.Headers)
		}
	})
	// Both have to be large enough from the start: chunks point into them.
	b.fetched, b.chunks = got, b.chunks[:0]
	b.records = slices.Grow(b.records[:0], records)
	b.headers = slices.Grow(b.headers[:0], headers)
	got.EachPartition(func(p kgo.FetchTopicPartition) {
		if len(p.Records) == 0 {
			return
		}
		stable := p.LastStableOffset
		if stable < 0 { // not told to a reader of uncommitted records
			stable = p.HighWatermark
		}
		b.chunks = append(b.chunks, engine.Chunk{
			Topic: p.Topic, Partition: p.Partition, Records: b.convert(p.Records),
			Next: p.Records[len(p.Records)-1].Offset + 1, End: p.HighWatermark, Stable: stable,
		})
	})
}

func (b *batch) convert(from []*kgo.Record) []record.Record {
	start := len(b.records)
	for _, r := range from {
		if r.Attrs.IsControl() {
			continue
		}
		to := record.Record{Key: r.Key, Value: r.Value, Offset: r.Offset, Time: micros(millis(r.Timestamp))}
		if len(r.Headers) > 0 {
			first := len(b.headers)
			for _, h := range r.Headers {
				b.headers = append(b.headers, record.Header{Key: h.Key, Value: h.Value})
			}
			to.Headers = b.headers[first:len(b.headers):len(b.headers)]
		}
		b.records = append(b.records, to)
	}
	return b.records[start:len(b.records):len(b.records)]
}

// millis is a Kafka timestamp as it stands in the log. The client makes a time of it by nanoseconds in 64 bits, which wrap beyond the years 1678 to 2262: what
// comes is ms × 10⁶ modulo 2⁶⁴. That is ms × 15625 modulo 2⁵⁸, six bits further left, and 15625 is odd, so that it can be divided out. ms is exact
// within 2⁵⁷ of 1970, which is four million years; one beyond is not told from its remainder.
func millis(t time.Time) int64 {
	const (
		lost    = 6                 // bits
		inverse = 76480200929599801 // of 15625 modulo 2⁵⁸
	)
	return t.UnixNano() >> lost * inverse << lost >> lost
}

// micros is a Kafka timestamp in microseconds. A time beyond their range becomes the last.
func micros(ms int64) int64 {
	const none, perMilli = -1, 1000
	switch {
	case ms == none:
		return record.NoTime
	case ms > math.MaxInt64/perMilli:
		return math.MaxInt64
	case ms < math.MinInt64/perMilli:
		return record.NoTime + 1
	}
	return ms * perMilli
}

// recycle gives the memory of a batch back.
func (r *reader) recycle(b *batch) {
	b.fetched.EachRecord(func(rec *kgo.Record) { rec.Recycle() })
	b.fetched = nil
	clear(b.chunks)
	clear(b.records)
	clear(b.headers)
	if cap(b.records)*int(unsafe.Sizeof(record.Record{}))+cap(b.headers)*int(unsafe.Sizeof(record.Header{})) > polledMost {
		b.records, b.headers = nil, nil
	}
	r.free.Put(b)
	r.polled.Add(-1)
	select {
	case r.came <- struct{}{}:
	default: // it is known
	}
}
