package engine

import (
	"context"
	"errors"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

const acceptLoss = "start with --accept-loss to go on without them, or with --fresh to begin anew"

// extent is how far a partition goes: its first offset and the one behind the last.
type extent struct{ first, end int64 }

// place names a partition of a source.
type place struct {
	source string
	id     int32
}

// accepted is input whose loss was accepted: a position of the state, and where reading goes on instead.
type accepted struct {
	was, now checkpoint.Partition
	gone     bool // there is nothing left to read
}

// available compares the positions of a checkpoint with what the topics hold, and returns the positions to
// read from. What cannot be read any more is an error that says how much is lost; with AcceptLoss it is
// passed over instead. A topic that was deleted and made again has another id: its offsets mean other records.
func (s *startup) available(ctx context.Context, parts []checkpoint.Partition) ([]checkpoint.Partition, error) {
	extents, err := s.extents(ctx, parts)
	if err != nil {
		return nil, err
	}
	var out []checkpoint.Partition
	for _, p := range parts {
		a, ok := s.accepted[place{p.Source, p.ID}]
		if !ok || a.was != p { // the state has got further since
			a = accepted{was: p, now: p}
		}
		to := extents[place{p.Source, p.ID}]
		if lost := s.lost(a.now, to); lost != nil && !a.gone {
			if !s.acceptLoss {
				return nil, lost
			}
			a = s.accept(a, to, lost)
		}
		if a.gone {
			continue
		}
		p = a.now
		p.Active = p.Active || p.Next < to.end // it was idle, but has records now: they hold W from the start
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, failure.New(failure.Cluster, "make the topic again", nil, "no partition is left to read: topic %s is gone", parts[0].Topic)
	}
	return out, nil
}

// extents asks how far the partitions go that the topics have, once for each source.
func (s *startup) extents(ctx context.Context, parts []checkpoint.Partition) (map[place]extent, error) {
	ids := make([][]int32, len(s.Spec.Sources))
	for _, p := range parts {
		if p.ID < s.input(p).Partitions {
			i := s.Spec.source(p.Source)
			ids[i] = append(ids[i], p.ID)
		}
	}
	out := map[place]extent{}
	for i, ids := range ids {
		if len(ids) == 0 {
			continue
		}
		source := s.Spec.Sources[i]
		first, err := s.clusters.of(source).Offsets(ctx, source.Topic, ids, OffsetAt{Kind: First})
		if err != nil {
			return nil, err
		}
		end, err := s.clusters.of(source).Offsets(ctx, source.Topic, ids, OffsetAt{Kind: End})
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			out[place{source.Name, id}] = extent{first[id], end[id]}
		}
	}
	return out, nil
}

// lost says what of a partition cannot be read any more, nil if nothing is lost.
func (s *startup) lost(p checkpoint.Partition, to extent) error {
	switch gone := sameTopic(p, s.input(p)); {
	case gone != nil:
		return gone
	case p.Next < to.first:
		gone := to.first - p.Next
		return failure.New(failure.Lost, acceptLoss, nil, "%s of %s/%d %s gone: the state wants offset %d, the first there is %d",
			words.Many(gone, "record"), p.Topic, p.ID, words.Does(gone, "is", "are"), p.Next, to.first)
	case p.Next > to.end:
		return failure.New(failure.Lost, acceptLoss, nil, "%s/%d ends at offset %d, but the state has read up to %d: records that were read are gone, and others may stand in their place", p.Topic, p.ID, to.end, p.Next)
	}
	return nil
}

// accept passes over what is lost of a partition. It is remembered: until a checkpoint has got further, a restart of
// the process meets the same loss again, which is not a new one.
func (s *startup) accept(a accepted, to extent, lost error) accepted {
	var why *failure.Error
	errors.As(lost, &why)
	s.Options.Log.Warn("going on although input is gone", "lost", why.What, "from", to.first)
	if in := s.input(a.was); a.was.ID >= in.Partitions {
		a.gone = true
	} else {
		a.now.Cluster, a.now.TopicID, a.now.Next = in.cluster, in.ID, to.first
		if a.now.Bound >= 0 {
			a.now.Bound = to.end
		}
	}
	if s.accepted == nil {
		s.accepted = map[place]accepted{}
	}
	s.accepted[place{a.was.Source, a.was.ID}] = a
	return a
}

// sameTopic says what is wrong if the partition is not that of the checkpoint any more.
func sameTopic(p checkpoint.Partition, t input) error {
	switch {
	case t.there && t.cluster != p.Cluster:
		return failure.New(failure.Lost, acceptLoss, nil, "topic %s of source %s is in another cluster, where offsets mean other records: it is in %s, the state has read it in %s",
			p.Topic, p.Source, clusterText(t.cluster), clusterText(p.Cluster))
	case !t.there:
		return failure.New(failure.Lost, acceptLoss, nil, "topic %s is gone; the state has read it up to offset %d in partition %d", p.Topic, p.Next, p.ID)
	case t.ID != p.TopicID:
		return failure.New(failure.Lost, acceptLoss, nil, "topic %s was deleted and made again: its id is %s, the state has read %s", p.Topic, t.ID, p.TopicID)
	case p.ID >= t.Partitions:
		return failure.New(failure.Lost, acceptLoss, nil, "topic %s has %s, but the state has read partition %d", p.Topic, words.Many(t.Partitions, "partition"), p.ID)
	}
	return nil
}

// clusterText names a cluster as the state does.
func clusterText(id string) string {
	if id == "" {
		return "the cluster of the sinks"
	}
	return "cluster " + id
}
