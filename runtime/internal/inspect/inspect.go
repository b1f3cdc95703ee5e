// Package inspect is the verb `state` of a program: what its state directory holds, as JSON with documented names and as text.
// It asks no broker, takes no lock and writes nothing.
package inspect

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// Report is the answer. Its JSON names do not change; new ones may come. Times are RFC 3339 in UTC.
type Report struct {
	Directory string    `json:"directory"`
	File      string    `json:"file"`
	Use       string    `json:"use"` // free, in use, unknown
	Process   int       `json:"process,omitempty"`
	Bytes     int64     `json:"bytes"`      // of the file
	LiveBytes int64     `json:"live_bytes"` // of them, in pages that are in use
	Written   time.Time `json:"written"`    // when the file was last written

	Pipeline  string `json:"pipeline"`
	Format    int    `json:"format"`
	KeyGroups int    `json:"key_groups"`
	// Fits says whether this program can go on from it; Difference, why it cannot.
	Fits       bool   `json:"fits"`
	Difference string `json:"difference,omitempty"`

	Checkpoint  *Checkpoint  `json:"checkpoint"`            // the newest; null: none was ever stored
	Transaction *Transaction `json:"transaction,omitempty"` // of the newest checkpoint
	Partitions  []Partition  `json:"partitions"`
	Watermarks  []Watermark  `json:"watermarks"`
	Operators   []Operator   `json:"operators"`
	Counts      []Count      `json:"counts"`
	Forms       []Form       `json:"forms"`
}

// Checkpoint is the newest checkpoint. While it is not confirmed, its transaction may be committed or not: the next start finds out.
type Checkpoint struct {
	Number      int64  `json:"number"`
	Confirmed   bool   `json:"confirmed"`
	Incarnation string `json:"incarnation"`
	Group       string `json:"group"` // consumer group of the markers
	ExactlyOnce bool   `json:"exactly_once"`
	Ended       bool   `json:"ended"` // a bounded run has finished
}

// Transaction names the Kafka transaction of a checkpoint: all that is needed to commit it.
type Transaction struct {
	Cluster         string `json:"cluster"`
	TransactionalID string `json:"transactional_id"`
	ProducerID      int64  `json:"producer_id"`
	ProducerEpoch   int16  `json:"producer_epoch"`
	Records         int64  `json:"records"`
}

// Partition is how far a partition of a source was read.
type Partition struct {
	Source    string `json:"source"`
	Cluster   string `json:"cluster,omitempty"` // that it is in, if that is not the sinks'
	Topic     string `json:"topic"`
	TopicID   string `json:"topic_id"`
	Partition int32  `json:"partition"`
	Next      int64  `json:"next"` // offset of the record to read next
	Watermark *Time  `json:"watermark"`
	Active    bool   `json:"active"`
	Bound     *int64 `json:"bound,omitempty"` // offset at which a bounded run ends
}

// Watermark is W of an operator.
type Watermark struct {
	Operator  string `json:"operator"`
	Watermark *Time  `json:"watermark"` // null: none yet
}

// Operator is how much is stored of an operator with windows.
type Operator struct {
	Operator     string `json:"operator"`
	Bytes        int64  `json:"bytes"`
	Groups       int    `json:"groups"` // key groups with segments
	Segments     int    `json:"segments"`
	SegmentBytes int64  `json:"segment_bytes"`
	Deltas       int    `json:"deltas"` // checkpoints that are not folded into segments yet
	DeltaBytes   int64  `json:"delta_bytes"`
}

// Count is one of the counts that docs/operations.md lists.
type Count struct {
	Operator  string `json:"operator"`
	Name      string `json:"name"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Count     int64  `json:"count"`
}

// Form is what the state of an operator or source depends on, and its place in the .eo file when the state was made.
type Form struct {
	ID    string `json:"id"`
	Place string `json:"place"`
	Form  string `json:"form"`
}

// Time is a point in event time, in microseconds since 1970. The greatest is the end of a bounded input.
type Time int64

// String is RFC 3339 in UTC, or `end`.
func (t Time) String() string {
	if t == math.MaxInt64 {
		return "end"
	}
	return time.UnixMicro(int64(t)).UTC().Format("2006-01-02T15:04:05.999999Z07:00")
}

// MarshalText is as String.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// timeOf is nil before the first record.
func timeOf(at int64) *Time {
	if at == math.MinInt64 {
		return nil
	}
	return (*Time)(&at)
}

// Print writes what the directory holds to out. opt is what the program is. An error is of kind failure.State if there is no state or it is damaged, of
// kind failure.Disk if it cannot be read.
func Print(out io.Writer, dir string, opt state.Options, asJSON bool) error {
	r, err := Read(dir, opt)
	if err != nil {
		return err
	}
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	return r.text(out)
}

// Read looks at the directory.
func Read(dir string, opt state.Options) (*Report, error) {
	place, err := state.LookAt(dir)
	if err != nil {
		return nil, err
	}
	view, err := state.Look(dir)
	if err != nil {
		return nil, err
	}
	if view == nil {
		return nil, state.None(dir)
	}
	r := &Report{
		Directory: dir, File: view.Path, Use: place.Use.String(), Bytes: view.Bytes, LiveBytes: view.Live, Written: view.Written.UTC(),
		Pipeline: view.Pipeline, Format: view.Format, KeyGroups: view.Groups,
		Partitions: []Partition{}, Watermarks: []Watermark{}, Operators: []Operator{}, Counts: []Count{}, Forms: []Form{},
	}
	if place.Use == state.InUse {
		r.Process = place.User
	}
	if view.Newest == nil {
		r.Fits = true
		return r, nil
	}
	if err := view.Fits(dir, opt); err != nil {
		r.Difference = err.Error()
	}
	r.Fits = r.Difference == ""
	r.fill(view)
	return r, nil
}

func (r *Report) fill(v *state.View) {
	c := v.Newest
	r.Checkpoint = &Checkpoint{
		Number: c.Number, Confirmed: v.Confirmed, Incarnation: c.Incarnation.String(), Group: c.Group, ExactlyOnce: c.Exactly, Ended: c.Ended,
	}
	if t := c.Committable; t.TransactionalID != "" {
		r.Transaction = &Transaction{t.ClusterID, t.TransactionalID, t.ProducerID, t.Epoch, t.Records}
	}
	for _, p := range c.Partitions {
		r.Partitions = append(r.Partitions, partition(p))
	}
	for _, w := range c.Watermarks {
		r.Watermarks = append(r.Watermarks, Watermark{w.Operator, timeOf(w.W)})
	}
	for _, o := range v.Operators {
		r.Operators = append(r.Operators, Operator{o.ID, o.Bytes(), o.Groups, o.Segments, o.SegmentBytes, o.Deltas, o.DeltaBytes})
	}
	for _, n := range c.Counts {
		r.Counts = append(r.Counts, Count{n.Operator, n.Name, n.Topic, n.Partition, n.N})
	}
	for _, f := range v.Forms {
		r.Forms = append(r.Forms, Form(f))
	}
}

func partition(p checkpoint.Partition) Partition {
	out := Partition{Source: p.Source, Cluster: p.Cluster, Topic: p.Topic, TopicID: p.TopicID.String(), Partition: p.ID, Next: p.Next, Watermark: timeOf(p.Watermark), Active: p.Active}
	if p.Bound >= 0 {
		out.Bound = &p.Bound
	}
	return out
}
