package kafka

import (
	"context"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// renew replaces the producer of a committed transaction, in two steps that each take the id. The first is refused if somebody else has taken it, unless
// the coordinator has forgotten it meanwhile: then it makes a new one for whoever asks. The second takes it from whomever, since a client cannot be given an
// epoch. So what each comes to has to be what the one before leads to, and where producer ids run out of epochs, which looks as if the id had been forgotten, the
// marker has to say that nobody else has committed: else others may have had the id, and committed what the next transactions here would commit once more.
// Before all that, the end markers of the old transaction are waited for: until then its coordinator keeps what became of it.
func (s *sink) renew(n int64, old *producer, next transaction) {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	old.client.Close()
	p, err := s.takeAgain(n, old, next)
	s.ready[n%2] <- renewed{p, err}
}

// takeAgain is the next producer of an id behind transaction n, whose producer was old, and whose id is held now by held.
func (s *sink) takeAgain(n int64, old *producer, held transaction) (*producer, error) {
	slot := int(n % 2)
	if err := s.c.awaitMarkers(s.ctx, old.txn, old.tally.places.written(s.lanes), s.others, markersLimit); err != nil {
		return nil, err
	}
	got, err := s.c.initialise(s.ctx, held, s.cfg.TxnTimeout)
	if err != nil {
		return nil, s.c.failed(needs(err, writesTxns(held.id)), "renew the producer of transactional id %s", held.id)
	}
	first := held.moved(got)
	s.holds(slot, first)
	switch {
	case got.producer != first.producer:
		return nil, s.c.failed(kerr.InvalidProducerIDMapping, "renew the producer of transactional id %s", held.id)
	case got.epoch != first.epoch:
		return nil, between(first, got)
	}
	p, err := s.c.newProducer(s.ctx, held.id, s.cfg.TxnTimeout, s.limits)
	if err != nil {
		return nil, err
	}
	second := first.moved(p.txn)
	s.holds(slot, second) // and not what was got, so that Overtaken counts how often others have taken it
	switch {
	case p.txn.producer != second.producer || p.txn.epoch != second.epoch:
		err = between(second, p.txn)
	case second.producer != held.producer:
		err = s.inFront(n, held.id)
	}
	if err != nil {
		p.client.Close()
		return nil, err
	}
	return p, nil
}

// between is the failure for an id that somebody else has taken between two steps, or of which a request was repeated, since its answer was lost.
func between(want, got transaction) error {
	return failure.New(failure.Fenced, anotherCopy, nil, "renew the producer of transactional id %s: it was taken once more between two steps, its producer id and epoch are %d and %d, not %d and %d",
		want.id, got.producer, got.epoch, want.producer, want.epoch)
}

// inFront says whether nobody else has committed behind what this sink has, transaction n at least, now that it holds an id whose other holders can commit no more.
func (s *sink) inFront(n int64, id string) error {
	m, err := s.c.marker(s.ctx, s.cfg.Group, stableLimit, s.cfg.IDs[:])
	s.mu.Lock()
	ending := s.ending
	s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case m == nil || m.Incarnation == s.cfg.Incarnation && m.Checkpoint < n:
		return failure.New(failure.Transient, "", nil, "the marker of checkpoint %d is not in group %s any more, and transactional id %s may have been somebody else's", n, s.cfg.Group, id)
	case m.Incarnation != s.cfg.Incarnation || m.Checkpoint > ending:
		return failure.New(failure.Fenced, anotherCopy, nil, "renew the producer of transactional id %s: checkpoint %d of incarnation %x is committed, which is not this program's; its last is %d of %x",
			id, m.Checkpoint, m.Incarnation, ending, s.cfg.Incarnation)
	}
	return nil
}

const anotherCopy = "if another copy of this pipeline has taken over its transactional ids, stop one of the two: one copy runs at a time"

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
