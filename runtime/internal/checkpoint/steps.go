package checkpoint

// Step is what a start does next. Each is answered by Done, unless it says otherwise.
type Step interface{ step() }

type (
	// Fence makes every producer that holds the id unable to go on, and aborts its open transaction.
	Fence struct{ ID string }
	// EndTxn commits the transaction of a dead process. Answered by Ended.
	EndTxn struct{ Committable Committable }
	// Describe asks the transaction coordinator for the state of an id. Answered by Described.
	Describe struct{ ID string }
	// Glance reads the marker that is committed now. It waits for none that a transaction still holds. Answered by MarkerIs.
	Glance struct{ Group string }
	// ReadMarker reads the marker of the group, with require_stable. Answered by MarkerIs.
	ReadMarker struct{ Group string }
	// ResolveStart finds the offsets at which a new pipeline begins. Answered by StartIs.
	ResolveStart struct{}
	// Save stores checkpoint 0. It replaces all that the store held.
	Save struct{ Checkpoint *Checkpoint }
	// Adopt stores the program's transactional ids as those of the newest checkpoint.
	Adopt struct{ IDs []string }
	// OpenSink opens the sink: when it is done, every id is taken by this process. Without exactly-once there are none.
	OpenSink struct {
		IDs         []string
		Group       string
		Incarnation ID
	}
	// Mark commits a transaction of the open sink that holds nothing but the marker of the checkpoint: its
	// number and positions.
	Mark struct{ Checkpoint *Checkpoint }
	// Drop takes the store back from the checkpoint to the one before.
	Drop struct{ Number int64 }
	// Run ends the start: restore the state of From, read on at its positions; From.Next() is the first checkpoint to make.
	// From.Ended says that there is nothing left to do.
	Run struct{ From *Checkpoint }
	// Refuse ends the start with an error that says what to do.
	Refuse struct{ Err error }
)

// Confirm stores that the transaction of the checkpoint is committed. It is a Step and an Action.
type Confirm struct{ Number int64 }

func (Fence) step()        {}
func (EndTxn) step()       {}
func (Describe) step()     {}
func (Glance) step()       {}
func (ReadMarker) step()   {}
func (ResolveStart) step() {}
func (Save) step()         {}
func (Adopt) step()        {}
func (OpenSink) step()     {}
func (Mark) step()         {}
func (Drop) step()         {}
func (Run) step()          {}
func (Refuse) step()       {}
func (Confirm) step()      {}

// Answer is what came of a Step.
type Answer interface{ answer() }

type (
	// Done answers a step without a result.
	Done struct{}
	// Ended answers EndTxn.
	Ended struct{ Outcome Outcome }
	// Described answers Describe.
	Described struct{ State TxnState }
	// MarkerIs answers Glance and ReadMarker. Nil: the group has none.
	MarkerIs struct{ Marker *Marker }
	// StartIs answers ResolveStart, sorted by source, then partition.
	StartIs struct{ Partitions []Partition }
)

func (Done) answer()      {}
func (Ended) answer()     {}
func (Described) answer() {}
func (MarkerIs) answer()  {}
func (StartIs) answer()   {}
