package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// fakeCluster is a Kafka in memory with as much of transactions as the engine sees: producers with
// epochs, fencing, EndTxn that may be repeated, markers. Time passes for its readers when something is appended.
type fakeCluster struct {
	id       string // "": fake
	mu       sync.Mutex
	changed  chan struct{} // closed and made anew when records are appended
	topics   map[string]*fakeTopic
	txns     map[string]*fakeTxn
	markers  map[string]*checkpoint.Marker
	lastID   int64
	taken    map[string]int // how often each id was
	output   []string       // committed values, in the order of commit
	down     error          // every call fails with it
	failNext map[string]error
	slow     map[string]time.Duration // how long a call takes
	silent   bool                     // no coordinator says how often an id was taken
	calls    map[string]int           // how many there were
	groups   map[string]map[int32]int64
	started  func()           // is called before the first reader is made
	created  func()           // is called when the first topic is made
	marked   []Position       // where the last marker stands
	lag      map[int32]int64  // committed for tools, by partition
	unread   map[int32]int    // how often asking for the offsets of a partition still fails
	stable   map[string]int64 // last stable offset of partition 0 by topic, where it is not the end
	more     map[string]int64 // records of partition 0 by topic that no reader gets
	holds    []Hold
	moved    func(call int) []Hold // makes what Holds lists at its nth call; nil: it stays
	denied   error                 // why Holds tells nothing
}

type fakeTopic struct {
	id    checkpoint.ID
	parts [][]record.Record
	first map[int32]int64 // what was before is gone
}

type fakeTxn struct {
	producer int64
	taking   int // how often its id had been taken then
	epoch    int16
	open     bool
	values   []string
	marker   *checkpoint.Marker
	last     checkpoint.Committable // committed last, for a repeated EndTxn
}

func newFakeCluster(partitions int) *fakeCluster {
	return &fakeCluster{
		changed: make(chan struct{}), txns: map[string]*fakeTxn{}, taken: map[string]int{}, markers: map[string]*checkpoint.Marker{}, failNext: map[string]error{}, calls: map[string]int{},
		topics: map[string]*fakeTopic{
			"in":  {id: checkpoint.ID{1}, parts: make([][]record.Record, partitions)},
			"out": {id: checkpoint.ID{2}, parts: make([][]record.Record, 1)},
		},
	}
}

func (c *fakeCluster) append(topic string, partition int, key string, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.topics[topic].parts[partition]
	*p = append(*p, record.Record{Key: []byte(key), Value: []byte("{}"), Offset: int64(len(*p)), Time: at})
	close(c.changed)
	c.changed = make(chan struct{})
}

// set changes how the cluster behaves.
func (c *fakeCluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// called is how many calls of that name there were.
func (c *fakeCluster) called(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[name]
}

// call locks the cluster for a request, and fails it if the test wants that.
func (c *fakeCluster) call(name string) (unlock func(), err error) {
	c.mu.Lock()
	if d := c.slow[name]; d > 0 {
		c.mu.Unlock()
		<-time.After(d)
		c.mu.Lock()
	}
	c.calls[name]++
	if err = c.down; err == nil {
		err = c.failNext[name]
		delete(c.failNext, name)
	}
	return c.mu.Unlock, err
}

func (c *fakeCluster) ID(context.Context) (string, error) { return cmp.Or(c.id, "fake"), nil }

func (c *fakeCluster) Topics(_ context.Context, names []string) (map[string]Topic, error) {
	unlock, err := c.call("Topics")
	defer unlock()
	out := map[string]Topic{}
	for _, n := range names {
		if t := c.topics[n]; t != nil {
			out[n] = Topic{ID: t.id, Partitions: int32(len(t.parts))}
		}
	}
	return out, err
}

func (c *fakeCluster) Offsets(_ context.Context, topic string, partitions []int32, at OffsetAt) (map[int32]int64, error) {
	name := [...]string{First: "First", End: "End", LastStable: "LastStable", FirstAfter: "FirstAfter", Committed: "Committed"}[at.Kind]
	if topic == "out" {
		name += " of the output"
	}
	unlock, err := c.call(name)
	defer unlock()
	out := map[int32]int64{}
	for _, p := range partitions {
		if c.unread[p] > 0 {
			c.unread[p]--
			return nil, failure.New(failure.Transient, "", nil, "partition %d has no leader", p)
		}
		t := c.topics[topic]
		if t == nil || int(p) >= len(t.parts) {
			return nil, failure.New(failure.Cluster, "", nil, "asked for partition %d of %s, which is not there", p, topic)
		}
		log := t.parts[p]
		switch at.Kind {
		case End, LastStable:
			out[p] = int64(len(log))
			if s, ok := c.stable[topic]; ok && at.Kind == LastStable && p == 0 {
				out[p] = s
			} else if at.Kind == End && p == 0 {
				out[p] += c.more[topic]
			}
		case FirstAfter:
			i := slices.IndexFunc(log, func(r record.Record) bool { return r.Time >= at.Time.UnixMicro() })
			if i < 0 {
				i = len(log)
			}
			out[p] = int64(i)
		case Committed:
			out[p] = c.groups[at.Name][p]
		default:
			out[p] = t.first[p]
		}
	}
	return out, err
}

func (c *fakeCluster) CommitOffsets(_ context.Context, _ string, positions []Position) error {
	unlock, err := c.call("CommitOffsets")
	defer unlock()
	if err == nil {
		c.lag = map[int32]int64{}
		for _, p := range positions {
			c.lag[p.Partition] = p.Next
		}
	}
	return err
}

// Holds lists what the test says, from one call to the next.
func (c *fakeCluster) Holds(_ context.Context, topic string, partitions []int32, _ ...string) ([]Hold, error) {
	unlock, err := c.call("Holds")
	defer unlock()
	if c.moved != nil {
		c.holds = c.moved(c.calls["Holds"])
	}
	if c.denied != nil {
		return nil, c.denied
	}
	var out []Hold
	for _, h := range c.holds {
		if h.Topic == topic && slices.Contains(partitions, h.Partition) {
			out = append(out, h)
		}
	}
	return out, err
}

func (c *fakeCluster) Close() {}

func (c *fakeCluster) Address() string { return "fake:9092" }

func (c *fakeCluster) Create(context.Context, string) error {
	if c.created != nil {
		c.created()
		c.created = nil
	}
	return nil
}
func (c *fakeCluster) CheckTxnTimeout(context.Context, time.Duration) error { return nil }

func (c *fakeCluster) NewReader(_ bool, start []Position) (Reader, error) {
	if c.started != nil {
		c.started()
		c.started = nil
	}
	r := &fakeReader{cluster: c, paused: map[int32]bool{}}
	r.at = slices.Clone(start)
	return r, nil
}

// fakeFetch is how many records of a partition one fetch brings at most.
const fakeFetch = 7

type fakeReader struct {
	cluster *fakeCluster
	at      []Position // guarded by cluster.mu
	paused  map[int32]bool
}

func (r *fakeReader) Poll(ctx context.Context) (Fetched, error) {
	for {
		unlock, err := r.cluster.call("Poll")
		if err != nil {
			unlock()
			return Fetched{}, err
		}
		var f Fetched
		f.Release = func() {}
		for i := range r.at {
			p := &r.at[i]
			log := r.cluster.topics[p.Topic].parts[p.Partition]
			if n := int64(len(log)); n > p.Next && !r.paused[p.Partition] {
				n = min(n, p.Next+fakeFetch)
				f.Chunks = append(f.Chunks, Chunk{Source: p.Source, Topic: p.Topic, Partition: p.Partition, Records: log[p.Next:n], Next: n, End: n, Stable: n})
				p.Next = n
			}
		}
		changed := r.cluster.changed
		unlock()
		if len(f.Chunks) > 0 {
			return f, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Fetched{}, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond): // a partition may have been resumed
		}
	}
}

func (r *fakeReader) Add(p Position) {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	r.at = append(r.at, p)
}

func (r *fakeReader) Pause(_ string, partition int32)  { r.setPaused(partition, true) }
func (r *fakeReader) Resume(_ string, partition int32) { r.setPaused(partition, false) }
func (r *fakeReader) Close()                           {}

func (r *fakeReader) setPaused(partition int32, paused bool) {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	r.paused[partition] = paused
}

// init is InitProducerId: it aborts what is open and makes older producers of the id strangers.
func (c *fakeCluster) init(id string) *fakeTxn {
	c.lastID++
	c.taken[id]++
	t := &fakeTxn{producer: c.lastID, taking: c.taken[id]}
	c.txns[id] = t
	return t
}

func (c *fakeCluster) Fence(_ context.Context, id string, _ time.Duration) error {
	unlock, err := c.call("Fence")
	defer unlock()
	if err == nil {
		c.init(id)
	}
	return err
}

var errFenced = failure.New(failure.Fenced, "", nil, "fenced")

func (c *fakeCluster) EndTxn(_ context.Context, x checkpoint.Committable) (Outcome, error) {
	unlock, err := c.call("EndTxn")
	defer unlock()
	if err != nil {
		return 0, err
	}
	if err := c.end(x); errors.Is(err, errFenced) {
		return Undecided, nil
	}
	return CommittedNow, nil
}

// end commits the transaction that x names, once.
func (c *fakeCluster) end(x checkpoint.Committable) error {
	t := c.txns[x.TransactionalID]
	switch {
	case t == nil || t.producer != x.ProducerID:
		return errFenced
	case t.last == x:
		return nil
	case !t.open || t.epoch != x.Epoch:
		return errFenced
	}
	c.output = append(c.output, t.values...)
	if t.marker != nil {
		c.markers["eo-fake"] = t.marker
	}
	*t = fakeTxn{producer: t.producer, taking: t.taking, epoch: t.epoch + 1, last: x}
	return nil
}

func (c *fakeCluster) Describe(context.Context, string) (TxnState, error) { return TxnState{}, nil }

func (c *fakeCluster) Marker(_ context.Context, group string) (*checkpoint.Marker, error) {
	unlock, err := c.call("Marker")
	defer unlock()
	return c.markers[group], err
}

// LastMarker is Marker: in this cluster a marker is never held by a transaction.
func (c *fakeCluster) LastMarker(ctx context.Context, group string) (*checkpoint.Marker, error) {
	return c.Marker(ctx, group)
}

func (c *fakeCluster) NewSink(cfg SinkConfig) (Sink, error) {
	unlock, err := c.call("NewSink")
	defer unlock()
	s := &fakeSink{cluster: c, cfg: cfg, txns: map[int64]fakeProducer{}}
	for i, id := range cfg.IDs {
		if id == "" {
			continue
		}
		s.producers[i] = fakeProducer{id, c.init(id)}
	}
	return s, err
}

// open is how many transactions are open.
func (c *fakeCluster) open() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.txns {
		if t.open {
			n++
		}
	}
	return n
}

// committed is the output so far, sorted.
func (c *fakeCluster) committed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.output))
}

// expected is what the fake pipeline makes of a topic, computed without the engine.
func (c *fakeCluster) expected(topic string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := map[fakeKey]int{}
	for _, p := range c.topics[topic].parts {
		watermark := int64(minTime)
		for _, r := range p {
			watermark = max(watermark, r.Time-fakeDisorder)
			if start := r.Time / fakeWindow * fakeWindow; start+fakeWindow > watermark {
				n[fakeKey{start, string(r.Key)}]++
			}
		}
	}
	var out []string
	for k := range maps.Keys(n) {
		out = append(out, fmt.Sprintf("%d %s %d", k.Start, k.Key, n[k]))
	}
	slices.Sort(out)
	return out
}
