package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// openTransactions looks for partitions that readers of committed records cannot read to their end: those of sources, which the program would wait for, and
// those of sinks, whose consumers wait.
func (x *exam) openTransactions(ctx context.Context) {
	const name = "open-transactions"
	if !x.needsAll(name) {
		return
	}
	before := len(x.report.Checks)
	asked := 0
	for n, cluster := range x.clusters {
		for _, topic := range x.Spec.Topics(n) {
			t := x.details[n][topic]
			if t.Partitions == 0 || len(t.Leaderless) > 0 {
				continue
			}
			ids := make([]int32, t.Partitions)
			for i := range ids {
				ids[i] = int32(i)
			}
			all, err := engine.BehindIn(ctx, cluster, topic, ids)
			if err == nil {
				all, err = engine.HeldBack(ctx, cluster, all, engine.Hold.Ended)
			}
			if err != nil {
				x.unknown(name, topic, "%v", err)
				continue
			}
			asked++
			for _, h := range all {
				x.held(n, h)
			}
		}
	}
	switch {
	case len(x.report.Checks) > before:
	case asked == 0:
		x.unknown(name, "", "there are no topics yet")
	default:
		x.ok(name, "", "none holds readers of committed records back")
	}
}

// held says what holds a partition, and how it ends.
func (x *exam) held(connection int, held engine.Held) {
	const name = "open-transactions"
	subject := fmt.Sprintf("%s/%d", held.Topic, held.Partition)
	if held.Denied != nil {
		x.unknown(name, subject, "readers of committed records stop at offset %d, with %s behind it, and the cluster does not tell what holds them: %v", held.Stable, words.Many(held.End-held.Stable, "offset"), held.Denied)
		return
	}
	if len(held.Holds) == 0 {
		return // it has ended
	}
	h := held.Holds[0]
	own := connection == 0 && (h.Owner != nil && slices.Contains(x.engine.IDs(), h.Owner.ID) || slices.Contains(x.own(), h.Producer))
	text := fmt.Sprintf("%s: readers of committed records stop at offset %d, with %s behind it: a transaction is open (%v)", subject, h.First, words.Many(held.End-h.First, "offset"), h)
	abort := fmt.Sprintf("kafka-transactions.sh --bootstrap-server %s abort --topic %s --partition %d --start-offset %d", x.Settings.Reach(connection).Brokers[0], held.Topic, held.Partition, h.First)
	switch {
	case h.Untold != nil:
		x.unknown(name, subject, "%s, so whether it ends is not known either", text)
	case h.Hangs() && own:
		x.warn(name, subject, engine.RepairHelp, "%s and nothing will end it. It is the pipeline's own: a broker has lost its end marker", text)
	case h.Hangs():
		x.warn(name, subject, "if its producer is gone for good: `"+abort+"`", "%s and nothing is known that will end it", text)
	case own && x.running():
		x.ok(name, subject, "%s: the running pipeline's, which ends with its next checkpoint", subject)
	case own:
		x.warn(name, subject, "a start ends it; without one the broker does so in "+age(max(0, h.Owner.Timeout-time.Since(h.Owner.Since))), "%s", text)
	default:
		x.ok(name, subject, "%s, which its coordinator ends", text)
	}
}

// own are the producer ids that the pipeline has used, as far as the state has them.
func (x *exam) own() []int64 {
	var ids []int64
	if x.view != nil && x.view.Newest != nil {
		if a := x.view.Newest.Account; a != nil {
			for _, p := range a.Producers {
				ids = append(ids, p.ID)
			}
		}
		if c := x.view.Newest.Committable; c.TransactionalID != "" {
			ids = append(ids, c.ProducerID)
		}
	}
	return ids
}
