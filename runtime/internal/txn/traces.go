package txn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
)

// The records of the newest checkpoint are the last, or behind them are those of the next transaction, which was begun; somebody else may write to the
// topics too.
const (
	traceMargin = 10_000 // offsets
	traceShare  = 3      // times of the records of the transaction
)

// trace looks for the transaction of the newest checkpoint in the logs of the sinks, where it matters and can be done.
func (s *sight) trace(ctx context.Context) error {
	n := s.setup.Newest
	if s.asked || n == nil || s.setup.Confirmed || n.Committable.TransactionalID == "" {
		return nil
	}
	c := n.Committable
	if t := s.known[c.TransactionalID]; t.State == "Ongoing" && t.Producer == c.ProducerID && t.Epoch == c.Epoch {
		return nil // it is prepared
	}
	s.asked = true
	traces, err := s.cluster.Traces(ctx, s.Spec.Outputs(), c.ProducerID, c.Epoch, traceShare*c.Records+traceMargin)
	switch {
	case err == nil:
		s.traces, s.traced = traces, true
	case failure.KindOf(err) == failure.Transient:
		return err
	default: // the right is missing, which is no reason not to decide
		s.blind = append(s.blind, err)
	}
	slices.SortFunc(s.traces, func(a, b kafka.Trace) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return nil
}

// told is what the logs say became of the transaction; NoDecision if they do not say, or different things.
func (s *sight) told() checkpoint.Decision {
	said := checkpoint.NoDecision
	for _, t := range s.traces {
		switch {
		case t.Fate == checkpoint.NoDecision || t.Fate == said:
		case said == checkpoint.NoDecision:
			said = t.Fate
		default:
			return checkpoint.NoDecision
		}
	}
	return said
}

// tracesText is what the logs hold, in words.
func (s *sight) tracesText() string {
	if len(s.traces) == 0 {
		return "none of its records is among the last of the sinks' topics"
	}
	var texts []string
	for _, t := range s.traces {
		end := map[checkpoint.Decision]string{checkpoint.ItIsCommitted: "behind which it is committed", checkpoint.ItIsAborted: "behind which it is aborted", checkpoint.NoDecision: "without an end"}[t.Fate]
		texts = append(texts, fmt.Sprintf("%s/%d has %d of its records from offset %d on, %s", t.Topic, t.Partition, t.Records, t.First, end))
	}
	return strings.Join(texts, "; ")
}

// contradicted refuses a decision that the logs contradict.
func (s *sight) contradicted(said checkpoint.Decision) error {
	told := s.told()
	if told == checkpoint.NoDecision || told == said {
		return nil
	}
	verb := map[checkpoint.Decision]string{checkpoint.ItIsCommitted: "txn commit", checkpoint.ItIsAborted: "txn abort"}[told]
	return failure.New(failure.State, "use "+verb, nil, "the logs of the sinks say otherwise: %s", s.tracesText())
}
