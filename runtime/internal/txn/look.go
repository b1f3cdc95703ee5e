package txn

import (
	"context"
	"fmt"
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// sight is what there is to know, gathered without changing anything.
type sight struct {
	*Config
	cluster *kafka.Cluster
	place   state.Place
	view    *state.View // nil: there is no state
	setup   checkpoint.Setup
	ids     []string // transactional ids, the state's too
	known   map[string]kafka.OpenTxn

	marker    *checkpoint.Marker
	pending   bool  // a transaction of the pipeline writes another one
	unread    error // why the marker cannot be read
	held      []held
	blind     []error // what the cluster does not tell
	asked     bool    // traces were asked for
	traced    bool    // and could be
	traces    []kafka.Trace
	suspicion []engine.Held
}

// held is a transaction of the pipeline's producers that holds readers back.
type held struct {
	engine.Hold
	offsets int64 // that readers do not see; 0 for offsets of groups
	fate    fate
	why     string
}

// fate is what is known of a transaction that holds readers back.
type fate string

const (
	open      fate = "open"      // its coordinator will end it
	committed fate = "committed" // its end marker is lost
	aborted   fate = "aborted"   // likewise
	unknown   fate = "unknown"   // its end marker is lost, and what it was is not known
)

// see gathers it.
func see(ctx context.Context, cfg *Config, cluster *kafka.Cluster) (*sight, error) {
	s := &sight{Config: cfg, cluster: cluster}
	e := cfg.engine()
	s.setup = checkpoint.Setup{Pipeline: cfg.Spec.Name, Group: e.Group(), IDs: e.IDs()}
	if !cfg.Spec.Memory {
		var err error
		if s.place, err = state.LookAt(cfg.Settings.StateDir); err != nil {
			return nil, err
		}
		if s.view, err = state.Look(cfg.Settings.StateDir); err != nil {
			return nil, err
		}
	}
	if v := s.view; v != nil && v.Newest != nil {
		if err := v.Fits(cfg.Settings.StateDir, cfg.State); err != nil {
			return nil, err
		}
		s.setup.Newest, s.setup.Before, s.setup.Confirmed = v.Newest, v.Before, v.Confirmed
		if v.Newest.Group != "" {
			s.setup.Group = v.Newest.Group
		}
		if id, err := cluster.ID(ctx); err != nil {
			return nil, err
		} else if c := v.Newest.Committable.ClusterID; c != "" && c != id {
			return nil, failure.New(failure.State, "point --brokers to the cluster that the state belongs to", nil, "the state belongs to Kafka cluster %s, these brokers are of cluster %s", c, id)
		}
	}
	s.ids = slices.Clone(s.setup.IDs)
	if n := s.setup.Newest; n != nil {
		for _, id := range append(slices.Clone(n.IDs), n.Committable.TransactionalID) {
			if id != "" && !slices.Contains(s.ids, id) {
				s.ids = append(s.ids, id)
			}
		}
	}
	if err := s.ask(ctx); err != nil {
		return nil, err
	}
	return s, s.weigh(ctx)
}

// ask asks the cluster.
func (s *sight) ask(ctx context.Context) error {
	// To ask for the coordinator of an id, or of a group, in a cluster that has none yet would make its topic.
	used := s.setup.Newest != nil && s.setup.Newest.Exactly
	if len(s.ids) == 0 || !used && !s.cluster.Coordinated(ctx, kafka.TxnsTopic) {
		return nil
	}
	var err error
	if s.known, err = s.cluster.Transactions(ctx, s.ids); err != nil {
		return err
	}
	if used || s.cluster.Coordinated(ctx, kafka.GroupsTopic) {
		s.marker, s.pending, s.unread = s.cluster.Beside(s.ids).Look(ctx, s.setup.Group)
	}
	return s.holds(ctx)
}

// holds finds what holds readers back: in the sinks' partitions, and where the group's offsets are, which says which of them it is.
func (s *sight) holds(ctx context.Context) error {
	mine := engine.Own(s.setup)
	all, err := engine.Behind(ctx, s.cluster, s.Spec.Outputs())
	if err != nil {
		return err
	}
	place, err := s.cluster.OffsetsPlace(ctx, s.setup.Group)
	switch {
	case err != nil && failure.KindOf(err) == failure.Transient:
		return err
	case err != nil && s.unread != nil: // the right is missing, and what holds the marker is wanted
		s.blind = append(s.blind, err)
	}
	if all, err = mine.HeldBack(ctx, s.cluster, append(all, place...)); err != nil {
		return err
	}
	for _, h := range all {
		offsets := h.Topic == kafka.GroupsTopic
		switch {
		case h.Denied != nil && !offsets:
			s.blind = append(s.blind, h.Denied)
			s.suspicion = append(s.suspicion, h)
		case h.Denied != nil && s.unread != nil:
			s.blind = append(s.blind, h.Denied)
		}
		for _, x := range h.Holds {
			if !mine.Has(x) {
				continue
			}
			one := held{Hold: x}
			if !offsets {
				one.offsets = h.End - x.First
			}
			one.fate, one.why = s.judge(x)
			s.held = append(s.held, one)
		}
	}
	return nil
}

// undecided says that a transaction is that of the newest checkpoint, which is not confirmed.
func (s *sight) undecided(h engine.Hold) bool {
	n := s.setup.Newest
	return n != nil && !s.setup.Confirmed && n.Committable.TransactionalID != "" && n.Committable.ProducerID == h.Producer && n.Committable.Epoch == h.Epoch
}

// weigh asks the logs of the sinks where nothing else says what became of the newest transaction. Its end markers are one for each partition, and a broker has
// hardly lost all.
func (s *sight) weigh(ctx context.Context) error {
	hangs := func(h held) bool { return h.fate == unknown && s.undecided(h.Hold) }
	if s.place.Use == state.InUse || !slices.ContainsFunc(s.held, hangs) {
		return nil
	}
	if err := s.trace(ctx); err != nil {
		return err
	}
	for i := range s.held {
		if h := &s.held[i]; hangs(*h) {
			h.fate, h.why = s.judge(h.Hold)
		}
	}
	return nil
}

// inferred is why a transaction is taken for aborted that nobody has said to be.
const inferred = "it came behind what the state has committed, and the state is the newest"

// judge says what became of a transaction that holds readers back, and how that is known. Proof is what the coordinator says while it still
// does, and what it has said: a checkpoint is confirmed, and a marker visible, only behind a commit.
func (s *sight) judge(h engine.Hold) (fate, string) {
	if !h.Ended() {
		return open, "its coordinator stands at " + h.Owner.State
	}
	now, before, logs := checkpoint.NoDecision, checkpoint.NoDecision, checkpoint.NoDecision
	if h.Owner != nil {
		now = h.Owner.Fate(checkpoint.Committable{ProducerID: h.Producer, Epoch: h.Epoch, EndTxnVersion: s.cluster.EndTxnVersion()})
	}
	if n := s.setup.Newest; n != nil {
		before = n.Fate(s.setup.Confirmed, h.Producer, h.Epoch)
	}
	if s.undecided(h) {
		logs = s.told()
	}
	visible := s.marker != nil && s.unread == nil && !s.pending && s.marker.Producer == checkpoint.Committable{ProducerID: h.Producer, Epoch: h.Epoch}.Producer()
	switch {
	case now == checkpoint.ItIsAborted && (before == checkpoint.ItIsCommitted || visible):
		return unknown, "its coordinator and the state say different things"
	case now == checkpoint.ItIsAborted && logs == checkpoint.ItIsCommitted, now == checkpoint.ItIsCommitted && logs == checkpoint.ItIsAborted:
		return unknown, "its coordinator and the logs of the sinks say different things"
	case now == checkpoint.ItIsCommitted: // also where the state infers an abort: a start commits the marker of its checkpoint alone, which no state notes
		return committed, "its coordinator says so"
	case before == checkpoint.ItIsCommitted:
		return committed, "the state says so, which was told by the coordinator"
	case visible:
		return committed, "its marker in the consumer group can be seen"
	case logs == checkpoint.ItIsCommitted:
		return committed, "the logs of the sinks say so: they have the end markers of other partitions"
	case now == checkpoint.ItIsAborted:
		return aborted, "its coordinator says so"
	case logs == checkpoint.ItIsAborted:
		return aborted, "the logs of the sinks say so: they have the end markers of other partitions"
	case before == checkpoint.ItIsAborted && s.current():
		return aborted, inferred
	}
	return unknown, "neither the coordinator nor the state reaches back to it"
}

// current says that no copy of the state has gone on behind it: the marker that can be seen is of its newest checkpoint, and no other one is
// pending.
func (s *sight) current() bool {
	n := s.setup.Newest
	if n == nil || s.marker == nil || s.pending || s.unread != nil {
		return false
	}
	return s.marker.Incarnation == n.Incarnation && s.marker.Checkpoint == n.Number && s.setup.Confirmed &&
		(n.Committable.TransactionalID == "" || s.marker.Producer == n.Committable.Producer())
}

// lost are those whose end marker a broker has lost.
func (s *sight) lost() []held {
	return slices.DeleteFunc(slices.Clone(s.held), func(h held) bool { return h.fate == open })
}

// unknownHelp is what to do about transactions of which nobody knows what they were. To abort that of a checkpoint that is not confirmed makes a start go
// back, and make its records again beside those that are visible in other partitions.
func (s *sight) unknownHelp(lost []held) string {
	if !slices.ContainsFunc(lost, func(h held) bool { return h.fate == unknown && s.undecided(h.Hold) }) {
		return "look whether their records are wanted; an administrator ends them with `kafka-transactions.sh abort`, which drops the records"
	}
	n := s.setup.Newest
	look := fmt.Sprintf("do not abort the transaction of checkpoint %d yet: it is not confirmed, and what is there of its %s would be made again. Look for them in the sink topics with a read_committed reader",
		n.Number, words.Many(n.Committable.Records, "record"))
	if s.unread == nil {
		return look + "; then say what became of them with the program's verb `txn commit` or `txn abort`, behind which `txn repair` knows it"
	}
	return look + "; with READ on these topics `txn repair` finds out by itself. Only if none is there may an administrator use `kafka-transactions.sh abort`; if some are, --fresh derives all output once more"
}
