// Package engine runs a pipeline: tasks, exchange, watermarks, barriers, the sink writer and the
// coordinator's actions. It knows operators only as Workers, Kafka only as a
// Cluster and the disk only as a Store.
package engine

import (
	"context"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// Worker is one task's copy of the operators, typed and generated; package runtime adapts it.
// It belongs to one goroutine.
type Worker interface {
	// Process takes records of one partition from decode as far as the exchange, or if this worker is
	// alone, into its windows. It moves p.Watermark on and counts. Records are valid until it returns.
	// The error is a record error under `on_error fail`, of kind failure.Record.
	Process(p *Partition, records []record.Record) error
	// Accept folds rows that came through the exchange of operator op, and gives them back to their sender's pool.
	// The error is a bug: a row whose window is closed here.
	Accept(op int, rows Rows) error
	// Advance tells operator op that W stands at w: it closes and sends the windows that w has passed, and
	// says how many they were. w never goes back.
	Advance(op int, w int64) (closed int, err error)
	// Flush hands all slabs that hold records to Outlet.Slab, and all rows that wait to Outlet.Rows.
	Flush()
	// Snapshot hands over the state that changed since the last call, one delta for each operator and key
	// group with changes. They are valid until the next Snapshot: there is one checkpoint on its way at a time, and
	// it is stored by then.
	Snapshot() []checkpoint.Delta
	// Restore applies a delta of a group that this worker owns, oldest first. Advance to the checkpoint's W comes
	// before: what it has closed is skipped.
	Restore(d checkpoint.Delta) error
	// Counts appends what was counted since the worker was made.
	Counts(to []checkpoint.Count) []checkpoint.Count
	// Refused appends what each operator has refused last since the last call, if there was anything, and of those that on_error skip has dropped
	// the first FirstSkipped once more, marked as Skipped. It is asked at a barrier.
	Refused(to []Refusal) []Refusal
	// Held yields the windows that are open, with their operator, start, number of keys, and the memory of these in bytes.
	Held(yield func(op int, start int64, keys int, bytes int64))
}

// Rows is a batch of rows in an exchange. Only Workers of one pipeline know what is in it.
type Rows interface {
	// Bytes is how much there is of what has no greatest size, such as keys.
	Bytes() int
}

// Outlet takes what leaves a worker. Its methods block while the receiver is behind, and return at
// once when the engine is being torn down.
type Outlet interface {
	// Slab takes a slab with records and returns an empty one for the same sink.
	Slab(*record.Slab) *record.Slab
	// Rows takes rows of operator op for the worker number target.
	Rows(op, target int, rows Rows)
	// Allocate calls allocate, which takes so many bytes of memory at once, if there is room for them. If not, the error, of kind
	// failure.Memory, is what the worker has to end with.
	Allocate(bytes int64, allocate func()) error
}

// Partition is a partition as its source task reads it.
type Partition struct {
	Source    int    // index into Spec.Sources
	Topic     string //
	ID        int32
	Slot      int   // dense number of the partition among all of the program's, for counters
	Watermark int64 // greatest event time so far less the disorder, math.MinInt64 at first
	// Floor is W of each operator when the partition last became active. Windows of operator op that end, with
	// grace, at or before max(Watermark, Floor[op]) are closed for its records.
	Floor []int64
}

// Spec is what a pipeline declares.
type Spec struct {
	Name      string // of the pipeline
	File      string // of the .eo
	Sources   []SourceSpec
	Sinks     []SinkSpec // dead-letter topics included
	Operators []OperatorSpec
	Counters  []CounterSpec
	State     []Form
	Program   string // hash of the operators and the ways between them: of what Counts are about
	// New makes a worker whose rows are dealt to targets workers; with targets 0 it is alone and folds
	// its rows itself. It is called once for each task, with the same number for those that
	// rows are dealt to: each of them owns that part of the key groups.
	New func(out Outlet, targets int) Worker
	// Merge is for the store. It may be called from any goroutine.
	Merge checkpoint.Merge

	Checkpoint  time.Duration
	Memory      bool // keep state in memory only
	StateDir    string
	Parallelism int
	TxnPrefix   string
	TxnTimeout  time.Duration
	RestartMin  time.Duration
	RestartMax  time.Duration
}

// Form is what the state of an operator or source depends on; see planner.StateForm.
type Form = checkpoint.Form

// SourceSpec declares a topic that is read.
type SourceSpec struct {
	Name, Place, Topic string
	Connection         int           // 0: that of the job, which the sinks have; else the number of another one
	Idle               time.Duration // 0: never
	Start              Start
	StartTime          time.Time
	StartGroup         string
	ReadUncommitted    bool
}

// Start is where a source begins at the first start.
type Start uint8

const (
	Earliest Start = iota
	Latest
	AtTime
	AtGroup
)

// SinkSpec declares a topic that is written.
type SinkSpec struct {
	Name, Place, Topic string
	Deliver            Delivery
}

// Delivery is the guarantee of a sink.
type Delivery uint8

const (
	ExactlyOnce Delivery = iota
	AtLeastOnce
	None
)

// OperatorSpec declares an operator with keyed state behind an exchange.
type OperatorSpec struct {
	ID, Place string
	Sources   []int // whose watermarks make its W
	Size      int64 // of its windows in microseconds: how far a partition may run ahead
}

// CounterSpec declares what an operator counts: Name is that of checkpoint.Count. Sources, clauses and sinks are operators too.
type CounterSpec struct{ Operator, Place, Name string }

// Store keeps checkpoints. A method that fails returns an error of kind failure.Disk or failure.State.
type Store interface {
	// Load returns the checkpoints that a start may go on from: the newest, and the one before if the
	// newest is not confirmed. Both nil: the store is new.
	Load() (newest, before *checkpoint.Checkpoint, confirmed bool, err error)
	// Save makes c durable as a whole or not at all, and keeps nothing of c. Checkpoint 0 replaces everything that was there.
	Save(c *checkpoint.Checkpoint) error
	// Confirm records that the transaction of checkpoint n is committed. Only then may what only n-1 needs go.
	Confirm(n int64) error
	// Drop goes back from checkpoint n, which is not confirmed, to n-1.
	Drop(n int64) error
	// Adopt puts ids into the newest checkpoint as its transactional ids. They are durable before one of them is used.
	Adopt(ids []string) error
	// Restore yields all state of the newest checkpoint: for each operator and group base and deltas, oldest
	// first. Different groups may be yielded at the same time, from several goroutines.
	Restore(ctx context.Context, yield func(checkpoint.Delta) error) error
	Close() error
}

// Sized is a Store on a disk.
type Sized interface {
	// Size is how many bytes it takes there.
	Size() (int64, error)
}

// Cluster is what the engine needs of Kafka. Errors are of kinds failure.Transient, Fenced, Cluster or Lost.
type Cluster interface {
	// ID is the cluster's id.
	ID(ctx context.Context) (string, error)
	// Address is the first broker that the cluster was reached by, as host:port, for commands in messages.
	Address() string
	// Topics describes topics by name; a missing one is left out.
	Topics(ctx context.Context, names []string) (map[string]Topic, error)
	// Offsets asks for an offset of every partition of a topic.
	Offsets(ctx context.Context, topic string, partitions []int32, at OffsetAt) (map[int32]int64, error)
	// Create makes a topic with the broker's defaults of partitions and replication. One that exists already is left as it is.
	Create(ctx context.Context, topic string) error
	// CheckTxnTimeout compares a transaction timeout with the greatest that the brokers allow, if they tell.
	CheckTxnTimeout(ctx context.Context, want time.Duration) error
	// CommitOffsets commits positions to a group outside of transactions, for tools that show lag. Nothing reads them.
	CommitOffsets(ctx context.Context, group string, positions []Position) error
	// Holds lists the transactions that are open in partitions of a topic, as the leaders know them. Each holds back who reads committed records.
	// To say whose they are it asks every broker, and goes without those that do not answer; if ids are given, only the coordinators of these
	// transactional ids, which have to. An error of kind Cluster: the cluster does not tell, and asking again does not change that.
	Holds(ctx context.Context, topic string, partitions []int32, ids ...string) ([]Hold, error)
	// NewReader opens a reader of the given partitions at their offsets.
	NewReader(readUncommitted bool, start []Position) (Reader, error)
	// NewSink opens the two-phase-commit sink. Its ids have been fenced before. When it returns, every id is taken
	// (InitProducerId was answered): start-up looks at the marker once more after that, so nothing of another copy can slip in between.
	NewSink(cfg SinkConfig) (Sink, error)
	// Recovery is the cluster as start-up needs it.
	Recovery
	Close()
}

// Topic is a topic as the cluster describes it.
type Topic struct {
	ID         checkpoint.ID
	Partitions int32 // numbered from 0
}

// OffsetAt says which offset Offsets asks for.
type OffsetAt struct {
	Kind OffsetKind
	Time time.Time // of FirstAfter
	Name string    // of Committed: the group
}

// OffsetKind is a kind of offset.
type OffsetKind uint8

const (
	First      OffsetKind = iota // earliest there is
	End                          // high watermark
	LastStable                   // last stable offset
	FirstAfter                   // of the first record at or after Time; End if there is none
	Committed                    // by group Name; First if there is none
)

// Position is a partition and the offset of the record to read next.
type Position struct {
	Source    int
	Topic     string
	TopicID   checkpoint.ID
	Partition int32
	Next      int64
}

// Hold is a transaction that is open in a partition, as the partition's leader knows it.
type Hold struct {
	Topic     string
	Partition int32
	Producer  int64
	Epoch     int16
	First     int64     // offset of its first record
	Last      time.Time // Kafka timestamp of the producer's last record there, which is its event time where the pipeline has written it
	After     time.Time // after which it was written, as far as the state of its pipeline knows; zero: unknown
	Owner     *Owner    // nil: the cluster does not tell whose the producer is, or it is of none of the ids that were asked for
	Untold    error     // Owner is nil because brokers that may know it did not answer
}

// Owner is the transactional id that a producer belongs to, as its coordinator knows it.
type Owner struct {
	ID string
	TxnState
	Since   time.Time     // when its transaction began; zero if none is open
	Timeout time.Duration // after which the coordinator aborts that
}

// Reader reads partitions. Poll is called from one goroutine, the rest from any.
type Reader interface {
	// Poll waits for records. Fetched records are valid until Release.
	Poll(ctx context.Context) (Fetched, error)
	Add(Position)
	Pause(topic string, partition int32)
	Resume(topic string, partition int32)
	Close()
}

// Fetched is what one poll brought.
type Fetched struct {
	Chunks  []Chunk
	Release func()
}

// Chunk is records of one partition in order, without control records and aborted ones.
type Chunk struct {
	Source    int
	Topic     string
	Partition int32
	Records   []record.Record
	Next      int64 // where to read on: behind the last record, control records included
	End       int64 // high watermark seen with it
	Stable    int64 // last stable offset seen with it
}

// SinkConfig is what a sink needs.
type SinkConfig struct {
	Topics      []SinkSpec
	IDs         [2]string // transactional ids, used in turn
	Group       string    // takes the markers
	TxnTimeout  time.Duration
	Recycle     func(*record.Slab) // takes slabs back that are acknowledged
	Exactly     bool               // at least one sink is exactly_once
	Pipeline    string
	Incarnation checkpoint.ID
	// Happened is told what happens to records without ending anything: how many of which topic, by index. It may be called from any goroutine.
	Happened func(topic int, what Occasion, records int64)
}

// Occasion is something that happens to records of a sink without ending anything.
type Occasion uint8

const (
	Clamped Occasion = iota // their timestamp was moved into what brokers take
	Lost                    // of delivery none, they did not arrive
)

// Sink is the two-phase commit into Kafka. It belongs to the writer's goroutine, except Commit, which may run
// beside Write: it is about the transaction before.
type Sink interface {
	// Begin opens transaction n on the producer that is not in use.
	Begin(ctx context.Context, n int64) error
	// Write sends a slab. It does not wait for the broker; it blocks while too much is on its way.
	// A send error shows at Prepare at the latest.
	Write(ctx context.Context, s *record.Slab) error
	// Prepare waits for every record of transaction n, writes the marker at the positions and returns the committable, and where brokers say that
	// they have put the records.
	Prepare(ctx context.Context, n int64, positions []Position) (checkpoint.Committable, []checkpoint.Written, error)
	// Commit ends the transaction that c names and makes its producer ready for another. An error leaves the outcome unknown
	// unless it says so: the engine then starts again and recovery decides.
	Commit(ctx context.Context, c checkpoint.Committable) error
	// Overtaken says whether another copy of the pipeline has started since the sink was opened. A broker refuses a producer as fenced whoever has
	// taken its id.
	Overtaken(ctx context.Context) (bool, error)
	// Abort gives up the open transactions and closes. Close closes.
	Abort(ctx context.Context) error
	Close()
}

// Recovery is how start-up finishes what a dead process has left.
type Recovery interface {
	// Fence makes every producer that holds the id unable to go on, and aborts its open transaction.
	Fence(ctx context.Context, id string, timeout time.Duration) error
	// EndTxn commits the transaction that c names, as often as asked.
	EndTxn(ctx context.Context, c checkpoint.Committable) (Outcome, error)
	// Describe says what the coordinator knows of an id, for deciding and for messages.
	Describe(ctx context.Context, id string) (TxnState, error)
	// Marker reads the marker of the group with require_stable. Nil: there is none.
	Marker(ctx context.Context, group string) (*checkpoint.Marker, error)
	// LastMarker reads the marker that is committed now, and waits for none that a transaction still holds. Nil: there is none.
	LastMarker(ctx context.Context, group string) (*checkpoint.Marker, error)
}

// Outcome is the answer to EndTxn.
type Outcome = checkpoint.Outcome

const (
	CommittedNow = checkpoint.CommittedNow
	Undecided    = checkpoint.Undecided
)

// TxnState is what a coordinator says of a transactional id.
type TxnState = checkpoint.TxnState
