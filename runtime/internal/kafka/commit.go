package kafka

import (
	"context"

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
	s.ending = c.Checkpoint
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
