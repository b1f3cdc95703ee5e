package kafka

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// Limits of a sink.
const (
	roomBytes  = 8 << 20          // on their way to the broker
	roomLimit  = time.Minute      // for some of them to be acknowledged, when there is no room
	flushLimit = time.Minute      // for all of them to be acknowledged, at a barrier
	beginLimit = 30 * time.Second // for the producer of the last but one transaction to be ready again
	abortLimit = 5 * time.Second  // for giving up an open transaction
)

// sink is the two-phase commit into Kafka.
//
// Transaction n is written by the producer of IDs[n%2]. That an id follows from n matters: of two
// copies that want to commit n, one does not have the id. Between two transactions of an id its producer is renewed,
// which takes the id again. A copy that was paused and wakes up is refused, or gets it with another epoch than it expects, and ends: see renew.
type sink struct {
	c      *Cluster
	cfg    engine.SinkConfig
	lanes  []lane
	limits map[string]int32 // bytes of a batch, by topic
	hangar *hangar
	loose  *hangar                         // of delivery none, which shall not take the others' room
	plain  [engine.None + 1]*plainProducer // by delivery, those that have sinks

	ctx    context.Context // of records: done when the sink is closed
	cancel context.CancelFunc

	ready   [2]chan renewed // the producers that no transaction uses, by n%2
	current *producer       // of the transaction between Begin and Prepare
	number  int64           // of that transaction

	mu        sync.Mutex
	ending    int64          // the last transaction that Commit was called for
	held      [2]transaction // what is known of the ids: their producers as this sink has them
	prepared  map[int64]prepared
	closed    bool
	leftovers []engine.Position   // of the group, until they have this incarnation's marker
	renewing  sync.Mutex          // held while a producer is renewed: one at a time
	others    map[partition]int64 // see awaitMarkers; with renewing
	renewals  sync.WaitGroup

	broken atomic.Pointer[error] // why the sink cannot go on
}

// renewed is a producer that is ready for a transaction, or why there is none.
type renewed struct {
	producer *producer
	err      error
}

// prepared is what Commit needs of a prepared transaction.
type prepared struct {
	producer  *producer // nil without exactly_once
	positions []engine.Position
}

// NewSink opens a sink. When it returns, the transactional ids are taken.
func (c *Cluster) NewSink(cfg engine.SinkConfig) (engine.Sink, error) {
	s := &sink{c: c, cfg: cfg, lanes: make([]lane, len(cfg.Topics)), hangar: newHangar(cfg.Recycle), loose: newHangar(cfg.Recycle), prepared: map[int64]prepared{}, others: map[partition]int64{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.limits = c.batchLimits(s.ctx, cfg.Topics)
	for i, t := range cfg.Topics {
		l := &s.lanes[i]
		l.topic, l.deliver, l.limit = t.Topic, t.Deliver, s.limits[t.Topic]
		l.clamped.note = func(n int64) { cfg.Happened(i, engine.Clamped, n) }
		l.lost.note = func(n int64) { cfg.Happened(i, engine.Lost, n) }
		l.clamped.tell = func(total int64) {
			c.log.Warn("brokers refuse Kafka timestamps before 1970 and far ahead of the clock: records got the nearest one that they take", "topic", l.topic, "records", total)
		}
		l.lost.tell = func(total int64) {
			c.log.Warn("records of a sink with delivery none are lost", "topic", l.topic, "records", total)
		}
	}
	if err := s.open(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *sink) open() error {
	for _, l := range s.cfg.Topics {
		if l.Deliver != engine.ExactlyOnce && s.plain[l.Deliver] == nil {
			p, err := s.c.newPlainProducer(l.Deliver, s.limits)
			if err != nil {
				return err
			}
			s.plain[l.Deliver] = p
		}
	}
	if !s.cfg.Exactly {
		return nil
	}
	var err error
	if s.leftovers, err = s.c.leftovers(s.ctx, s.cfg.Group); err != nil {
		return err
	}
	return together(func() error { return s.openFirst(0) }, func() error { return s.openFirst(1) })
}

func (s *sink) openFirst(i int) error {
	s.ready[i] = make(chan renewed, 1)
	p, err := s.c.newProducer(s.ctx, s.cfg.IDs[i], s.cfg.TxnTimeout, s.limits)
	if err == nil {
		s.holds(i, p.txn)
		s.ready[i] <- renewed{producer: p}
	}
	return err
}

// holds notes who holds an id now.
func (s *sink) holds(i int, t transaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[i] = t
}

// together runs all at the same time, waits for all, and returns the first error in their order.
func together(all ...func() error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, f := range all {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Begin opens transaction n.
func (s *sink) Begin(ctx context.Context, n int64) error {
	if err := s.failed(); err != nil {
		return err
	}
	if s.current != nil {
		return s.fail(failure.New(failure.Internal, "", nil, "transaction %d begins while %d is open", n, s.number))
	}
	s.number = n
	if !s.cfg.Exactly {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, beginLimit)
	defer cancel()
	select {
	case r := <-s.ready[n%2]:
		if r.err != nil {
			return s.fail(r.err)
		}
		s.current = r.producer
		s.current.tally.places = newPlaces(len(s.lanes))
		return nil
	case <-ctx.Done():
		return s.fail(s.c.failed(ctx.Err(), "wait until the producer of transaction %d is ready for %d", n-2, n))
	}
}

// Write sends a slab.
func (s *sink) Write(ctx context.Context, slab *record.Slab) error {
	if err := s.failed(); err != nil {
		return err
	}
	if len(slab.Records) == 0 {
		s.cfg.Recycle(slab)
		return nil
	}
	l := &s.lanes[slab.Sink]
	if l.deliver == engine.None {
		s.toss(slab, l)
		return nil
	}
	f, err := s.room(ctx, weight(slab))
	if err != nil {
		return s.fail(err)
	}
	now := time.Now().UnixMicro()
	if l.deliver != engine.ExactlyOnce {
		p := s.plain[l.deliver]
		f.load(slab, l, &p.tally, now)
		f.send(s.ctx, p.client)
		return s.sent(&p.tally)
	}
	if s.current == nil {
		return s.fail(failure.New(failure.Internal, "", nil, "a record for topic %s outside of a transaction", l.topic))
	}
	s.current.begun()
	f.load(slab, l, &s.current.tally, now)
	f.send(s.ctx, s.current.client)
	return s.sent(&s.current.tally)
}

// toss sends a slab of delivery none. It never waits: if the topic is so slow that there is no room, the slab is lost, like
// one that the broker refuses. The other sinks must not be held up by one that promises nothing.
func (s *sink) toss(slab *record.Slab, l *lane) {
	f, ok := s.loose.takeOff(weight(slab), roomBytes)
	if !ok {
		l.lost.add(int64(len(slab.Records)))
		s.cfg.Recycle(slab)
		return
	}
	p := s.plain[engine.None]
	f.load(slab, l, &p.tally, time.Now().UnixMicro())
	f.send(s.ctx, p.client)
}

// sent reports a send error as soon as it is known.
func (s *sink) sent(t *tally) error {
	if err := t.failure(); err != nil {
		return s.fail(err)
	}
	return nil
}

// room waits until so many bytes may be sent.
func (s *sink) room(ctx context.Context, bytes int) (*flight, error) {
	var limit <-chan time.Time
	for {
		if f, ok := s.hangar.takeOff(bytes, roomBytes); ok {
			return f, nil
		}
		if limit == nil {
			limit = time.After(roomLimit)
		}
		select {
		case <-s.hangar.freed:
		case <-ctx.Done():
			return nil, s.c.failed(ctx.Err(), "wait for the broker to acknowledge records, with %d bytes on their way", roomBytes)
		case <-limit:
			return nil, s.c.failed(context.DeadlineExceeded, "no record was acknowledged within %v, with %d bytes on their way", roomLimit, roomBytes)
		}
	}
}

// Prepare waits for every record of transaction n, writes the marker and returns the committable. Marker and records
// go at the same time: both count only if the transaction is committed, and that is after both. Where the records are is what
// the brokers have answered.
//
// Without an exactly_once sink the committable has no transactional id, and Commit commits plain offsets.
func (s *sink) Prepare(ctx context.Context, n int64, positions []engine.Position) (checkpoint.Committable, []checkpoint.Written, error) {
	if err := s.failed(); err != nil {
		return checkpoint.Committable{}, nil, err
	}
	if n != s.number || s.cfg.Exactly && s.current == nil {
		return checkpoint.Committable{}, nil, s.fail(failure.New(failure.Internal, "", nil, "prepare transaction %d, but %d is open", n, s.number))
	}
	out := checkpoint.Committable{ClusterID: s.c.id, Checkpoint: n, Incarnation: s.cfg.Incarnation}
	p := s.current
	steps := []func() error{}
	if al := s.plain[engine.AtLeastOnce]; al != nil {
		steps = append(steps, func() error { return flush(ctx, s.c, al.client, &al.tally) })
	}
	if p != nil {
		p.begun()
		out.TransactionalID, out.ProducerID, out.Epoch, out.EndTxnVersion, out.Records = p.txn.id, p.txn.producer, p.txn.epoch, p.txn.end, p.tally.sent
		steps = append(steps,
			func() error { return p.flush(ctx) },
			func() error { return s.mark(ctx, p, out, positions) })
	}
	if err := together(steps...); err != nil {
		return checkpoint.Committable{}, nil, s.fail(err)
	}
	failpoint.Hit(failpoint.AfterFlush)
	s.mu.Lock()
	s.prepared[n] = prepared{p, slices.Clone(positions)}
	s.mu.Unlock()
	s.current = nil
	if p == nil {
		return out, nil, nil
	}
	return out, p.tally.places.written(s.lanes), nil
}

// mark writes the marker of a transaction.
func (s *sink) mark(ctx context.Context, p *producer, c checkpoint.Committable, positions []engine.Position) error {
	failpoint.Hit(failpoint.BeforeMarker)
	m := c.Marker(s.cfg.Pipeline)
	if err := s.c.addMarker(ctx, p.txn, s.cfg.Group, m, s.withLeftovers(positions)); err != nil {
		return p.judge(needs(err, readsGroup(s.cfg.Group), writesTxns(p.txn.id)), "write the marker of checkpoint %d to group %s (transactional id %s)", c.Checkpoint, s.cfg.Group, c.TransactionalID)
	}
	failpoint.Hit(failpoint.AfterMarker)
	return nil
}

// withLeftovers adds what the group held when the sink was opened for partitions that have no position any more. They
// get the marker too, lest one of another incarnation remains.
func (s *sink) withLeftovers(positions []engine.Position) []engine.Position {
	if len(s.leftovers) == 0 {
		return positions
	}
	all := slices.Clone(positions)
	for _, l := range s.leftovers {
		if !slices.ContainsFunc(positions, func(p engine.Position) bool { return p.Topic == l.Topic && p.Partition == l.Partition }) {
			all = append(all, l)
		}
	}
	s.leftovers = nil
	return all
}

// failed is why the sink cannot go on.
func (s *sink) failed() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// fail keeps the first error: after it the sink only closes.
func (s *sink) fail(err error) error {
	s.broken.CompareAndSwap(nil, &err)
	return err
}
