package checkpoint

import (
	"fmt"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// The reasons for which a start is refused. Each says the two things that do not fit, and what to do.

const freshHelp = "--fresh begins a new incarnation and derives all output once more"

// orphan: a new state, but the pipeline has run before, or another one of its name does.
func (s *Startup) orphan(m *Marker) error {
	return failure.New(failure.State, "if another service or a trial of this name uses the cluster, give this one a name of its own with --name; "+
		"otherwise start with the state directory that belongs to it; "+freshHelp+", and takes the name over from whoever has it", nil,
		"there is no state, but pipeline %s has committed checkpoint %d (incarnation %s, consumer group %s): starting anew would double its output",
		m.Pipeline, m.Checkpoint, m.Incarnation, s.group())
}

// stranger: the marker is of another incarnation or pipeline.
func (s *Startup) stranger(m *Marker) error {
	n := s.set.Newest
	if m.Pipeline != n.Pipeline {
		return failure.New(failure.State, "give each pipeline a name of its own", nil,
			"consumer group %s holds the marker of pipeline %q, the state is of pipeline %q", s.group(), m.Pipeline, n.Pipeline)
	}
	return failure.New(failure.State, "start with the state directory of that incarnation; "+freshHelp, nil,
		"the state is at checkpoint %d of incarnation %s, but consumer group %s holds checkpoint %d of incarnation %s: the pipeline was begun anew elsewhere",
		n.Number, n.Incarnation, s.group(), m.Checkpoint, m.Incarnation)
}

// outdated is invariant I7: the state is older than the output.
func (s *Startup) outdated(m *Marker) error {
	return failure.New(failure.State, "start with the newest state directory; "+freshHelp, nil,
		"the state is at checkpoint %d, but checkpoint %d of the same incarnation is committed (consumer group %s): the state is older than the output",
		s.set.Newest.Number, m.Checkpoint, s.group())
}

// twin: two copies of a state have each made this checkpoint, and the other one's is committed.
func (s *Startup) twin(m *Marker) error {
	n := s.set.Newest
	return failure.New(failure.State, "start with the state directory of the other copy; "+freshHelp, nil,
		"checkpoint %d is committed (consumer group %s), but by another copy of this state: its producer was %s, that of the state is %s",
		n.Number, s.group(), m.Producer, n.Committable.Producer())
}

// overtaken: the marker changed between the two looks.
func (s *Startup) overtaken(m *Marker) error {
	if m == nil {
		return failure.New(failure.Transient, "", nil, "the marker of consumer group %s vanished during the start", s.group())
	}
	return failure.New(failure.Fenced, "one copy of a pipeline runs at a time: stop one of the two", nil,
		"another copy of pipeline %s has committed while this one started: the marker of consumer group %s was %s and is %s",
		s.set.Pipeline, s.group(), s.marker.String(), m.String())
}

// noMarker: there must be a marker and there is none.
func (s *Startup) noMarker() error {
	n := s.set.Newest
	if s.set.Confirmed {
		return failure.New(failure.Unknown, "if no other copy of the pipeline has run since, --accept-loss goes on from this state; otherwise start with the newest state directory", nil,
			"checkpoint %d is confirmed, but consumer group %s has no marker any more (it expires %s, or the group or a topic was deleted): whether another copy of the state ran on cannot be seen",
			n.Number, s.group(), "offsets.retention.minutes after the last commit, 7 days by default")
	}
	return failure.New(failure.Unknown, s.undecidedHelp(), nil,
		"whether the transaction of checkpoint %d was committed cannot be known: %s, and consumer group %s has no marker any more",
		n.Number, s.known(), s.group())
}

// behind: the marker is older than anything that the state allows.
func (s *Startup) behind(m *Marker) error {
	n := s.set.Newest
	if s.settled { // perhaps by this start, which the next one finds confirmed
		return failure.New(failure.Unknown, s.undecidedHelp(), nil,
			"checkpoint %d is confirmed, but consumer group %s holds the marker of checkpoint %d: the group was set back, or a broker lost the end marker of a transaction (KAFKA-20734)",
			n.Number, s.group(), m.Checkpoint)
	}
	return failure.New(failure.Unknown, s.undecidedHelp(), nil,
		"whether the transaction of checkpoint %d was committed cannot be known: %s, and consumer group %s holds the marker of checkpoint %d",
		n.Number, s.known(), s.group(), m.Checkpoint)
}

// contradiction: the marker and the transaction coordinator do not agree.
func (s *Startup) contradiction(m *Marker) error {
	return failure.New(failure.Unknown, s.undecidedHelp(), nil,
		"whether the transaction of checkpoint %d was committed cannot be known: %s, but consumer group %s holds the marker of checkpoint %d",
		s.set.Newest.Number, s.known(), s.group(), m.Checkpoint)
}

// known says what the cluster told about the unconfirmed transaction.
func (s *Startup) known() string {
	c := s.set.Newest.Committable
	txn := fmt.Sprintf("transactional id %s, producer id %d, epoch %d", c.TransactionalID, c.ProducerID, c.Epoch)
	switch {
	case s.outcome == CommittedNow:
		return "the coordinator says that it is committed (" + txn + ")"
	case s.seen == nil || s.seen.State == "":
		return "the coordinator does not know it any more (" + txn + ")"
	}
	return fmt.Sprintf("the coordinator refused to commit it (%s) and stood at %s, producer id %d, epoch %d",
		txn, s.seen.State, s.seen.ProducerID, s.seen.Epoch)
}

func (s *Startup) undecidedHelp() string {
	c := s.set.Newest.Committable
	if s.settled {
		return "if no other copy of the pipeline has run since, --accept-loss goes on from this state and writes the marker again; " +
			"the program's verb `txn list` shows what is known; " + freshHelp
	}
	return fmt.Sprintf("look for its %s in the sink topics with a read_committed reader, then say what became of them with the program's verb `txn commit` "+
		"or `txn abort`; `txn list` shows what is known; %s", words.Many(c.Records, "record"), freshHelp)
}

// String is which checkpoint it is of, for messages. There may be none.
func (m *Marker) String() string {
	if m == nil {
		return "missing"
	}
	return fmt.Sprintf("checkpoint %d of incarnation %s", m.Checkpoint, m.Incarnation)
}
