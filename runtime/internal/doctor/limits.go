package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// restWarning is the part of offsets.retention.minutes behind which a pipeline that rests is near its end.
const restWarning = 0.5

// limits checks settings of the brokers.
func (x *exam) limits(ctx context.Context) {
	if x.needs("txn-timeout") {
		var err error
		if x.brokers, err = x.cluster.BrokerSettings(ctx); err != nil {
			x.brokers = nil
		}
		x.txnTimeout(ctx)
	}
	if x.needs("offsets-retention") {
		x.rest()
		x.forgets()
	}
}

func (x *exam) txnTimeout(ctx context.Context) {
	const name = "txn-timeout"
	if len(x.engine.IDs()) == 0 {
		x.ok(name, "", "no sink is exactly_once: there are no transactions")
		return
	}
	if err := x.cluster.CheckTxnTimeout(ctx, x.Spec.TxnTimeout); err != nil {
		x.fail(name, "", err)
		return
	}
	greatest, ok := x.brokers.Millis("transaction.max.timeout.ms")
	if !ok {
		x.unknown(name, "", "the brokers do not show transaction.max.timeout.ms; txn_timeout is %v", x.Spec.TxnTimeout)
		return
	}
	x.ok(name, "", "txn_timeout is %v, transaction.max.timeout.ms is %v", x.Spec.TxnTimeout, greatest)
}

// rests is how long the pipeline has been stopped, as far as the state tells.
func (x *exam) rests() time.Duration {
	if x.view == nil || x.view.Newest == nil || x.running() {
		return 0
	}
	return time.Since(x.view.Written)
}

// leastIDs is how long brokers have to remember the id of a transaction that has ended: a pipeline that has nothing to do uses each of its two ids
// once in two quiet checkpoints.
const leastIDs = 4 * engine.QuietCheckpoint

// forgets compares that with what the brokers are set to. A program that was stopped for longer has to do without what the coordinator knows of the ids.
func (x *exam) forgets() {
	const name, subject = "offsets-retention", "transactional.id.expiration.ms"
	if len(x.engine.IDs()) == 0 {
		return
	}
	keep, ok := x.brokers.Millis(subject)
	rests := x.rests()
	switch {
	case !ok:
		x.unknown(name, subject, "transactional.id.expiration.ms is not shown: brokers know an id so long that is not used, 7 days by default")
	case keep < leastIDs:
		x.warn(name, subject, fmt.Sprintf("set it to more than %d, better to the default of 604800000", leastIDs.Milliseconds()),
			"transactional.id.expiration.ms is %s: a program that has nothing to do for a while loses its ids, and starts again each time", age(keep))
	case rests > keep && x.view != nil && !x.view.Confirmed:
		x.warn(name, subject, "start it while the marker is there",
			"transactional.id.expiration.ms is %s, and the state was last written %s ago with a checkpoint that is not confirmed: the brokers have forgotten its transaction, and the marker alone says whether it was committed", age(keep), age(rests))
	default:
		x.ok(name, subject, "transactional.id.expiration.ms is %s: so long brokers know the ids; behind that the marker alone decides", age(keep))
	}
}

// rest says how long the pipeline may be stopped: the brokers delete the marker of a group that nobody commits to.
func (x *exam) rest() {
	const name = "offsets-retention"
	minutes, ok := x.brokers.Int("offsets.retention.minutes")
	if !ok {
		x.unknown(name, "", "the brokers do not show offsets.retention.minutes: a pipeline may rest that long, 7 days by default")
		return
	}
	keep := time.Duration(minutes) * time.Minute
	rests := x.rests()
	const help = "start it before then; a start after it is refused with code 9, and --accept-loss says that no other copy has run in between"
	switch {
	case rests > keep:
		x.warn(name, "", help, "the state was last written %s ago, and offsets.retention.minutes is %s: the marker may be gone", age(rests), age(keep))
	case float64(rests) > restWarning*float64(keep):
		x.warn(name, "", help, "the state was last written %s ago: the marker is deleted in about %s (offsets.retention.minutes is %s)", age(rests), age(keep-rests), age(keep))
	default:
		x.ok(name, "", "the pipeline may be stopped for %s (offsets.retention.minutes)", age(keep))
	}
}
