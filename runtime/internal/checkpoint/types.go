// Package checkpoint is the protocol of checkpoints and the two-phase commit as a pure
// state machine: it is fed events and answers with actions, and does no input or output
// itself. docs/checkpoint.md describes it.
package checkpoint

import (
	"encoding/hex"
	"fmt"
	"time"
)

// ID identifies something for ever: a pipeline's incarnation, or a topic. As text it is 32 hex digits.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText makes the id 32 hex digits in JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads 32 hex digits.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(id)) {
		return fmt.Errorf("an id has 32 hex digits, not %d", len(text))
	}
	_, err := hex.Decode(id[:], text)
	return err
}

// Checkpoint is everything that a checkpoint holds, as the store keeps it.
type Checkpoint struct {
	Number      int64 // 0 is the one before the first read
	Incarnation ID    // random, made by checkpoint 0 of a state
	Pipeline    string
	Group       string      // consumer group that takes the markers; fixed when the state is made
	IDs         []string    // transactional ids that may have been used since they were last fenced; none without exactly-once
	Exactly     bool        // a marker of it is in the group: the program had a sink with exactly-once
	Replaces    *Marker     `json:",omitempty"` // of checkpoint 0 made by --fresh: the marker that was in the group then
	Partitions  []Partition // of all sources, sorted by source, then id
	Watermarks  []Watermark // W of each operator with state
	Counts      []Count     // since checkpoint 0; sorted by operator, name, topic, partition
	Committable Committable // of its transaction
	Committed   []Span      `json:",omitempty"` // transactions of the checkpoints before it, as far back as is kept; oldest first
	Anchor      *Anchor     `json:",omitempty"` // where its marker stands; nil: at the partitions that are in the cluster of the sinks
	Account     *Account    `json:",omitempty"` // for verify; nil in states of earlier versions
	// Ended: the bounded input is at its end and every window has closed.
	Ended bool
	// Deltas is the state that changed since the checkpoint before.
	Deltas []Delta `json:"-"`
}

// Next is an empty checkpoint behind c, with what all checkpoints of a state have in common.
func (c *Checkpoint) Next() *Checkpoint {
	return &Checkpoint{
		Number: c.Number + 1, Incarnation: c.Incarnation, Pipeline: c.Pipeline, Group: c.Group, IDs: c.IDs, Exactly: c.Exactly,
	}
}

// Partition is how far a partition was read.
type Partition struct {
	Source    string // name in the .eo file
	Cluster   string `json:",omitempty"` // id of the cluster that it is in; "": that of the sinks
	Topic     string
	TopicID   ID
	ID        int32
	Next      int64 // offset of the next record to read
	Watermark int64 // microseconds; math.MinInt64 before the first record
	Active    bool  // holds W back
	Bound     int64 // offset at which a bounded run ends; -1 for none
}

// Anchor is a sink's topic at which the marker stands, in partition 0, since no source is in the cluster of the sinks.
type Anchor struct {
	Topic   string
	TopicID ID
}

// Watermark is W of an operator.
type Watermark struct {
	Operator string
	W        int64 // microseconds
}

// Count is one counter of conservation: what became of the records of a partition in an operator.
type Count struct {
	Operator  string // id of the operator, a source's included
	Name      string // read, null, rejected, ahead, filtered, late, aggregated, out
	Topic     string
	Partition int32 // -1 where rows have no partition any more
	N         int64
}

// Delta is what changed in the state of one operator in one key group, in a form that only the operator can read.
type Delta struct {
	Operator string
	Group    int // key group, 0 to Groups-1
	Data     []byte
}

// Form is what the state of an operator or source depends on, as text, and its place in the .eo file. A state is refused if
// the forms of the program are not its own.
type Form struct{ ID, Place, Form string }

// Groups is the number of key groups of a new state: the key's hash decides the group, the
// group the task. It is kept with the state, so parallelism may change between runs.
const Groups = 128

// Owner is which of so many tasks owns a key group.
func Owner(group, tasks int) int { return group * tasks / Groups }

// Until is where a bounded run ends: Bound of each partition is made of it at the first start, and kept with the state. The zero
// Until is: never.
type Until struct {
	Latest bool      // at what the partitions hold at the first start
	Time   time.Time // at the first record with this Kafka timestamp or a later one
}

// Bounded says whether the run ends by itself.
func (u Until) Bounded() bool { return u.Latest || !u.Time.IsZero() }

// String is the text of the flag.
func (u Until) String() string {
	switch {
	case u.Latest:
		return "latest"
	case u.Time.IsZero():
		return ""
	}
	return u.Time.Format(time.RFC3339Nano)
}

// Committable names a transaction that is prepared: every record acknowledged and its marker
// written. It says exactly one transaction, for ever, and is all that another process needs to commit it.
type Committable struct {
	ClusterID       string
	TransactionalID string
	ProducerID      int64
	Epoch           int16
	EndTxnVersion   int16 // 4: transactions V1, 5: V2
	Checkpoint      int64
	Incarnation     ID
	Records         int64 // without the marker
}

// Marker is what is committed to the pipeline's consumer group inside transaction N: the
// positions of checkpoint N, with this as metadata of each.
type Marker struct {
	Pipeline    string `json:"pipeline"`
	Incarnation ID     `json:"incarnation"`
	Checkpoint  int64  `json:"checkpoint"`
	Records     int64  `json:"records"`
	// Producer is the producer id and epoch of the transaction, as `id/epoch`. Two copies of a state can each make a checkpoint N; only
	// one of them is committed, and this says which.
	Producer string `json:"producer"`
}

// Marker is the marker of the transaction.
func (c Committable) Marker(pipeline string) Marker {
	return Marker{Pipeline: pipeline, Incarnation: c.Incarnation, Checkpoint: c.Checkpoint, Records: c.Records, Producer: c.Producer()}
}

// Producer is the producer id and epoch, as a marker has them.
func (c Committable) Producer() string { return fmt.Sprintf("%d/%d", c.ProducerID, c.Epoch) }

// Outcome is the answer to EndTxn(commit).
type Outcome uint8

const (
	CommittedNow Outcome = iota // "no error": the transaction is committed
	Undecided                   // an answer that follows a commit as well as an abort; the marker decides
)

// TxnState is what a coordinator says of a transactional id (DescribeTransactions).
type TxnState struct {
	State      string // Empty, Ongoing, PrepareCommit, CompleteCommit, …; "" if the id is unknown
	ProducerID int64
	Epoch      int16
}

// Merge folds deltas of one operator and key group, oldest first, into one that restores to the same state. What
// ends for good at or before w, the operator's watermark of the newest of them, may be left out. The store calls it in the background
// to keep bases small; the bytes given are valid until it returns, the bytes returned are the store's to keep.
type Merge func(operator string, group int, deltas [][]byte, w int64) ([]byte, error)
