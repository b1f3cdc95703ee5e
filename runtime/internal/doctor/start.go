package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// group checks what the cluster keeps of the pipeline: the marker and the transactional ids.
func (x *exam) group(ctx context.Context) {
	if x.needs("group") {
		x.marker(ctx)
	}
	if x.needs("transactional-ids") {
		x.transactionalIDs(ctx)
	}
	x.openTransactions(ctx)
}

func (x *exam) marker(ctx context.Context) {
	const name = "group"
	group := x.engine.Group()
	if x.view != nil && x.view.Newest != nil && !x.Settings.Fresh {
		group = x.view.Newest.Group // a state keeps its own
	}
	if !x.cluster.Coordinated(ctx, kafka.GroupsTopic) {
		x.ok(name, "", "no group was ever used in this cluster, so there is no marker")
		return
	}
	m, pending, err := x.cluster.Beside(x.engine.IDs()).Look(ctx, group)
	switch {
	case err != nil && len(x.engine.IDs()) == 0 && strings.Contains(err.Error(), groupRefused):
		x.unknown(name, "", "the program may not read consumer group %s, and needs no marker: no sink is exactly_once", group)
	case err != nil && failure.KindOf(err) == failure.Transient:
		x.warn(name, "", "wait for the transaction to end, or start the program, which ends its own", "the marker of consumer group %s cannot be read: %v", group, err)
	case err != nil:
		x.fail(name, "", err)
	case pending && m == nil:
		x.ok(name, "", "consumer group %s has no marker yet, but a transaction of the pipeline that writes one is open", group)
	case pending:
		x.ok(name, "", "consumer group %s holds the marker of checkpoint %d, incarnation %s; a transaction of the pipeline that writes the next one is open", group, m.Checkpoint, m.Incarnation)
	case m == nil && len(x.engine.IDs()) == 0:
		x.ok(name, "", "no sink is exactly_once: there is no marker in consumer group %s, and none is needed", group)
	case m == nil:
		x.ok(name, "", "consumer group %s has no marker: nothing was ever committed, or it has expired", group)
	default:
		x.ok(name, "", "consumer group %s holds the marker of checkpoint %d, %s, of pipeline %s, incarnation %s", group, m.Checkpoint, words.Many(m.Records, "record"), m.Pipeline, m.Incarnation)
	}
}

func (x *exam) transactionalIDs(ctx context.Context) {
	const name = "transactional-ids"
	ids := x.engine.IDs()
	if len(ids) == 0 {
		x.ok(name, "", "no sink is exactly_once: there are none")
		return
	}
	if !x.cluster.Coordinated(ctx, kafka.TxnsTopic) {
		x.ok(name, "", "no transaction was ever made in this cluster")
		return
	}
	found, err := x.cluster.Transactions(ctx, ids)
	if err != nil {
		x.unknown(name, "", "%v", err)
		return
	}
	for _, id := range ids {
		t := found[id]
		since := time.Since(t.Since)
		switch {
		case t.State == "":
			x.ok(name, id, "%s was never used, or has expired", id)
		case t.Since.IsZero():
			x.ok(name, id, "%s: %s, producer %d, epoch %d", id, t.State, t.Producer, t.Epoch)
		case since > t.Timeout:
			x.warn(name, id, "the broker should have aborted it: look with `kafka-transactions.sh find-hanging`", "%s hangs: its transaction is open for %s, its timeout is %v", id, age(since), t.Timeout)
		case x.running():
			x.ok(name, id, "%s: its transaction is open for %s, producer %d, epoch %d", id, age(since), t.Producer, t.Epoch)
		default:
			x.warn(name, id, "a start ends it; without one the broker does so in "+age(t.Timeout-since), "%s: its transaction is open for %s, and readers of committed records wait for it", id, age(since))
		}
	}
}

// start says what a start would do now.
func (x *exam) start(ctx context.Context) {
	const name = "start"
	defer x.endless()
	switch {
	case !x.needsAll(name):
		return
	case x.running():
		x.ok(name, "", "the pipeline runs, so nobody else can start it with this directory")
		return
	case !x.stored || x.unfit:
		x.unknown(name, "", "the state cannot be used")
		return
	}
	for n := range x.clusters {
		for _, topic := range x.Spec.Topics(n) {
			if t := x.details[n][topic]; t.Partitions == 0 && (t.Err != nil || !x.Settings.CreateTopics || x.view != nil && x.view.Newest != nil) {
				x.unknown(name, "", "topic %s is not there", topic)
				return
			}
		}
	}
	if x.absentSource() {
		x.ok(name, "", "it makes the topics that are missing and begins a new state%s", engine.Ending(x.Settings.Until))
		return
	}
	x.foresee(ctx)
}

// endless warns of --until for a state whose run has no end, as a start does.
func (x *exam) endless() {
	if !x.Settings.Until.Bounded() || x.begins() || x.unfit || x.view.Newest.Ended {
		return
	}
	if !slices.ContainsFunc(x.view.Newest.Partitions, func(p checkpoint.Partition) bool { return p.Bound >= 0 }) {
		x.warn("start", "--until", "leave it out; for a run that ends take another --name and --state, or begin anew with --fresh", "%s", engine.Endless)
	}
}

// absentSource says whether a source's topic has still to be made.
func (x *exam) absentSource() bool {
	for _, s := range x.Spec.Sources {
		if x.of(s).Partitions == 0 {
			return true
		}
	}
	return false
}

func (x *exam) foresee(ctx context.Context) {
	const name = "start"
	var stored engine.Stored
	if x.view != nil {
		stored = engine.Stored{Newest: x.view.Newest, Before: x.view.Before, Confirmed: x.view.Confirmed}
	}
	var clusters engine.Clusters
	for _, c := range x.clusters {
		clusters = append(clusters, c)
	}
	clusters[0] = x.cluster.Beside(x.engine.IDs())
	if !x.cluster.Coordinated(ctx, kafka.GroupsTopic) {
		clusters[0] = x.cluster.Groupless()
	}
	out, err := x.engine.Foresee(ctx, clusters, stored)
	if moved := x.moved(); moved {
		x.ok(name, "", "the state directory is being written, so the pipeline runs elsewhere, and nobody else can start it with this directory")
		return
	}
	switch {
	case err != nil && failure.KindOf(err) == failure.Transient:
		x.unknown(name, "", "%v", err)
	case err != nil:
		x.fail(name, "", err)
	case out.Refused != nil:
		x.fail(name, "", out.Refused)
	default:
		x.ok(name, "", "%s", out.Would)
		x.outlook = &out
	}
}

// moved says whether the state has changed since it was looked at: a program in another container is not seen otherwise.
func (x *exam) moved() bool {
	if x.place == nil {
		return false
	}
	now, err := state.Look(x.place.Dir)
	if err != nil {
		return !x.damaged
	}
	if (now == nil) != (x.view == nil) {
		return true
	}
	if now == nil || now.Newest == nil || x.view.Newest == nil {
		return false
	}
	return now.Newest.Number != x.view.Newest.Number || now.Confirmed != x.view.Confirmed
}
