package dev

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// role is what the records of a topic are.
type role string

const (
	input   role = "input"
	result  role = "result"
	late    role = "late"
	refused role = "dead" // dead letters
)

// topic is a topic of the pipeline.
type topic struct {
	name string
	role role
	rule devkafka.Rule // of an input: how lines become records
}

// topics are those of a pipeline, in the order of the text, each once.
type topics []topic

// resolve finds the topics of a graph. Those that the environment names are asked of it.
func (o Options) resolve(g *planner.Graph, lookup func(string) (string, bool)) (topics, error) {
	var list topics
	for _, n := range g.Nodes {
		var t topic
		var err error
		switch op := n.Op.(type) {
		case *planner.Source:
			t.role = input
			t.name, err = text(op.Topic, lookup)
			t.rule = o.rule(t.name, op)
		case *planner.Sink:
			t.role = sinkRole(g, n)
			t.name, err = text(op.Topic, lookup)
		case *planner.DeadLetter:
			t.role = refused
			t.name, err = text(op.Topic, lookup)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(had topic) bool { return had.name == t.name }) {
			list = append(list, t)
		}
	}
	return list, nil
}

// Topic is a topic of a pipeline, for who runs it on sample data in another way.
type Topic struct {
	Name  string
	Role  string        // of its records: input, result, late or dead
	Input bool          // it is read
	Rule  devkafka.Rule // of an input: how lines become records
}

// Topics are the topics of a graph, in the order of the text, each once. key and time are those of Options; lookup is the
// environment, which may name topics.
func Topics(g *planner.Graph, key, time map[string]string, lookup func(string) (string, bool)) ([]Topic, error) {
	o := Options{Key: key, Time: time}
	list, err := o.resolve(g, lookup)
	if err == nil {
		err = o.fit(list)
	}
	var out []Topic
	for _, t := range list {
		out = append(out, Topic{t.name, string(t.role), t.role == input, t.rule})
	}
	return out, err
}

// fit says which of the fields for keys and times is of a topic that nobody reads.
func (o Options) fit(list topics) error {
	for _, flag := range []struct {
		name   string
		fields map[string]string
	}{{"--key", o.Key}, {"--time", o.Time}} {
		for _, topic := range slices.Sorted(maps.Keys(flag.fields)) {
			if _, ok := list.input(topic); !ok && topic != "" {
				return fmt.Errorf("%s is %s=%s, but no source reads a topic %s; there is %s",
					flag.name, topic, flag.fields[topic], topic, strings.Join(list.inputs(), ", "))
			}
		}
	}
	return nil
}

// TopicName is the topic that a setting of the .eo file names.
func TopicName(s planner.Setting, lookup func(string) (string, bool)) (string, error) {
	return text(s, lookup)
}

// sinkRole is late for a sink that gets nothing but late rows.
func sinkRole(g *planner.Graph, sink *planner.Node) role {
	for _, n := range g.Nodes {
		for _, e := range n.Out {
			if e.To == sink && e.Kind != planner.Late {
				return result
			}
		}
	}
	return late
}

// text is what a setting says.
func text(s planner.Setting, lookup func(string) (string, bool)) (string, error) {
	if s.Env == "" {
		return s.Text, nil
	}
	value, _ := lookup(s.Env)
	if value == "" && !s.HasDefault {
		return "", fmt.Errorf("the .eo file takes a topic from the environment variable %s, which is not set", s.Env)
	}
	name := cmp.Or(value, s.Text)
	if !dsl.LegalTopic(name) {
		return "", fmt.Errorf("the .eo file takes a topic from the environment variable %s, which is %q: %s", s.Env, name, dsl.TopicRule)
	}
	return name, nil
}

// rule is how lines become records of a source. A record gets its event time as Kafka timestamp, as it would have had when
// it was written, since one that is far ahead of that does not count as time that has passed (`skew`).
func (o Options) rule(topic string, source *planner.Source) devkafka.Rule {
	r := devkafka.Rule{Key: named(o.Key, topic), Time: named(o.Time, topic)}
	column, ok := source.Time.(*ir.Column)
	if ok && r.Time == "" {
		r.Time = column.Name
	}
	if at := source.Row.Index(r.Time); at >= 0 {
		r.Unit = unit(source.Row[at].Type.Unit)
	}
	return r
}

// named is the field that a flag names for a topic, "" for none.
func named(fields map[string]string, topic string) string {
	return cmp.Or(fields[topic], fields[""])
}

func unit(u ir.Unit) time.Duration {
	switch u {
	case ir.Seconds:
		return time.Second
	case ir.Micros:
		return time.Microsecond
	case ir.Nanos:
		return time.Nanosecond
	}
	return time.Millisecond
}

func (t topics) all() []string    { return t.names(func(role) bool { return true }) }
func (t topics) inputs() []string { return t.names(func(r role) bool { return r == input }) }
func (t topics) outputs() []string {
	return t.names(func(r role) bool { return r != input })
}

func (t topics) names(of func(role) bool) []string {
	var names []string
	for _, topic := range t {
		if of(topic.role) {
			names = append(names, topic.name)
		}
	}
	return names
}

// index is where the topic of that name stands, or -1.
func (t topics) index(name string) int {
	return slices.IndexFunc(t, func(had topic) bool { return had.name == name })
}

// input is the input of that name.
func (t topics) input(name string) (topic, bool) {
	i := t.index(name)
	if i < 0 || t[i].role != input {
		return topic{}, false
	}
	return t[i], true
}
