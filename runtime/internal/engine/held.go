package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// A broker can lose the end marker of a transaction in a partition (KAFKA-20734): the coordinator has answered that it is committed, and
// yet readers of committed records wait for it for ever. This file notices it.

const (
	visibleLimit = 10 * time.Second // for the output of ended transactions to become visible to a start
	foreseeLimit = 2 * time.Second  // and to who asks what a start would do, or is not told who is in the way
	visibleEvery = 100 * time.Millisecond
	secondLook   = time.Second     // after which what looks lost is looked at again
	outputEvery  = 5 * time.Second // how often a running pipeline looks
)

// RepairHelp is what to do about an end marker that a broker has lost.
const RepairHelp = "the program's verb `txn repair` writes the end marker that a broker has lost (KAFKA-20734); `txn list` shows what is known"

// Owned says which producers are the pipeline's.
type Owned struct {
	ids       []string               // transactional ids
	producers []int64                // of transactions that the state names
	newest    *checkpoint.Checkpoint // of the state; nil: there is none
	confirmed bool
}

// Own finds them in what a start knows.
func Own(set checkpoint.Setup) Owned {
	o := Owned{newest: set.Newest, confirmed: set.Confirmed}
	add := func(ids ...string) {
		for _, id := range ids {
			if id != "" && !slices.Contains(o.ids, id) {
				o.ids = append(o.ids, id)
			}
		}
	}
	add(set.IDs...)
	for _, c := range []*checkpoint.Checkpoint{set.Newest, set.Before} {
		if c == nil {
			continue
		}
		add(c.IDs...)
		if c.Committable.TransactionalID != "" {
			add(c.Committable.TransactionalID)
			o.producers = append(o.producers, c.Committable.ProducerID)
		}
		for _, s := range c.Committed {
			o.producers = append(o.producers, s.Producer)
		}
	}
	return o
}

// Has says that a transaction is one of the pipeline's producers.
func (o Owned) Has(h Hold) bool {
	return slices.Contains(o.producers, h.Producer) || h.Owner != nil && slices.Contains(o.ids, h.Owner.ID)
}

// Ended says that the coordinator will not end the transaction any more: it has ended it, or knows another one by now. An end marker of
// it is still to come if it is about to end it.
func (h Hold) Ended() bool {
	switch {
	case h.Owner == nil:
		return h.Untold == nil
	case h.Owner.State == "PrepareCommit" || h.Owner.State == "PrepareAbort" || h.Owner.State == "PrepareEpochFence":
		return false
	}
	return h.Owner.State != "Ongoing" || h.Owner.ProducerID != h.Producer || h.Owner.Epoch != h.Epoch
}

// sweep is how long a coordinator may take to see that a transaction is too old: it looks every 10 s by default.
const sweep = 30 * time.Second

// Hangs says whether nothing will end the transaction any more, or its coordinator should have ended it.
func (h Hold) Hangs() bool {
	return h.Ended() || h.Owner != nil && !h.Owner.Since.IsZero() && h.Owner.Timeout > 0 && time.Since(h.Owner.Since) > h.Owner.Timeout+sweep
}

// Same says that h and as are one transaction in one partition.
func (h Hold) Same(as Hold) bool {
	return h.Topic == as.Topic && h.Partition == as.Partition && h.Producer == as.Producer && h.Epoch == as.Epoch && h.First == as.First
}

// String is the transaction for messages.
func (h Hold) String() string {
	text := fmt.Sprintf("producer id %d, epoch %d", h.Producer, h.Epoch)
	switch {
	case !h.After.IsZero():
		text += ", written after " + h.After.UTC().Format(time.RFC3339)
	case !h.Last.IsZero():
		text += ", last record with the timestamp " + h.Last.UTC().Format(time.RFC3339)
	}
	if h.Untold != nil {
		text += fmt.Sprintf(", whose it is is not known (%v)", h.Untold)
	}
	if h.Owner == nil {
		return text
	}
	text += ", transactional id " + h.Owner.ID
	if h.Owner.State != "" {
		text += fmt.Sprintf(", which stands at %s, epoch %d", h.Owner.State, h.Owner.Epoch)
	}
	if !h.Owner.Since.IsZero() {
		text += fmt.Sprintf(", open since %s, aborted after %v", h.Owner.Since.UTC().Format(time.RFC3339), h.Owner.Timeout)
	}
	return text
}

// Outputs are the topics of the exactly-once sinks.
func (s *Spec) Outputs() []string {
	var topics []string
	for _, sink := range s.Sinks {
		if sink.Deliver == ExactlyOnce && !slices.Contains(topics, sink.Topic) {
			topics = append(topics, sink.Topic)
		}
	}
	return topics
}

// Held is a partition that readers of committed records cannot read to its end.
type Held struct {
	Topic       string
	Partition   int32
	Stable, End int64  // they see what is before Stable
	Holds       []Hold // that begin there or behind, oldest first; nil with Denied
	Denied      error  // why the cluster does not tell who holds it back
}

// Behind finds the partitions of topics that readers of committed records cannot read to their end. It does not ask who holds them back; HeldBack does.
func Behind(ctx context.Context, c Cluster, topics []string) ([]Held, error) {
	known, err := c.Topics(ctx, topics)
	if err != nil {
		return nil, err
	}
	var out []Held
	for _, topic := range topics {
		var ids []int32
		for id := range known[topic].Partitions {
			ids = append(ids, id)
		}
		some, err := BehindIn(ctx, c, topic, ids)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// BehindIn is Behind for partitions of one topic.
func BehindIn(ctx context.Context, c Cluster, topic string, ids []int32) ([]Held, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	// The end comes first: what is written between the two questions does not look held back.
	end, err := c.Offsets(ctx, topic, ids, OffsetAt{Kind: End})
	if err != nil {
		return nil, err
	}
	stable, err := c.Offsets(ctx, topic, ids, OffsetAt{Kind: LastStable})
	if err != nil {
		return nil, err
	}
	var out []Held
	for _, id := range ids {
		if stable[id] < end[id] {
			out = append(out, Held{Topic: topic, Partition: id, Stable: stable[id], End: end[id]})
		}
	}
	return out, nil
}

// HeldBack finds out who holds partitions back; with ids, whose transactions are only as far as they are of those, see Cluster.Holds. The questions of a look
// are asked one after the other, so a transaction that ends in between looks like one that nothing ends any more. So one that looks lost is
// listed only if a second look has found it so, too. Who asks what holds readers back asks here.
func HeldBack(ctx context.Context, c Cluster, all []Held, looksLost func(Hold) bool, ids ...string) ([]Held, error) {
	first, err := blame(ctx, c, all, ids)
	if err != nil {
		return nil, err
	}
	seen := suspects(first, looksLost)
	if len(seen) == 0 {
		return first, nil
	}
	select {
	case <-time.After(secondLook):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	second, err := blame(ctx, c, all, ids)
	for i := range second {
		second[i].Holds = slices.DeleteFunc(second[i].Holds, func(x Hold) bool { return looksLost(x) && !slices.ContainsFunc(seen, x.Same) })
	}
	return second, err
}

// suspects are the transactions that look lost.
func suspects(all []Held, looksLost func(Hold) bool) (out []Hold) {
	for _, h := range all {
		for _, x := range h.Holds {
			if looksLost(x) {
				out = append(out, x)
			}
		}
	}
	return out
}

// blame is one look.
func blame(ctx context.Context, c Cluster, all []Held, ids []string) ([]Held, error) {
	byTopic := map[string][]int32{}
	for _, h := range all {
		byTopic[h.Topic] = append(byTopic[h.Topic], h.Partition)
	}
	out := slices.Clone(all)
	for topic, partitions := range byTopic {
		holds, err := c.Holds(ctx, topic, partitions, ids...)
		if err != nil && failure.KindOf(err) == failure.Transient {
			return nil, err
		}
		for i := range out {
			h := &out[i]
			if h.Topic != topic {
				continue
			}
			h.Holds, h.Denied = nil, err
			for _, x := range holds {
				if x.Partition == h.Partition {
					h.Holds = append(h.Holds, x)
				}
			}
		}
	}
	return out, nil
}

// HeldBack is what holds partitions back, in which only the owners of the pipeline's own transactions are looked for.
func (o Owned) HeldBack(ctx context.Context, c Cluster, all []Held) ([]Held, error) {
	held, err := HeldBack(ctx, c, all, o.looksLost, o.ids...)
	for _, h := range held {
		for i, x := range h.Holds {
			// Of what is not committed the account knows nothing.
			if o.newest != nil && o.newest.Fate(o.confirmed, x.Producer, x.Epoch) == checkpoint.ItIsCommitted {
				h.Holds[i].After = o.newest.Account.After(x.Topic, x.Partition, x.First)
			}
		}
	}
	return held, err
}

// looksLost says that a transaction is the pipeline's and has ended: its end markers are on their way, or a broker has lost one.
func (o Owned) looksLost(x Hold) bool { return o.Has(x) && x.Ended() }

// lost finds in what is held back what nobody but an administrator will free: by ended transactions of the pipeline's producers.
// unknown is held back by whom the cluster does not tell.
func (o Owned) lost(ctx context.Context, c Cluster, all []Held) (lost, unknown []Held, err error) {
	held, err := o.HeldBack(ctx, c, all)
	for _, h := range held {
		h.Holds = slices.DeleteFunc(h.Holds, func(x Hold) bool { return !o.looksLost(x) })
		switch {
		case h.Denied != nil:
			unknown = append(unknown, h)
		case len(h.Holds) > 0:
			lost = append(lost, h)
		}
	}
	return lost, unknown, err
}

// String says what is held back where, and by whom.
func (h Held) String() string {
	var by []string
	for _, x := range h.Holds {
		by = append(by, fmt.Sprintf("%v, from offset %d on", x, x.First))
	}
	text := fmt.Sprintf("topic %s, partition %d: %s from %d to %d", h.Topic, h.Partition, words.Many(h.End-h.Stable, "offset"), h.Stable, h.End-1)
	if by != nil {
		text += ", held back by " + strings.Join(by, " and ")
	}
	return text
}

// visible waits until all that the pipeline has committed can be seen, and refuses to go on if it cannot.
func (s *startup) visible(ctx context.Context, limit time.Duration) error {
	for began := time.Now(); ; {
		all, err := Behind(ctx, s.clusters.job(), s.Spec.Outputs())
		if err != nil {
			return err
		}
		lost, unknown, err := s.own.lost(ctx, s.clusters.job(), all)
		if err != nil {
			return err
		}
		switch {
		case len(lost)+len(unknown) == 0:
			return nil
		case time.Since(began) < foreseeLimit, len(lost) > 0 && time.Since(began) < limit:
		case len(lost) > 0:
			var texts []string
			for _, h := range lost {
				texts = append(texts, h.String())
			}
			return failure.New(failure.Cluster, RepairHelp, nil, "output of ended transactions of this pipeline is still invisible to readers of committed records after %v: %s",
				limit, strings.Join(texts, "; "))
		default:
			for _, h := range unknown {
				s.Options.Log.Warn("a sink's partition is held back from readers of committed records, and the cluster does not tell by whom; if that goes on, a broker may have lost the end marker of a transaction (KAFKA-20734)",
					"held", h.String(), "error", h.Denied)
			}
			return nil
		}
		select {
		case <-time.After(visibleEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// blocker is who holds a partition of a source back at its last stable offset, for the log.
func (w *watcher) blocker(ctx context.Context, s *SourceSpec, id int32, stable int64) []any {
	holds, err := w.clusters.of(*s).Holds(ctx, s.Topic, []int32{id})
	if err != nil {
		return []any{slog.String("by", fmt.Sprintf("not known: %v", err))}
	}
	i := slices.IndexFunc(holds, func(h Hold) bool { return h.First == stable })
	if i < 0 {
		return []any{slog.String("by", "not known: the partition's leader names no open transaction from there on")}
	}
	h := holds[i]
	out := []any{slog.Int64("producer_id", h.Producer), slog.Int("producer_epoch", int(h.Epoch))}
	if h.Owner == nil {
		if h.Untold != nil {
			return append(out, slog.String("transactional_id", fmt.Sprintf("not known: %v", h.Untold)))
		}
		return append(out, slog.String("transactional_id", "not known"))
	}
	out = append(out, slog.String("transactional_id", h.Owner.ID), slog.String("state", h.Owner.State))
	if !h.Owner.Since.IsZero() {
		out = append(out, slog.Time("open_since", h.Owner.Since.UTC()), slog.String("aborted_after", h.Owner.Timeout.String()))
	}
	return out
}
