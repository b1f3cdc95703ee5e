package runtime

import "github.com/eoc-lang/eoc/runtime/internal/failure"

// Kind says what an error of Run is about. Its number is the exit code of a program that `eoc build` makes.
type Kind = failure.Kind

// The kinds of errors.
const (
	KindInternal Kind = failure.Internal // a bug of eoc: please report the log
	KindUsage    Kind = failure.Usage    // the Config or an environment variable is wrong
	KindRecord   Kind = failure.Record   // a bad record or result, under `on_error fail`
	KindFenced   Kind = failure.Fenced   // another copy owns the pipeline or its state directory
	KindState    Kind = failure.State    // the state is refused: damaged, too old, or of another pipeline
	KindDisk     Kind = failure.Disk     // the disk is full or fails, or the state directory cannot be used
	KindCluster  Kind = failure.Cluster  // the cluster is not as needed: topic missing, limit too low, no rights, no trust
	KindLost     Kind = failure.Lost     // input is gone before it was read
	KindUnknown  Kind = failure.Unknown  // whether a transaction was committed cannot be known
	KindDeadline Kind = failure.Deadline // stopped without a last checkpoint; the next start goes on from the one before
	KindMemory   Kind = failure.Memory   // the state does not fit into memory; with more of it, the next start goes on from the last checkpoint
)

// KindOf is the kind of an error of Run, also of one that wraps it. That of nil is 0, that of any other error KindInternal.
func KindOf(err error) Kind {
	if err == nil {
		return 0
	}
	return max(failure.KindOf(err), failure.Internal) // what could be tried again never ends a run
}
