package checkpoint

import (
	"fmt"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Decision is what a person says of the transaction of the newest checkpoint.
type Decision uint8

const (
	NoDecision    Decision = iota
	ItIsCommitted          // its records are there, or are to be: go on behind it
	ItIsAborted            // its records are not there: go back to the checkpoint before, and make them again
)

func (d Decision) verdict() verdict {
	return [...]verdict{NoDecision: unclear, ItIsCommitted: committed, ItIsAborted: aborted}[d]
}

func (v verdict) String() string { return [...]string{"undecided", "committed", "aborted"}[v] }

// heed holds a decision to abort against what the coordinator says, before anything is changed: a transaction that is open as it was prepared can
// be committed, and then there is nothing to decide.
func (s *Startup) heed() {
	if s.set.Decision != ItIsAborted || s.stage == refused {
		return
	}
	c := *s.pending()
	switch {
	case s.seen.State == "Ongoing" && s.seen.ProducerID == c.ProducerID && s.seen.Epoch == c.Epoch:
		s.refuse(failure.New(failure.State, "start the program, or use its verb `txn commit`: either commits it", nil,
			"the transaction of checkpoint %d is open as it was prepared, and can be committed: there is nothing to decide", s.set.Newest.Number))
	case s.seen.evidence(c) == committed:
		s.refuse(s.against(fmt.Sprintf("its coordinator stands at %s, producer id %d, epoch %d", s.seen.State, s.seen.ProducerID, s.seen.Epoch)))
	}
}

// heard puts the decision of a person in the place of what a start must not guess. What is known goes over it.
func (s *Startup) heard(v verdict, err error) (verdict, error) {
	said := s.set.Decision.verdict()
	switch {
	case said == unclear || err == nil && v == said:
		return v, err
	case err == nil:
		return unclear, s.against("consumer group " + s.group() + " holds the marker of " + s.marker.String())
	case failure.KindOf(err) != failure.Unknown:
		return v, err
	case s.marked(): // in the transaction, and visible only behind its commit: whatever the coordinator says
		if said != committed {
			return unclear, s.against("consumer group " + s.group() + " holds the marker of " + s.marker.String() + ", of its producer")
		}
	case s.outcome == CommittedNow && said != committed,
		s.seen != nil && s.seen.evidence(*s.pending()) != unclear && s.seen.evidence(*s.pending()) != said:
		return unclear, s.against(s.known())
	}
	return said, nil
}

// marked says that the marker is that of the newest transaction.
func (s *Startup) marked() bool {
	m, n := s.marker, s.set.Newest
	return m != nil && m.Incarnation == n.Incarnation && m.Checkpoint == n.Number && m.Producer == n.Committable.Producer()
}

// against refuses a decision that what is known contradicts.
func (s *Startup) against(known string) error {
	return failure.New(failure.State, "the program's verb `txn list` shows what is known", nil,
		"the transaction of checkpoint %d cannot be taken for %s: %s", s.set.Newest.Number, s.set.Decision.verdict(), known)
}

func (s *Startup) nothingToDecide() error {
	n := s.set.Newest
	switch {
	case n == nil:
		return failure.New(failure.State, "name the directory of the pipeline with --state", nil, "there is nothing to decide: there is no state")
	case n.Exactly && s.set.Confirmed:
		return failure.New(failure.State, "start the program; if that is refused, the message says what to do", nil,
			"there is nothing to decide: checkpoint %d is confirmed, so its transaction is committed", n.Number)
	}
	return failure.New(failure.State, "start the program", nil, "there is nothing to decide: checkpoint %d has no transaction", n.Number)
}
