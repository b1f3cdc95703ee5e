package engine

import (
	"context"
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Clusters are those of a pipeline, by the number of the connection (SourceSpec.Connection). The first is that of the job: it has the
// sinks, and with them the transactional ids and the consumer group that takes the markers. The others are read, and nothing
// that the protocol rests on is there.
type Clusters []Cluster

// open makes contact with all clusters. With an error it returns those that were reached before it.
func (e *Engine) open(ctx context.Context) (Clusters, error) {
	var all Clusters
	for n := range e.Spec.Connections() {
		c, err := e.Open(ctx, n)
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Connections is how many the pipeline has, that of the job included.
func (s *Spec) Connections() int {
	n := 1
	for _, source := range s.Sources {
		n = max(n, source.Connection+1)
	}
	return n
}

// source is the index of the source of that name, -1 if there is none.
func (s *Spec) source(name string) int {
	return slices.IndexFunc(s.Sources, func(x SourceSpec) bool { return x.Name == name })
}

func (c Clusters) job() Cluster { return c[0] }

func (c Clusters) of(s SourceSpec) Cluster { return c[s.Connection] }

func (c Clusters) close() {
	for _, one := range c {
		one.Close()
	}
}

// elsewhere is the id of the cluster of a connection, "" if that is the cluster of the sinks: two connections may lead to one cluster.
func (c Clusters) elsewhere(ctx context.Context, connection int) (string, error) {
	id, err := c[connection].ID(ctx)
	if err != nil || connection == 0 {
		return "", err
	}
	sinks, err := c.job().ID(ctx)
	if id == sinks {
		id = ""
	}
	return id, err
}

// input is the topic of a source as its cluster describes it now.
type input struct {
	Topic
	cluster string // as in checkpoint.Partition
	there   bool
}

// inputs asks for the topics of all sources, each cluster once.
func (c Clusters) inputs(ctx context.Context, spec *Spec) ([]input, error) {
	out := make([]input, len(spec.Sources))
	for n := range c {
		var names []string
		for _, s := range spec.Sources {
			if s.Connection == n {
				names = append(names, s.Topic)
			}
		}
		if len(names) == 0 {
			continue
		}
		topics, err := c[n].Topics(ctx, names)
		if err == nil {
			err = c.fill(ctx, spec, n, topics, out)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fill notes the topics that a connection has shown.
func (c Clusters) fill(ctx context.Context, spec *Spec, connection int, topics map[string]Topic, out []input) error {
	id, err := c.elsewhere(ctx, connection)
	for i, s := range spec.Sources {
		if s.Connection == connection {
			t, ok := topics[s.Topic]
			out[i] = input{t, id, ok}
		}
	}
	return err
}

// separate refuses a pipeline that reads a topic twice, or one that it writes: which connections lead to one cluster is known
// only when there is contact.
func (c Clusters) separate(ctx context.Context, spec *Spec) error {
	type topic struct{ cluster, name string }
	read := map[topic]SourceSpec{}
	for _, s := range spec.Sources {
		id, err := c.elsewhere(ctx, s.Connection)
		if err != nil {
			return err
		}
		at := topic{id, s.Topic}
		if other, ok := read[at]; ok {
			return failure.New(failure.Usage, "a topic is read by one source; let the streams share it", nil,
				"sources at %s and %s read the same topic %s: their brokers are of one cluster", other.Place, s.Place, s.Topic)
		}
		read[at] = s
	}
	for _, s := range spec.Sinks {
		if source, ok := read[topic{"", s.Topic}]; ok {
			return failure.New(failure.Usage, "give one of them another topic", nil,
				"topic %s is written (%s) and read (%s): their brokers are of one cluster", s.Topic, s.Place, source.Place)
		}
	}
	return nil
}

// anchorage says where the marker of a checkpoint stands. The zero anchorage: at the positions of all sources.
type anchorage struct {
	elsewhere []bool   // by source: it is not on the cluster of the sinks; nil: none is
	sink      Position // partition 0 of the first exactly_once sink; without one there are no markers
}

// anchor finds out where markers stand, from the topics that the clusters have.
func (s *Spec) anchor(inputs []input, written map[string]Topic) (a anchorage) {
	if !slices.ContainsFunc(inputs, func(in input) bool { return in.cluster != "" }) {
		return a
	}
	for _, in := range inputs {
		a.elsewhere = append(a.elsewhere, in.cluster != "")
	}
	for _, sink := range s.Sinks {
		if sink.Deliver == ExactlyOnce {
			a.sink = Position{Source: -1, Topic: sink.Topic, TopicID: written[sink.Topic].ID}
			break
		}
	}
	return a
}

// at is where the marker of checkpoint n stands: at the positions of the sources on the sinks' cluster, since a broker takes no offsets
// of a topic that it does not have. If there are none, it stands at the sink, with n as the offset.
func (a anchorage) at(n int64, positions []Position) []Position {
	if a.elsewhere == nil {
		return positions
	}
	here := slices.DeleteFunc(slices.Clone(positions), func(p Position) bool { return a.elsewhere[p.Source] })
	if len(here) == 0 && a.sink.Topic != "" {
		at := a.sink
		at.Next = n
		here = append(here, at)
	}
	return here
}

// kept is what the state keeps of a marker at a sink; nil: it stands at positions of sources.
func (a anchorage) kept(parts []checkpoint.Partition) *checkpoint.Anchor {
	here := func(p checkpoint.Partition) bool { return p.Cluster == "" }
	if a.sink.Topic == "" || slices.ContainsFunc(parts, here) {
		return nil
	}
	return &checkpoint.Anchor{Topic: a.sink.Topic, TopicID: a.sink.TopicID}
}
