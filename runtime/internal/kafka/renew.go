package kafka

import (
	"context"
	"math"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// renew replaces the producer of a committed transaction, in two steps that each move the epoch by one. The first is refused if somebody else has taken the
// id, unless the coordinator has forgotten it meanwhile: then it makes a new one for whoever asks. The second takes it whoever has it, since a client cannot be
// given an epoch. So if the epoch is not two further in the end, others may have had the id, and committed what the next transactions here would commit once
// more: the group's marker says whether they have.
// Before all that, the end markers of the old transaction are waited for: until then its coordinator keeps what became of it.
func (s *sink) renew(n int64, old *producer, next transaction) {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	old.client.Close()
	if err := s.c.awaitMarkers(s.ctx, old.txn, old.tally.places.written(s.lanes), s.others); err != nil {
		s.ready[n%2] <- renewed{err: err}
		return
	}
	got, err := s.c.initialise(s.ctx, next, s.cfg.TxnTimeout)
	if err != nil {
		s.ready[n%2] <- renewed{err: s.c.failed(needs(err, writesTxns(next.id)), "renew the producer of transactional id %s", next.id)}
		return
	}
	held := next.moved(got) // and not what was got, so that Overtaken counts how often others have taken it
	s.holds(int(n%2), held)
	p, err := s.c.newProducer(s.ctx, next.id, s.cfg.TxnTimeout, s.limits)
	if err != nil {
		s.ready[n%2] <- renewed{err: err}
		return
	}
	held = held.moved(p.txn)
	if p.txn.producer != next.producer || p.txn.epoch != next.epoch+2 {
		if err := s.inFront(p.txn); err != nil {
			s.holds(int(n%2), held)
			p.client.Close()
			s.ready[n%2] <- renewed{err: err}
			return
		}
		if held.producer != p.txn.producer {
			held = p.txn
		}
	}
	s.holds(int(n%2), held)
	s.ready[n%2] <- renewed{producer: p}
}

// inFront says whether what this sink has committed is the newest of the group, now that it has an id whose other holders can commit no more. What they have committed
// under that id is in the group: a coordinator gives no id away before its transaction is complete. And under the other one they cannot commit anything that this sink
// commits, too. So what it finds stays true.
func (s *sink) inFront(t transaction) error {
	m, err := s.c.LastMarker(s.ctx, s.cfg.Group)
	s.mu.Lock()
	ending := s.ending
	s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case m == nil:
		return failure.New(failure.Transient, "", nil, "group %s has no marker any more, and transactional id %s was taken meanwhile, perhaps by somebody else", s.cfg.Group, t.id)
	case m.Incarnation != s.cfg.Incarnation || m.Checkpoint > ending:
		return failure.New(failure.Fenced, "another copy of this pipeline has taken over its transactional ids: one copy runs at a time, so stop one of the two", nil,
			"renew the producer of transactional id %s: checkpoint %d of incarnation %x is committed, which is not this program's; its last is %d of %x",
			t.id, m.Checkpoint, m.Incarnation, ending, s.cfg.Incarnation)
	}
	return nil
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
	s.mu.Lock()
	renewed := held != s.held
	s.mu.Unlock()
	if untaken[0] || untaken[1] || renewed { // a renewal that went on meanwhile takes an id, too
		return false, nil
	}
	return unknown == nil, unknown
}

// takings is how often a start takes each transactional id.
const takings = 2
