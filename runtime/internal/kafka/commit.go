package kafka

import (
	"context"
	"math"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Commit ends the transaction that the committable names, and has its producer renewed. After an
// error the outcome is unknown and the sink does not go on: the committable is what decides it.
func (s *sink) Commit(ctx context.Context, c checkpoint.Committable) error {
	if err := s.failed(); err != nil {
		return err
	}
	s.mu.Lock()
	p, ok := s.prepared[c.Checkpoint]
	delete(s.prepared, c.Checkpoint)
	s.mu.Unlock()
	if !ok || p.producer != nil && p.producer.txn != of(c) {
		return s.fail(failure.New(failure.Internal, "", nil, "commit transaction %d, which this sink has not prepared", c.Checkpoint))
	}
	if p.producer == nil {
		return s.c.CommitOffsets(ctx, s.cfg.Group, p.positions)
	}
	s.c.sent.armed.Store(true)
	next, err := s.c.end(ctx, s.c.client(c.EndTxnVersion), of(c), true)
	s.c.sent.armed.Store(false)
	if err != nil {
		p.producer.client.Close()
		return s.fail(p.producer.judge(needs(err, writesTxns(c.TransactionalID)), "commit the transaction of checkpoint %d (transactional id %s)", c.Checkpoint, c.TransactionalID))
	}
	s.holds(int(c.Checkpoint%2), next)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.producer.client.Close()
		return nil // it is committed, whatever comes now
	}
	s.renewals.Go(func() { s.renew(c.Checkpoint, p.producer, next) })
	return nil
}

// renew replaces the producer of a committed transaction. The first step moves the epoch only if nobody else has taken
// the id. The second takes it whoever has it, since a client cannot be given an epoch; but the epoch that it gets says whether anybody came between the
// steps. Then this sink must not go on: the copy may have committed what the next transactions here would commit once more. The copy has lost this id, and takes it
// again when it is told that this sink has not been started, see Overtaken.
// Before all that, the end markers of the old transaction are waited for: until then its coordinator keeps what became of it.
func (s *sink) renew(n int64, old *producer, next transaction) {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	old.client.Close()
	if err := s.c.awaitMarkers(s.ctx, old.txn, old.tally.places.written(s.lanes), s.others); err != nil {
		s.ready[n%2] <- renewed{err: err}
		return
	}
	next, err := s.c.initialise(s.ctx, next, s.cfg.TxnTimeout)
	if err != nil {
		s.ready[n%2] <- renewed{err: s.c.failed(needs(err, writesTxns(next.id)), "renew the producer of transactional id %s", next.id)}
		return
	}
	s.holds(int(n%2), next)
	p, err := s.c.newProducer(s.ctx, next.id, s.cfg.TxnTimeout, s.limits)
	if err == nil {
		next = next.moved(p.txn)
		s.holds(int(n%2), next) // so Overtaken counts how often others have taken it
		if p.txn.producer != next.producer || p.txn.epoch != next.epoch {
			p.client.Close()
			p, err = nil, failure.New(failure.Fenced, "another copy of this pipeline has taken over its transactional ids: one copy runs at a time, so stop one of the two", nil,
				"renew the producer of transactional id %s: it was taken between two steps, its producer id and epoch are %d and %d, not %d and %d",
				next.id, p.txn.producer, p.txn.epoch, next.producer, next.epoch)
		}
	}
	s.ready[n%2] <- renewed{p, err}
}

// lastEpoch is the last epoch that a producer id writes under. Behind it the coordinator gives out another producer id, whose first epoch is 0 (KIP-360).
const lastEpoch = math.MaxInt16 - 1

// moved is what an id comes to when it is taken once: the next epoch, or the first one of another producer id, which is then that of got.
func (t transaction) moved(got transaction) transaction {
	if t.epoch < lastEpoch {
		t.epoch++
		return t
	}
	got.epoch = 0
	return got
}

// Overtaken says whether another copy of the pipeline has started since the sink was opened. A start takes each id twice: it fences it, and opens it, or
// fences it again if it is the program's no more. So nobody has started if one of the ids was taken less often since: what a process has sent before it was killed may be carried out
// late, and most starts that are refused have taken each once. It errs to the safe side: an id whose epochs are used up has another producer id, and counts as
// taken; and a fence that meets an open transaction moves the epoch twice, to abort it and to take the id, so a start that is refused behind its fences is taken for one
// that was not if both ids had a transaction open.
// An id that cannot be asked about decides nothing while the other one tells that nobody has started.
func (s *sink) Overtaken(ctx context.Context) (bool, error) {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	var untaken [len(held)]bool
	ask := func(i int) func() error {
		return func() error {
			now, err := s.c.Describe(ctx, held[i].id)
			untaken[i] = err == nil && now.ProducerID == held[i].producer && now.Epoch-held[i].epoch < takings
			return err
		}
	}
	unknown := together(ask(0), ask(1))
	if untaken[0] || untaken[1] {
		return false, nil
	}
	return unknown == nil, unknown
}

// takings is how often a start takes each transactional id.
const takings = 2

// Abort gives up the open transaction, so that it does not hold back its topics' readers, and closes. What
// is prepared stays: whoever starts next decides.
func (s *sink) Abort(ctx context.Context) error {
	p := s.current
	s.Close()
	if p == nil || p.first.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, abortLimit)
	defer cancel()
	// The producer keeps the epoch that it had, so if another copy has taken the id this is refused.
	if _, err := s.c.end(ctx, s.c.client(p.txn.end), p.txn, false); err != nil && !among(err, fencing()) {
		return s.c.failed(needs(err, writesTxns(p.txn.id)), "abort the transaction of checkpoint %d (transactional id %s)", s.number, p.txn.id)
	}
	return nil
}

// Close closes all connections. An open transaction stays open until its id is fenced or its time is up. A Commit that is
// under way may go on.
func (s *sink) Close() {
	err := failure.New(failure.Transient, "", nil, "the sink is closed")
	s.broken.CompareAndSwap(nil, &err)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.renewals.Wait()
	for _, ready := range s.ready {
		select {
		case r := <-ready:
			if r.producer != nil {
				r.producer.client.Close()
			}
		default:
		}
	}
	if s.current != nil {
		s.current.client.Close()
		s.current = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.prepared {
		if p.producer != nil {
			p.producer.client.Close()
		}
	}
	clear(s.prepared)
	for _, p := range s.plain {
		if p != nil {
			p.client.Close()
		}
	}
	for i := range s.lanes {
		s.lanes[i].clamped.close()
		s.lanes[i].lost.close()
	}
}
