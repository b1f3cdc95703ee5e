package kafka

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// What is written is what was asked for: keys, nulls, headers, and a timestamp that brokers take.
func TestRecordsAsWritten(t *testing.T) {
	b := newBed(t, 2)
	cfg, told := b.config(), int64(0)
	cfg.Happened = func(topic int, what engine.Occasion, n int64) {
		if topic == 0 && what == engine.Clamped {
			told += n
		}
	}
	s := b.sink(b.cluster, cfg).(*sink)
	before := time.Now().Truncate(time.Millisecond)
	in := &record.Slab{}
	add(in, "k", "value", 1_700_000_000_123_456)
	add(in, "", "empty key", -5_000_000)
	add(in, "k", "", before.Add(time.Hour).UnixMicro())
	in.Records = append(in.Records, record.Span{Start: len(in.Data), KeyEnd: len(in.Data), End: len(in.Data), Time: record.NoTime})
	in.HeaderText = append(in.HeaderText, "onetwo"...)
	in.Headers = append(in.Headers, record.SlabHeader{Key: "a", Start: 0, End: 3}, record.SlabHeader{Key: "b", Start: 3, End: 6}, record.SlabHeader{Key: "c", Start: 6, End: 6})
	in.Records[0].Headers, in.Records[0].HeaderEnd = 0, 2
	in.Records[3].Headers, in.Records[3].HeaderEnd = 2, 3
	b.must(s.Begin(b.ctx, 1))
	b.must(s.Write(b.ctx, in))
	c, _, err := s.Prepare(b.ctx, 1, b.at(1))
	b.must(err)
	b.must(s.Commit(b.ctx, c))
	b.AwaitSettled(t, b.out)
	after := time.Now()

	found := 0
	for _, r := range b.ReadCommitted(t, b.out) {
		inRange := !r.Time.Before(before) && !r.Time.After(after)
		switch {
		case string(r.Value) == "value":
			if string(r.Key) != "k" || r.Time.UnixMilli() != 1_700_000_000_123 || len(r.Headers) != 2 ||
				r.Headers[0].Key != "a" || string(r.Headers[0].Value) != "one" || string(r.Headers[1].Value) != "two" {
				t.Errorf("%+v", r)
			}
		case string(r.Value) == "empty key":
			if r.Key == nil || len(r.Key) != 0 || r.Time.UnixMilli() != 0 || len(r.Headers) != 0 {
				t.Errorf("%+v", r)
			}
		case r.Key != nil:
			if r.Value == nil || len(r.Value) != 0 || string(r.Key) != "k" || !inRange {
				t.Errorf("%+v", r)
			}
		default:
			if r.Value == nil || len(r.Value) != 0 || !inRange || len(r.Headers) != 1 || len(r.Headers[0].Value) != 0 {
				t.Errorf("%+v", r)
			}
		}
		found++
	}
	if found != 4 {
		t.Errorf("%d records, want 4", found)
	}
	if n := s.lanes[0].clamped.total(); n != 2 || told != 2 {
		t.Errorf("%d timestamps were clamped, %d told, want 2", n, told)
	}
}

// A key goes to the partition that Java's producer chooses. The hashes are from the tests of Kafka's own murmur2 (UtilsTest).
func TestPartitionOfKey(t *testing.T) {
	b := newBed(t, 2)
	const partitions = 7
	topic := b.out + "-7"
	b.CreateTopic(t, topic, partitions)
	cfg := b.config()
	cfg.Topics[0].Topic = topic
	s := b.sink(b.cluster, cfg)
	hashes := map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107}
	in := &record.Slab{}
	for key := range hashes {
		add(in, key, "v", 0)
	}
	b.must(s.Begin(b.ctx, 1))
	b.must(s.Write(b.ctx, in))
	c, _, err := s.Prepare(b.ctx, 1, b.at(1))
	b.must(err)
	b.must(s.Commit(b.ctx, c))
	b.AwaitSettled(t, topic)
	got := b.ReadCommitted(t, topic)
	if len(got) != len(hashes) {
		t.Errorf("%d records", len(got))
	}
	for _, r := range got {
		if want := (hashes[string(r.Key)] & 0x7fffffff) % partitions; r.Partition != want {
			t.Errorf("key %s is in partition %d, want %d", r.Key, r.Partition, want)
		}
	}
}

// slabs hands out a few slabs again and again, as a pipeline does, and notices one that comes back twice.
type slabs struct {
	mu   sync.Mutex
	out  map[*record.Slab]bool
	free chan *record.Slab
	bad  int
}

func newSlabs(n int) *slabs {
	s := &slabs{out: map[*record.Slab]bool{}, free: make(chan *record.Slab, n)}
	for range n {
		s.free <- &record.Slab{}
	}
	return s
}

func (s *slabs) get() *record.Slab {
	slab := <-s.free
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out[slab] = true
	slab.Reset()
	return slab
}

func (s *slabs) recycle(slab *record.Slab) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.out[slab] {
		s.bad++
		return
	}
	delete(s.out, slab)
	for i := range slab.Data {
		slab.Data[i] = '!' // whoever still reads this shows it
	}
	s.free <- slab
}

// recycleOnly takes a slab back without looking at it.
func (s *slabs) recycleOnly(slab *record.Slab) { s.free <- slab }

// Slabs are used again as soon as they come back, in every delivery at once; nothing is lost, changed or doubled.
func TestSlabsAreReused(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		const transactions, slabsEach, recordsEach = 5, 60, 50
		deliveries := []engine.Delivery{engine.ExactlyOnce, engine.AtLeastOnce, engine.None}
		cfg := b.config()
		cfg.Topics = nil
		for _, d := range deliveries {
			topic := fmt.Sprint(b.out, "-", d)
			b.CreateTopic(t, topic, 2)
			cfg.Topics = append(cfg.Topics, engine.SinkSpec{Topic: topic, Deliver: d})
		}
		pool := newSlabs(8)
		cfg.Recycle = pool.recycle
		s := b.sink(b.cluster, cfg)
		want := make([][]string, len(deliveries))
		for n := range int64(transactions) {
			b.must(s.Begin(b.ctx, n))
			for i := range slabsEach {
				out := pool.get()
				out.Sink = i % len(deliveries)
				for j := range recordsEach {
					v := fmt.Sprintf("%d/%d/%d", n, i, j)
					add(out, v, v+"/value", 1000)
					want[out.Sink] = append(want[out.Sink], v)
				}
				b.must(s.Write(b.ctx, out))
			}
			c, _, err := s.Prepare(b.ctx, n, b.at(n))
			b.must(err)
			if c.Records != slabsEach*recordsEach/int64(len(deliveries)) {
				t.Errorf("transaction %d has %d records", n, c.Records)
			}
			b.must(s.Commit(b.ctx, c))
		}
		for range cap(pool.free) {
			pool.get() // every slab comes back, those of delivery none as well
		}
		if pool.bad > 0 {
			t.Errorf("%d slabs came back twice", pool.bad)
		}
		for i, spec := range cfg.Topics {
			b.AwaitSettled(t, spec.Topic)
			var got []string
			for _, r := range b.ReadCommitted(t, spec.Topic) {
				if !bytes.Equal(r.Value, append(slices.Clone(r.Key), "/value"...)) {
					t.Fatalf("%s: key %q, value %q", spec.Topic, r.Key, r.Value)
				}
				got = append(got, string(r.Key))
			}
			if !sameSet(got, want[i]) {
				t.Errorf("%s: %d records, want %d", spec.Topic, len(got), len(want[i]))
			}
		}
	})
}

// Without a sink of exactly_once there is no transaction: records are there after Prepare, plain offsets after Commit.
func TestAtLeastOnceOnly(t *testing.T) {
	b := newBed(t, 2)
	cfg := b.config()
	cfg.Topics[0].Deliver = engine.AtLeastOnce
	cfg.Exactly, cfg.IDs = false, [2]string{}
	s := b.sink(b.cluster, cfg)
	for n := range int64(3) {
		c := b.prepare(s, n, fmt.Sprint("v", n))
		if c.TransactionalID != "" || c.Checkpoint != n || c.Incarnation != b.incarnation {
			t.Errorf("committable: %+v", c)
		}
		if got := b.ReadCommitted(t, b.out); len(got) != int(n)+1 {
			t.Errorf("%d records after Prepare %d", len(got), n)
		}
		b.must(s.Commit(b.ctx, c))
		got, err := b.cluster.Offsets(b.ctx, b.in, []int32{0, 1}, engine.OffsetAt{Kind: engine.Committed, Name: b.group})
		b.must(err)
		if got[0] != n || got[1] != n {
			t.Errorf("committed offsets after %d: %v", n, got)
		}
		if outcome, err := b.cluster.EndTxn(b.ctx, c); err != nil || outcome != engine.CommittedNow {
			t.Errorf("EndTxn without a transaction: %v, %v", outcome, err)
		}
	}
	b.marked(-1)

	big := make([]byte, 2<<20)
	b.must(s.Begin(b.ctx, 3))
	err := s.Write(b.ctx, slab(0, string(big)))
	if err == nil {
		_, _, err = s.Prepare(b.ctx, 3, b.at(3))
	}
	wantKind(t, err, failure.Record, b.out, "too large")
}

// A record that delivery none loses fails nothing.
func TestNoneMayLose(t *testing.T) {
	b := newBed(t, 2)
	cfg := b.config()
	cfg.Topics[0].Deliver = engine.None
	cfg.Exactly = false
	var told atomic.Int64
	cfg.Happened = func(topic int, what engine.Occasion, n int64) {
		if topic == 0 && what == engine.Lost {
			told.Add(n)
		}
	}
	s := b.sink(b.cluster, cfg).(*sink)
	b.must(s.Begin(b.ctx, 1))
	b.must(s.Write(b.ctx, slab(0, "a", string(make([]byte, 2<<20)), "b")))
	c, _, err := s.Prepare(b.ctx, 1, b.at(1))
	b.must(err)
	b.must(s.Commit(b.ctx, c))
	b.must(s.plain[engine.None].client.Flush(b.ctx))
	if n := s.lanes[0].lost.total(); n != 1 || told.Load() != 1 {
		t.Errorf("%d records are counted as lost, %d told, want the one that is too large", n, told.Load())
	}
}

// A topic of delivery none that is made anew gets records again.
func TestNoneFindsNewTopic(t *testing.T) {
	b := newBed(t, 2)
	cfg := b.config()
	cfg.Topics[0].Deliver = engine.None
	cfg.Exactly = false
	s := b.sink(b.cluster, cfg).(*sink)
	send := func() {
		b.must(s.Write(b.ctx, slab(0, "a")))
		b.must(s.plain[engine.None].client.Flush(b.ctx))
	}
	b.must(s.Begin(b.ctx, 1))
	send()
	b.DeleteTopic(t, b.out)
	for s.lanes[0].lost.total() == 0 {
		send()
	}
	b.CreateTopic(t, b.out, 2)
	for lost := int64(0); len(b.ReadCommitted(t, b.out)) == 0; {
		send()
		if n := s.lanes[0].lost.total(); n == lost && len(b.ReadCommitted(t, b.out)) == 0 {
			t.Fatal("a record is neither lost nor there")
		} else {
			lost = n
		}
	}
}

func TestMissingTopic(t *testing.T) {
	b := newBed(t, 2)
	cfg := b.config()
	cfg.Topics[0].Topic = "no-such-topic"
	s := b.sink(b.cluster, cfg)
	b.must(s.Begin(b.ctx, 1))
	err := s.Write(b.ctx, slab(0, "a"))
	if err == nil {
		_, _, err = s.Prepare(b.ctx, 1, b.at(1))
	}
	wantKind(t, err, failure.Cluster, "topic no-such-topic does not exist", "kafka-topics.sh --create --topic no-such-topic", "--create-topics")
}

func TestTopicsAndOffsets(t *testing.T) {
	b := newBed(t, 2)
	made := b.in + "-made"
	b.must(b.cluster.Create(b.ctx, made))
	b.must(b.cluster.Create(b.ctx, made)) // there already
	topics, err := b.cluster.Topics(b.ctx, []string{made, "no-such-topic"})
	for tries := 1; err == nil && len(topics) == 0 && sleep(b.ctx, pause(tries)); tries++ { // a broker learns of a new topic later
		topics, err = b.cluster.Topics(b.ctx, []string{made, "no-such-topic"})
	}
	b.must(err)
	if len(topics) != 1 || topics[made].Partitions < 1 || topics[made].ID.String() == "00000000000000000000000000000000" {
		t.Errorf("topics: %+v", topics)
	}
	wantKind(t, b.cluster.Create(b.ctx, "bad name"), failure.Cluster, "create topic bad name")

	var records []kafkatest.Record
	for i := range 3 {
		records = append(records, kafkatest.Record{Value: []byte("v"), Time: time.UnixMilli(int64(1000 * (i + 1)))})
	}
	b.Produce(t, b.in, records...)
	b.DeleteRecords(t, b.in, 0, 1)
	b.must(b.cluster.CommitOffsets(b.ctx, b.group, []engine.Position{{Topic: b.in, Partition: 0, Next: 2}}))
	for _, c := range []struct {
		at   engine.OffsetAt
		want [2]int64
	}{
		{engine.OffsetAt{Kind: engine.First}, [2]int64{1, 0}},
		{engine.OffsetAt{Kind: engine.End}, [2]int64{3, 0}},
		{engine.OffsetAt{Kind: engine.LastStable}, [2]int64{3, 0}},
		{engine.OffsetAt{Kind: engine.FirstAfter, Time: time.UnixMilli(2000)}, [2]int64{1, 0}},
		{engine.OffsetAt{Kind: engine.FirstAfter, Time: time.UnixMicro(2_000_001)}, [2]int64{2, 0}},
		{engine.OffsetAt{Kind: engine.FirstAfter, Time: time.UnixMilli(3001)}, [2]int64{3, 0}},
		{engine.OffsetAt{Kind: engine.Committed, Name: b.group}, [2]int64{2, 0}},
		{engine.OffsetAt{Kind: engine.Committed, Name: "no-such-group"}, [2]int64{1, 0}},
	} {
		got, err := b.cluster.Offsets(b.ctx, b.in, []int32{0, 1}, c.at)
		b.must(err)
		if len(got) != 2 || got[0] != c.want[0] || got[1] != c.want[1] {
			t.Errorf("%+v: %v, want %v", c.at, got, c.want)
		}
	}
	_, err = b.cluster.Offsets(b.ctx, b.in, []int32{5}, engine.OffsetAt{Kind: engine.End})
	wantKind(t, err, failure.Cluster, b.in, "partition 5")
	_, err = b.cluster.Offsets(b.ctx, "no-such-topic", []int32{0}, engine.OffsetAt{Kind: engine.First})
	wantKind(t, err, failure.Cluster, "no-such-topic")
}
