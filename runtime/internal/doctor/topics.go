package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/inspect"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// topics checks each topic: sources first, then sinks, as declared.
func (x *exam) topics(ctx context.Context) {
	if !x.needs("topics") {
		return
	}
	for n, cluster := range x.clusters {
		if cluster == nil {
			x.unknown("topics", x.whose(n), "there is no contact to the cluster of %s", x.whose(n))
			continue
		}
		var err error
		if x.details[n], err = cluster.Details(ctx, x.Spec.Topics(n)); err != nil {
			x.fail("topics", x.whose(n), err)
			if n == 0 {
				return
			}
		}
	}
	for _, s := range x.Spec.Sources {
		if x.details[s.Connection] == nil {
			continue
		}
		if t, ok := x.topic(s.Connection, x.of(s), s.Topic, "source "+s.Name); ok {
			x.source(s, t)
		}
	}
	for _, s := range x.Spec.Sinks {
		if t, ok := x.topic(0, x.details[0][s.Topic], s.Topic, "sink "+s.Name); ok {
			x.sink(s, t)
		}
	}
}

// topic checks what holds for every topic. It says whether there is more to check.
func (x *exam) topic(connection int, t kafka.TopicDetails, name, use string) (kafka.TopicDetails, bool) {
	switch {
	case t.Err != nil:
		x.fail("topics", name, t.Err)
		return t, false
	case t.Partitions == 0 && x.Settings.CreateTopics:
		x.ok("topics", name, "%s does not exist: --create-topics makes it (%s)", name, use)
		return t, false
	case t.Partitions == 0:
		x.fail("topics", name, engine.MissingTopics(x.Settings.Reach(connection).Brokers[0], name))
		return t, false
	}
	settings := "its settings are not shown"
	if t.Settings != nil {
		settings = "cleanup.policy=" + t.Settings["cleanup.policy"] + " min.insync.replicas=" + t.Settings["min.insync.replicas"] + " retention.ms=" + t.Settings["retention.ms"]
	}
	x.ok("topics", name, "%s: %s, %s, %s (%s)", name, words.Many(t.Partitions, "partition"), words.Many(t.Replicas, "replica"), settings, use)
	if len(t.Leaderless) > 0 {
		x.refuse("topics", name, "bring the brokers of these partitions up", "%s has partitions without a leader: %s", name, list(t.Leaderless))
	}
	return t, true
}

// source checks a topic that is read.
func (x *exam) source(s engine.SourceSpec, t kafka.TopicDetails) {
	if compacted(t) {
		x.warn("topics", s.Topic, "if results are to depend on every record, take cleanup.policy=delete",
			"%s is compacted: a record that a later one of its key replaces may be gone before it is read", s.Topic)
	}
	if unclean(t) {
		x.warn("topics", s.Topic, turnClean(x.Settings.Reach(s.Connection).Brokers[0], s.Topic),
			"%s has unclean.leader.election.enable=true: a broker that has missed records may become leader, and what was read may be gone or others in its place", s.Topic)
	}
}

func unclean(t kafka.TopicDetails) bool {
	return t.Settings["unclean.leader.election.enable"] == "true"
}

func turnClean(address, topic string) string {
	return "kafka-configs.sh --bootstrap-server " + address + " --alter --entity-type topics --entity-name " + topic + " --add-config unclean.leader.election.enable=false"
}

// sink checks a topic that is written.
func (x *exam) sink(s engine.SinkSpec, t kafka.TopicDetails) {
	const name = "topics"
	least, known := t.Settings.Int("min.insync.replicas")
	switch {
	case known && int64(t.Replicas) < least:
		x.refuse(name, s.Topic, fmt.Sprintf("set min.insync.replicas to at most %d, or give the topic more replicas with kafka-reassign-partitions.sh", t.Replicas),
			"%s cannot be written: it has %s, and min.insync.replicas is %d", s.Topic, words.Many(t.Replicas, "replica"), least)
	case known && int64(t.InSync) < least:
		x.refuse(name, s.Topic, "bring the brokers up that hold its replicas", "%s cannot be written now: %s in sync, and min.insync.replicas is %d", s.Topic, words.Many(t.InSync, "replica"), least)
	case t.Replicas == 1:
		x.warn(name, s.Topic, "for production take 3 replicas and min.insync.replicas=2", "%s has one replica: its results are lost with that broker's disk", s.Topic)
	case known && least == 1:
		x.warn(name, s.Topic, "set min.insync.replicas=2", "%s has min.insync.replicas=1: a result that was acknowledged is lost if the only broker that has it fails", s.Topic)
	}
	if unclean(t) {
		x.warn(name, s.Topic, turnClean(x.Settings.Reach(0).Brokers[0], s.Topic),
			"%s has unclean.leader.election.enable=true: a broker that has missed results may become leader; then committed results are gone, and end markers of transactions, for which readers wait for ever", s.Topic)
	}
	switch deadLetters := x.deadLetters(s); {
	case compacted(t) && deadLetters:
		x.refuse(name, s.Topic, "set cleanup.policy=delete", "%s takes dead letters, which may have no key, and is compacted: brokers refuse records without a key there", s.Topic)
	case compacted(t):
		x.warn(name, s.Topic, "each sink to it needs a `key`, or take cleanup.policy=delete", "%s is compacted: brokers refuse records without a key, and keep only the last result of each", s.Topic)
	}
	x.largest(s, t)
}

// largest compares what a sink takes with what its input can be.
func (x *exam) largest(s engine.SinkSpec, t kafka.TopicDetails) {
	limit, ok := t.Settings.Int("max.message.bytes")
	if !ok || !x.deadLetters(s) {
		return
	}
	for _, source := range x.Spec.Sources {
		if of, ok := x.of(source).Settings.Int("max.message.bytes"); ok && of > limit {
			x.warn("topics", s.Topic, fmt.Sprintf("set max.message.bytes of %s to more than %d: a dead letter has headers besides", s.Topic, of),
				"%s takes batches of %s, %s has records of up to %s: a dead letter that is too large ends the program", s.Topic, inspect.Size(limit), source.Topic, inspect.Size(of))
		}
	}
}

// deadLetters says whether a sink is a dead-letter topic: it is declared by a source, at its place.
func (x *exam) deadLetters(s engine.SinkSpec) bool {
	return slices.ContainsFunc(x.Spec.Sources, func(src engine.SourceSpec) bool { return src.Place == s.Place })
}

func compacted(t kafka.TopicDetails) bool {
	return strings.Contains(t.Settings["cleanup.policy"], "compact")
}

func list(ids []int32) string {
	var out []string
	for _, id := range ids {
		out = append(out, fmt.Sprint(id))
	}
	return strings.Join(out, ", ")
}
