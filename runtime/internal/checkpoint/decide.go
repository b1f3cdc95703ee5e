package checkpoint

import "github.com/eoc-lang/eoc/runtime/internal/failure"

// verdict is what became of the transaction of the newest checkpoint.
type verdict uint8

const (
	unclear verdict = iota
	committed
	aborted
)

// see takes the marker that a look has found.
func (s *Startup) see(m *Marker) {
	switch s.stage {
	case lookFirst:
		s.looked = true
		if m != nil {
			s.refuse(s.orphan(m))
			return
		}
		s.stage = resolve
	case glance:
		if err := s.refuted(m); err != nil {
			s.refuse(err)
			return
		}
		s.stage = fenceOld
		s.skipFence()
	case look:
		s.looked, s.marker = true, m
		if s.set.Fresh {
			s.stage = resolve
			return
		}
		s.decided(s.heard(s.judge(m)))
	case lookAgain:
		s.seeAgain(m)
	default:
		s.move(look, refused) // no marker was asked for
	}
}

// seeAgain is the look that this process runs from: it holds all ids, so nobody can commit any more.
func (s *Startup) seeAgain(m *Marker) {
	var err error
	switch {
	case !s.looked:
		err = s.judgeUnmarked(m)
	case !sameMarker(m, s.marker):
		err = s.overtaken(m)
	}
	if err != nil {
		s.refuse(err)
		return
	}
	if m != nil && m.Incarnation == s.from.Incarnation && m.Checkpoint == s.from.Number {
		s.finish()
		return
	}
	s.stage = mark
}

// decided acts on the verdict about the newest checkpoint.
func (s *Startup) decided(v verdict, err error) {
	switch {
	case err != nil:
		s.refuse(err)
	case v == aborted:
		s.from = s.set.Before
		s.stage = drop
	case s.settled || s.from.Number == 0 && s.exactly():
		s.take() // checkpoint 0 is confirmed behind its marker
	default:
		s.stage = confirm
	}
}

// judge decides what became of the newest checkpoint's transaction. Its id is fenced, so that the answer holds for ever.
func (s *Startup) judge(m *Marker) (verdict, error) {
	n := s.set.Newest
	if err := s.refuted(m); err != nil {
		return unclear, err
	}
	if n.Number == 0 && !s.set.Confirmed {
		return committed, nil // its marker is there, or is written now
	}
	proved := s.pending() != nil && s.outcome == CommittedNow
	switch {
	case m == nil && (proved || s.settled && s.set.AcceptLoss):
		return committed, nil // the group was deleted: its marker is written again
	case m == nil:
		return unclear, s.noMarker()
	case m.Checkpoint == n.Number:
		return s.agree(committed, m)
	case s.pending() != nil && !proved && s.set.Before != nil && m.Checkpoint == s.set.Before.Number:
		return s.agree(aborted, m)
	case s.settled && s.set.AcceptLoss:
		return committed, nil // the marker went back: it is written again
	default:
		return unclear, s.behind(m)
	}
}

// otherProducer says that a marker of the newest checkpoint is not that of its transaction: two copies of a state have each made it. A start
// before this one may have written the marker of a confirmed checkpoint again, under another producer, and so without records.
func (s *Startup) otherProducer(m *Marker) bool {
	c := s.set.Newest.Committable
	return c.TransactionalID != "" && m.Producer != c.Producer() && (s.pending() != nil || m.Records != 0)
}

// refuted says that a marker shows the state not to be the newest. No later marker shows the contrary, so that it needs neither a fence nor a stable
// read. As long as checkpoint 0 has not been marked, what was in the group when it was made may still be there.
func (s *Startup) refuted(m *Marker) error {
	n := s.set.Newest
	switch {
	case m == nil || n.Number == 0 && !s.set.Confirmed && sameMarker(m, n.Replaces):
		return nil
	case m.Pipeline != n.Pipeline || m.Incarnation != n.Incarnation:
		return s.stranger(m)
	case m.Checkpoint > n.Number:
		return s.outdated(m)
	case m.Checkpoint == n.Number && s.otherProducer(m):
		return s.twin(m)
	}
	return nil
}

// judgeUnmarked judges the marker of a state whose program had no sink with exactly-once until now: one of an
// earlier time may be there.
func (s *Startup) judgeUnmarked(m *Marker) error {
	switch {
	case m == nil:
		return nil
	case m.Pipeline != s.from.Pipeline || m.Incarnation != s.from.Incarnation:
		return s.stranger(m)
	case m.Checkpoint > s.from.Number:
		return s.outdated(m)
	}
	return nil
}

// agree checks a verdict of the marker against what the transaction coordinator said before the id was fenced.
func (s *Startup) agree(v verdict, m *Marker) (verdict, error) {
	if s.seen == nil {
		return v, nil
	}
	if e := s.seen.evidence(*s.pending()); e != unclear && e != v {
		return unclear, s.contradiction(m)
	}
	return v, nil
}

// evidence is what the state of an id says about the transaction that c names. Most states say nothing: the id may have
// been used again, or forgotten. A commit leaves V1 at the epoch E of the transaction, V2 at E+1, or, where epochs run out, at epoch 0 of a
// new producer id, which c does not know. An abort stands at E if the producer asked for it under V1, else at E+1, whether
// asked for, timed out or fenced.
func (t TxnState) evidence(c Committable) verdict {
	if t.ProducerID != c.ProducerID {
		return unclear
	}
	v2 := c.EndTxnVersion >= 5
	switch t.State {
	case "PrepareCommit", "CompleteCommit":
		if !v2 && t.Epoch == c.Epoch || v2 && t.Epoch == c.Epoch+1 {
			return committed
		}
	case "PrepareAbort", "CompleteAbort":
		if !v2 && t.Epoch == c.Epoch || t.Epoch == c.Epoch+1 {
			return aborted
		}
	}
	return unclear
}

func sameMarker(a, b *Marker) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// foreign refuses a state that cannot be this program's at all.
func (s *Startup) foreign() error {
	n := s.set.Newest
	if n.Pipeline != s.set.Pipeline {
		return failure.New(failure.State, "give each pipeline a state directory of its own with --state, or say with --name which pipeline it is", nil,
			"the state is of pipeline %q, this program is pipeline %q", n.Pipeline, s.set.Pipeline)
	}
	if id := n.Committable.ClusterID; id != "" && id != s.set.ClusterID {
		return failure.New(failure.State, "point --brokers to the cluster that the state belongs to, or use another state directory", nil,
			"the state belongs to Kafka cluster %s, these brokers are of cluster %s", id, s.set.ClusterID)
	}
	if !s.set.Confirmed && n.Number > 0 && n.Exactly && s.pending() == nil {
		return failure.New(failure.State, failure.StateHelp, nil, "checkpoint %d is not confirmed and names no transaction", n.Number)
	}
	return nil
}
