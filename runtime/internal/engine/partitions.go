package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// firstPositions resolves where a pipeline without a state begins, and where it ends.
func firstPositions(ctx context.Context, c Clusters, spec *Spec, inputs []input, until checkpoint.Until) ([]checkpoint.Partition, error) {
	var out []checkpoint.Partition
	for i, s := range spec.Sources {
		topic := inputs[i]
		if topic.Partitions == 0 {
			return nil, failure.New(failure.Transient, "", nil, "the cluster shows no partitions of topic %s yet", s.Topic)
		}
		ids := make([]int32, topic.Partitions)
		for i := range ids {
			ids[i] = int32(i)
		}
		at := map[Start]OffsetAt{Earliest: {Kind: First}, Latest: {Kind: End}, AtTime: {Kind: FirstAfter, Time: s.StartTime}, AtGroup: {Kind: Committed, Name: s.StartGroup}}[s.Start]
		start, err := c.of(s).Offsets(ctx, s.Topic, ids, at)
		if err != nil {
			return nil, err
		}
		var bound map[int32]int64
		if until.Bounded() {
			end := OffsetAt{Kind: End}
			if !until.Latest {
				end = OffsetAt{Kind: FirstAfter, Time: until.Time}
			}
			if bound, err = c.of(s).Offsets(ctx, s.Topic, ids, end); err != nil {
				return nil, err
			}
		}
		for _, id := range ids {
			p := checkpoint.Partition{Source: s.Name, Cluster: topic.cluster, Topic: s.Topic, TopicID: topic.ID, ID: id, Next: start[id], Watermark: minTime, Active: true, Bound: -1}
			if bound != nil {
				p.Bound = max(bound[id], p.Next)
			}
			out = append(out, p)
		}
	}
	sortPartitions(out)
	return out, nil
}

func sortPartitions(p []checkpoint.Partition) {
	slices.SortFunc(p, func(a, b checkpoint.Partition) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.ID, b.ID))
	})
}

// Topics are the names of all topics that the pipeline has in the cluster of a connection, sorted.
func (s *Spec) Topics(connection int) []string {
	var names []string
	for _, source := range s.Sources {
		if source.Connection == connection {
			names = append(names, source.Topic)
		}
	}
	names = append(names, s.Written(connection)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// Written are those of them that the pipeline writes.
func (s *Spec) Written(connection int) []string {
	var names []string
	for _, sink := range s.Sinks {
		if connection == 0 {
			names = append(names, sink.Topic)
		}
	}
	return names
}

// MissingTopics is the refusal of a start that does not find topics in the cluster with a broker at address.
func MissingTopics(address string, missing ...string) error {
	make, all := "make it with `%s`", missing[0]
	command := "kafka-topics.sh --bootstrap-server " + address + " --create --topic " + all
	if len(missing) > 1 {
		make, all = "make them with `%s`", strings.Join(missing, " ")
		command = "for t in " + all + "; do kafka-topics.sh --bootstrap-server " + address + " --create --topic $t; done"
	}
	return failure.New(failure.Cluster, fmt.Sprintf(make, command)+", or start with --create-topics", nil, "missing topic: %s", strings.Join(missing, ", "))
}

// topics asks for all topics of the pipeline, and finds out where its markers stand.
func (a *attempt) topics(ctx context.Context) ([]input, error) {
	if err := a.clusters.separate(ctx, a.Spec); err != nil {
		return nil, err
	}
	inputs := make([]input, len(a.Spec.Sources))
	var written map[string]Topic
	for n := range a.clusters {
		topics, err := a.topicsOf(ctx, n)
		if err == nil {
			err = a.clusters.fill(ctx, a.Spec, n, topics, inputs)
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			written = topics
		}
	}
	for {
		doubt, err := a.outputsAre(written)
		if err != nil {
			return nil, err
		}
		if !doubt {
			break
		}
		select {
		case <-time.After(outputEvery):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if written, err = a.topicsOf(ctx, 0); err != nil {
			return nil, err
		}
	}
	a.anchorage = a.Spec.anchor(inputs, written)
	a.writer.anchorage = a.anchorage
	return inputs, nil
}

// topicsOf asks for the topics in the cluster of a connection. Missing ones are made, if that is wanted, or named with the command that makes them.
func (a *attempt) topicsOf(ctx context.Context, connection int) (map[string]Topic, error) {
	names, cluster := a.Spec.Topics(connection), a.clusters[connection]
	topics, err := cluster.Topics(ctx, names)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := topics[n]; return ok })
	if len(missing) == 0 {
		return topics, nil
	}
	if !a.Options.CreateTopics {
		return nil, MissingTopics(cluster.Address(), missing...)
	}
	for _, n := range missing {
		if err := cluster.Create(ctx, n); err != nil {
			return nil, err
		}
		a.log.Info("made a topic", "topic", n)
	}
	return awaitTopics(ctx, cluster, names)
}

// Limits of the wait for topics that were just made: a broker, and what the client remembers of it, learn of them later.
const (
	topicsWait  = 30 * time.Second
	topicsPause = 100 * time.Millisecond
)

func awaitTopics(ctx context.Context, cluster Cluster, names []string) (map[string]Topic, error) {
	for start := time.Now(); ; {
		topics, err := cluster.Topics(ctx, names)
		if err != nil {
			return nil, err
		}
		missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return topics[n].Partitions > 0 })
		if len(missing) == 0 {
			return topics, nil
		}
		if time.Since(start) > topicsWait {
			return nil, failure.New(failure.Transient, "", nil, "topic %s was made, but the cluster does not show it after %v", missing[0], topicsWait)
		}
		select {
		case <-time.After(topicsPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// discoverEvery is how often topics are asked for new partitions and for their identity, since a client
// notices nothing when a topic is deleted and made again.
const discoverEvery = 5 * time.Second

// discover finds partitions that are new, and notices topics that are not what they were.
func (a *attempt) discover(ctx context.Context) error {
	tick := time.NewTicker(discoverEvery)
	defer tick.Stop()
	missing := 0
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		inputs, err := a.clusters.inputs(ctx, a.Spec)
		if err != nil {
			a.log.Debug("looking for new partitions failed", "error", err)
			continue // the readers will see what is wrong, if anything is
		}
		if err := a.compare(inputs, &missing); err != nil {
			return err
		}
		if a.bounded {
			continue // what is found later is left out
		}
		for i, s := range a.Spec.Sources {
			for id := range inputs[i].Partitions {
				if a.knows(s.Name, id) {
					continue
				}
				if err := a.found(ctx, i, id, inputs[i]); err != nil {
					return err
				}
			}
		}
	}
}

// goneAfter is how many looks in a row must miss a topic or partition before it is gone: a broker that comes up may not know
// all of them yet.
const goneAfter = 3

// compare notices that a topic is not what it was.
func (a *attempt) compare(inputs []input, missing *int) error {
	for _, p := range a.known {
		in := inputs[a.Spec.source(p.Source)]
		gone := sameTopic(p, in)
		if gone == nil {
			continue
		}
		if in.there && in.ID != p.TopicID {
			return gone
		}
		if *missing++; *missing == goneAfter {
			return gone
		}
		return nil
	}
	*missing = 0
	return nil
}

// knows says whether a partition of a source is read already.
func (a *attempt) knows(source string, id int32) bool {
	return slices.ContainsFunc(a.known, func(p checkpoint.Partition) bool { return p.Source == source && p.ID == id })
}

// found gives a new partition to a task.
func (a *attempt) found(ctx context.Context, source int, id int32, in input) error {
	p, ok := a.first(ctx, source, id, in)
	if !ok {
		return nil // the next round tries again
	}
	a.known = append(a.known, p)
	t := a.sources[(len(a.known)-1)%len(a.sources)] // as assign would deal it
	select {
	case t.commands <- command{add: a.open(t, p)}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// first is where a new partition is read from: its beginning. It is idle until it has a record.
func (a *attempt) first(ctx context.Context, source int, id int32, in input) (p checkpoint.Partition, ok bool) {
	s := a.Spec.Sources[source]
	first, err := a.clusters.of(s).Offsets(ctx, s.Topic, []int32{id}, OffsetAt{Kind: First})
	var end map[int32]int64
	if err == nil {
		end, err = a.clusters.of(s).Offsets(ctx, s.Topic, []int32{id}, OffsetAt{Kind: End})
	}
	if err != nil {
		a.log.Debug("a new partition cannot be read yet", "topic", s.Topic, "partition", id, "error", err)
		return p, false
	}
	p = checkpoint.Partition{Source: s.Name, Cluster: in.cluster, Topic: s.Topic, TopicID: in.ID, ID: id, Next: first[id], Watermark: minTime, Active: end[id] > first[id], Bound: -1}
	a.log.Info("found a new partition", "topic", p.Topic, "partition", p.ID, "from", p.Next)
	return p, true
}

// grown adds the partitions that topics have got since the base checkpoint. They are found before anything is read: found later, with what the other
// partitions have behind them by then, much in them would be late.
func (a *attempt) grown(ctx context.Context, inputs []input) {
	a.known = slices.Clone(a.base.Partitions)
	a.bounded = slices.ContainsFunc(a.known, func(p checkpoint.Partition) bool { return p.Bound >= 0 })
	if a.bounded {
		return // what is found later is left out
	}
	for i, s := range a.Spec.Sources {
		for id := range inputs[i].Partitions {
			if a.knows(s.Name, id) {
				continue
			}
			if p, ok := a.first(ctx, i, id, inputs[i]); ok {
				a.known = append(a.known, p)
			}
		}
	}
	a.base.Partitions = slices.Clone(a.known)
}
