package engine

import (
	"context"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// fakeSink stands for two producers.
type fakeSink struct {
	cluster   *fakeCluster
	cfg       SinkConfig
	producers [2]fakeProducer
	txns      map[int64]fakeProducer
	current   int64
}

type fakeProducer struct {
	id  string
	txn *fakeTxn
}

// own is the transaction n, if the sink's producer has not been fenced.
func (s *fakeSink) own(n int64) (*fakeTxn, error) {
	p := s.txns[n]
	if s.cluster.txns[p.id] != p.txn {
		return nil, errFenced
	}
	return p.txn, nil
}

func (s *fakeSink) Begin(_ context.Context, n int64) error {
	unlock, err := s.cluster.call("Begin")
	defer unlock()
	if err != nil {
		return err
	}
	s.txns[n] = s.producers[n%2]
	s.current = n
	if !s.cfg.Exactly {
		return nil
	}
	t, err := s.own(n)
	if err != nil {
		return err
	}
	if t.open {
		return failure.New(failure.Internal, "", nil, "transaction %d begins in an open one", n)
	}
	t.open = true
	return nil
}

func (s *fakeSink) Write(_ context.Context, slab *record.Slab) error {
	unlock, err := s.cluster.call("Write")
	defer unlock()
	if err != nil {
		return err
	}
	to := &s.cluster.output
	if s.cfg.Exactly {
		t, err := s.own(s.current)
		if err != nil {
			return err
		}
		to = &t.values
	}
	for _, r := range slab.Records {
		*to = append(*to, string(slab.Data[r.KeyEnd:r.End]))
	}
	s.cfg.Recycle(slab)
	return nil
}

func (s *fakeSink) Prepare(_ context.Context, n int64, positions []Position) (checkpoint.Committable, []checkpoint.Written, error) {
	unlock, err := s.cluster.call("Prepare")
	defer unlock()
	if err != nil {
		return checkpoint.Committable{}, nil, err
	}
	if !s.cfg.Exactly {
		return checkpoint.Committable{}, nil, nil
	}
	t, err := s.own(n)
	if err != nil {
		return checkpoint.Committable{}, nil, err
	}
	out := checkpoint.Committable{
		ClusterID: "fake", TransactionalID: s.txns[n].id, ProducerID: t.producer, Epoch: t.epoch, EndTxnVersion: 5,
		Checkpoint: n, Incarnation: s.cfg.Incarnation, Records: int64(len(t.values)),
	}
	m := out.Marker(s.cfg.Pipeline)
	t.marker, s.cluster.marked = &m, positions
	return out, nil, nil
}

func (s *fakeSink) Commit(_ context.Context, c checkpoint.Committable) error {
	unlock, err := s.cluster.call("Commit")
	defer unlock()
	if err != nil {
		return err
	}
	return s.cluster.end(c)
}

// Overtaken is what it is of Kafka: a start takes each id twice.
func (s *fakeSink) Overtaken(ctx context.Context) (bool, error) {
	s.cluster.mu.Lock()
	silent := s.cluster.silent
	s.cluster.mu.Unlock()
	if silent {
		<-ctx.Done()
		return false, ctx.Err()
	}
	unlock, err := s.cluster.call("Overtaken")
	defer unlock()
	if err != nil {
		return false, err
	}
	for _, p := range s.producers {
		if s.cluster.taken[p.id]-p.txn.taking < 2 {
			return false, nil
		}
	}
	return true, nil
}

// Abort aborts what is open of the sink's own transactions.
func (s *fakeSink) Abort(context.Context) error {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	s.cluster.calls["Abort"]++
	for _, p := range s.producers {
		if p.txn != nil && s.cluster.txns[p.id] == p.txn {
			p.txn.open, p.txn.values = false, nil
		}
	}
	return nil
}

func (s *fakeSink) Close() { s.cluster.set(func() { s.cluster.calls["Close"]++ }) }
