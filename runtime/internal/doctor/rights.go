package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
)

// groupRefused is in the answer to who may not use a group.
const groupRefused = "GROUP_AUTHORIZATION_FAILED"

// rights checks what the program may do, as far as the cluster tells: topics and groups show the operations (KIP-430), a transactional id
// is tried with a request that can change nothing.
func (x *exam) rights(ctx context.Context) {
	const name = "rights"
	if !x.needs(name) {
		return
	}
	before := len(x.report.Checks)
	for _, s := range x.Spec.Sources {
		x.may(s.Connection, s.Topic, "READ")
		if s.Start == engine.AtGroup && x.view == nil {
			x.maySee(ctx, s)
		}
	}
	var sinks []string
	for _, s := range x.Spec.Sinks {
		if !slices.Contains(sinks, s.Topic) {
			sinks = append(sinks, s.Topic)
			x.may(0, s.Topic, "WRITE")
		}
	}
	x.mayCreate(ctx)
	if topic := x.anchor(ctx); topic != "" {
		x.may(0, topic, "READ")
	}
	x.mayCommit(ctx)
	if len(x.report.Checks) == before {
		x.ok(name, "", "the program may read its sources, write its sinks and commit")
	}
}

// may checks an operation on a topic.
func (x *exam) may(connection int, topic, operation string) {
	t := x.details[connection][topic]
	switch {
	case t.Err != nil:
		x.unknown("rights", topic, "topic %s is not shown to the program", topic)
	case t.Partitions == 0:
		x.unknown("rights", topic, "topic %s does not exist yet", topic)
	case t.Rights == nil:
		x.unknown("rights", topic, "the cluster does not tell what the program may do with topic %s", topic)
	case !slices.Contains(t.Rights, operation):
		x.lacks(connection, kafka.Right{Operation: operation, Kind: "topic", Name: topic})
	}
}

// mayCreate checks what --create-topics needs.
func (x *exam) mayCreate(ctx context.Context) {
	const name = "rights"
	if !x.Settings.CreateTopics {
		return
	}
	for n, cluster := range x.clusters {
		var missing []string
		for _, topic := range x.Spec.Topics(n) {
			if t, ok := x.details[n][topic]; ok && t.Err == nil && t.Partitions == 0 {
				missing = append(missing, topic)
			}
		}
		if cluster == nil || missing == nil {
			continue
		}
		refused, err := cluster.MayCreate(ctx, missing)
		if err != nil {
			x.unknown(name, x.whose(n), "%v", err)
			continue
		}
		for _, topic := range missing {
			switch err := refused[topic]; {
			case err == nil:
			case strings.Contains(err.Error(), "AUTHORIZATION_FAILED"):
				x.lacks(n, kafka.Right{Operation: "CREATE", Kind: "topic", Name: topic})
			default:
				x.fail(name, topic, err)
			}
		}
	}
}

// maySee checks the group at whose offsets a source starts.
func (x *exam) maySee(ctx context.Context, s engine.SourceSpec) {
	cluster := x.clusters[s.Connection]
	if cluster == nil {
		return // it is said already that there is no contact
	}
	if _, err := cluster.GroupRights(ctx, s.StartGroup); err != nil {
		x.fail("rights", s.StartGroup, err)
	}
}

// anchor is the topic of the sink at which the marker stands, "" if it stands at positions of sources: offsets are committed by who may READ.
func (x *exam) anchor(ctx context.Context) string {
	for n, cluster := range x.clusters {
		if n > 0 && cluster == nil {
			return "" // where it is, is not known
		}
	}
	for _, s := range x.Spec.Sources {
		id, _ := x.clusters[s.Connection].ID(ctx) // it was learnt when contact was made
		if job, _ := x.cluster.ID(ctx); id == job {
			return ""
		}
	}
	for _, s := range x.Spec.Sinks {
		if s.Deliver == engine.ExactlyOnce {
			return s.Topic
		}
	}
	return ""
}

// mayCommit checks the group and the transactional ids.
func (x *exam) mayCommit(ctx context.Context) {
	const name = "rights"
	group := x.engine.Group()
	reads := kafka.Right{Operation: "READ", Kind: "group", Name: group}
	if len(x.engine.IDs()) == 0 {
		ops, err := x.cluster.GroupRights(ctx, group)
		switch {
		case err != nil && strings.Contains(err.Error(), groupRefused):
			x.showsNoLag(reads)
		case err != nil:
			x.fail(name, group, err)
		case ops == nil:
			x.unknown(name, group, "the cluster does not tell what the program may do with group %s before it is used", group)
		case !slices.Contains(ops, "READ"):
			x.showsNoLag(reads)
		}
		return
	}
	if !x.cluster.Coordinated(ctx, kafka.TxnsTopic) {
		x.unknown(name, "", "no transaction was ever made in this cluster, so the right to make one is not tried: it would make topic %s", kafka.TxnsTopic)
		return
	}
	for _, id := range x.engine.IDs() {
		err := x.cluster.MayCommit(ctx, id, group)
		switch {
		case err == nil:
		case failure.KindOf(err) != failure.Cluster:
			x.unknown(name, id, "%v", err)
		case strings.Contains(err.Error(), groupRefused):
			x.lacks(0, reads)
			return // the same for the other id
		default:
			x.lacks(0, kafka.Right{Operation: "WRITE", Kind: "transactional-id", Name: id})
		}
	}
}

// showsNoLag says what a pipeline without exactly_once sinks misses that may not commit offsets: nothing reads them.
func (x *exam) showsNoLag(r kafka.Right) {
	x.warn("rights", r.Name, x.kafka(0).Grant(r), "the program lacks %s: tools do not see how far it has read", r)
}

// lacks says that the program has not a right, with the command that grants it.
func (x *exam) lacks(connection int, r kafka.Right) {
	x.refuse("rights", r.Name, x.kafka(connection).Grant(r), "the program lacks %s", r)
}
