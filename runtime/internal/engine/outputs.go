package engine

import (
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// outputsAre compares the topics of the exactly-once sinks with what the process has known them as. A client does not mind what stands behind a name:
// it would write the rest of a transaction to a topic that was made again, and commit it, though the beginning is gone. A broker with old metadata may
// name an id or a number of partitions that are no more: so another id is in doubt until two looks in a row have it.
func (e *Engine) outputsAre(now map[string]Topic) (doubt bool, err error) {
	others := map[string]checkpoint.ID{}
	for _, name := range e.Spec.Outputs() {
		topic, there := now[name]
		if !there {
			continue // for the caller: a broker that comes up may not know it yet
		}
		was, known := e.outputs[name]
		if known && was.ID != topic.ID {
			if before, seen := e.others[name]; !seen || before != topic.ID {
				others[name] = topic.ID
				continue
			}
			return false, failure.New(failure.Cluster, "start the program again to go on with the new one"+outputAnew, nil,
				"topic %s of a sink was deleted and made again while the program ran: its id is %s, it was %s; what was written to it before is gone", name, topic.ID, was.ID)
		}
		if known {
			e.grownOutput(name, was.Partitions, topic.Partitions)
			topic.Partitions = max(was.Partitions, topic.Partitions)
		}
		if e.outputs == nil {
			e.outputs = map[string]Topic{}
		}
		e.outputs[name] = topic
	}
	e.others = others
	return len(others) > 0, nil
}

const outputAnew = "; to have all results once more, make the topics of all sinks anew and start it once with --fresh"

// grownOutput warns of a topic that has more partitions than it had.
func (e *Engine) grownOutput(topic string, was, now int32) {
	if now > was {
		e.Options.Log.Warn("the topic of a sink has more partitions now: a key may go to another one from here on, where its results do not stand behind its earlier ones",
			"topic", topic, "partitions", now, "before", was)
	}
}

// otherOutput warns of a topic that is not, or has more partitions than, what the account of the state knows.
func (e *Engine) otherOutput(a *checkpoint.Account, name string, topic Topic) {
	var id checkpoint.ID // of the one that was known last
	var partitions int32
	records := int64(0)
	for _, o := range a.Outputs {
		if o.Topic != name {
			continue
		}
		if o.TopicID != id {
			id, partitions, records = o.TopicID, 0, 0
		}
		partitions = max(partitions, o.Partition+1)
		records += o.Records
	}
	switch {
	case partitions == 0: // a sink that is new
	case id == topic.ID:
		e.grownOutput(name, partitions, topic.Partitions)
	default:
		e.Options.Log.Warn("the topic of a sink was deleted and made again: what was written to it before is gone, and the new one gets what comes from here on"+outputAnew,
			"topic", name, "records", records, "id", topic.ID.String(), "before", id.String())
	}
}

// missed counts the looks in a row that miss a topic of an exactly-once sink, and is an error when it is gone.
func (w *outputWatch) missed(now map[string]Topic) error {
	for _, name := range w.Spec.Outputs() {
		if _, there := now[name]; there {
			continue
		}
		if w.missing++; w.missing == goneAfter {
			return MissingTopics(w.clusters.job().Address(), name)
		}
		return nil
	}
	w.missing = 0
	return nil
}
