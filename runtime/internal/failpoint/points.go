// Package failpoint names the points at which a test kills the program, and says of each
// what is durable when it is reached. It is a leaf.
//
// A build with the tag eo_failpoints reads EO_FAILPOINT=point:n[,point:n…] and kills itself with SIGKILL when it
// passes the point for the n-th time; with point:n:stop it stops there with SIGSTOP, until it is woken up with SIGCONT.
// In every other build Hit is empty and inlined away.
package failpoint

// Env is the environment variable that arms points: `before-store:1`, `before-store:1:stop`, or several with commas.
const Env = "EO_FAILPOINT"

// Point is the name of a crash point.
type Point string

// A checkpoint, number N, in the order of its steps. Kafka forgets the open transaction T_N unless the point says that
// checkpoint N is durable: only then does a start commit it.
const (
	// BeforeBarrier: the coordinator is about to start checkpoint N. Durable: checkpoint N-1, confirmed. Not durable: everything since.
	BeforeBarrier Point = "before-barrier"
	// AfterSourceSnapshot: a source task has noted its positions and has not passed the barrier on. Durable: checkpoint N-1.
	AfterSourceSnapshot Point = "after-source-snapshot"
	// AfterOperatorSnapshot: a task has handed over its changed state, in memory. Durable: checkpoint N-1.
	AfterOperatorSnapshot Point = "after-operator-snapshot"
	// BeforeMarker: all records of T_N were handed to the client, its marker was not. Durable: checkpoint N-1; some
	// records of T_N lie on the broker in an open transaction.
	BeforeMarker Point = "before-marker"
	// AfterMarker: the broker has acknowledged the marker of T_N, perhaps not all records. Durable: checkpoint N-1; the marker is pending.
	AfterMarker Point = "after-marker"
	// AfterFlush: T_N is prepared, every record and the marker acknowledged, and only this process knows. Durable: checkpoint N-1.
	AfterFlush Point = "after-flush"
	// BeforeStore: checkpoint N is complete in memory with its committable. Durable: checkpoint N-1; T_N will be aborted.
	BeforeStore Point = "before-store"
	// InsideStore: the values of checkpoint N are in the open bbolt tx, no page of it is written. Durable: checkpoint N-1.
	InsideStore Point = "inside-store"
	// AfterStore: the bbolt tx of checkpoint N is synced, nobody has been told. Durable: checkpoint N, not confirmed.
	AfterStore Point = "after-store"
	// BeforeEndTxn: EndTxn of T_N is about to be sent. Durable: checkpoint N, not confirmed; T_N is open.
	BeforeEndTxn Point = "before-end-txn"
	// AfterEndTxnSent: EndTxn of T_N is on its way and its answer is lost. Durable: checkpoint N, not confirmed; T_N is open or committed.
	AfterEndTxnSent Point = "after-end-txn-sent"
	// AfterEndTxn: the broker has answered EndTxn. Durable: checkpoint N, not confirmed; T_N is committed.
	AfterEndTxn Point = "after-end-txn"
	// BeforeConfirm: the coordinator is about to record that T_N is committed. Durable: checkpoint N, not confirmed; T_N is committed.
	BeforeConfirm Point = "before-confirm"
	// AfterConfirm: the confirmation is synced. Durable: checkpoint N, confirmed; what only N-1 needed may be gone.
	AfterConfirm Point = "after-confirm"
)

// A start, in the order of its steps. N is the newest checkpoint on disk.
const (
	// StartupAfterCheckpoint0: a new state holds checkpoint 0. Durable: the start offsets, not confirmed; the group has no marker.
	StartupAfterCheckpoint0 Point = "startup-after-checkpoint-0"
	// StartupBeforeFence: a transactional id is about to be fenced. Durable: checkpoint N; transactions may be open.
	StartupBeforeFence Point = "startup-before-fence"
	// StartupAfterFence: an id was fenced. Durable: checkpoint N; the id's open transaction is aborted.
	StartupAfterFence Point = "startup-after-fence"
	// StartupBeforeEndTxn: the unconfirmed committable of N is about to be committed. Durable: checkpoint N; T_N is open, committed or aborted.
	StartupBeforeEndTxn Point = "startup-before-end-txn"
	// StartupAfterEndTxn: the broker has answered, the id is not fenced. Durable: checkpoint N, not confirmed; T_N is committed or aborted.
	StartupAfterEndTxn Point = "startup-after-end-txn"
	// StartupBeforeMarkerRead: every id is fenced, so T_N is committed or aborted for good. Durable: checkpoint N, not confirmed.
	StartupBeforeMarkerRead Point = "startup-before-marker-read"
	// StartupBeforeDrop: T_N was found aborted. Durable: checkpoints N-1 and N.
	StartupBeforeDrop Point = "startup-before-drop"
	// StartupAfterDrop: checkpoint N is gone. Durable: checkpoint N-1, confirmed.
	StartupAfterDrop Point = "startup-after-drop"
	// StartupBeforeConfirm: T_N was found committed. Durable: checkpoint N, not confirmed.
	StartupBeforeConfirm Point = "startup-before-confirm"
	// StartupAfterConfirm: that is recorded. Durable: checkpoint N, confirmed.
	StartupAfterConfirm Point = "startup-after-confirm"
	// StartupBeforeMarker0: all ids are taken and the marker of checkpoint 0 is about to be written. Durable: checkpoint 0, not confirmed.
	StartupBeforeMarker0 Point = "startup-before-marker-0"
	// StartupAfterMarker0: the marker of checkpoint 0 is committed. Durable: checkpoint 0, not confirmed.
	StartupAfterMarker0 Point = "startup-after-marker-0"
	// DuringRestore: a worker has taken one piece of state. Durable: checkpoint N, confirmed; restoring writes nothing.
	DuringRestore Point = "during-restore"
)

// All is every point, in the order of the steps: what the crash matrix runs.
func All() []Point {
	return []Point{
		BeforeBarrier, AfterSourceSnapshot, AfterOperatorSnapshot, BeforeMarker, AfterMarker, AfterFlush,
		BeforeStore, InsideStore, AfterStore, BeforeEndTxn, AfterEndTxnSent, AfterEndTxn, BeforeConfirm, AfterConfirm,
		StartupAfterCheckpoint0, StartupBeforeFence, StartupAfterFence, StartupBeforeEndTxn, StartupAfterEndTxn,
		StartupBeforeMarkerRead, StartupBeforeDrop, StartupAfterDrop, StartupBeforeConfirm, StartupAfterConfirm,
		StartupBeforeMarker0, StartupAfterMarker0, DuringRestore,
	}
}
