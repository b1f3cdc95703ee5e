// Package reference says what a pipeline has to answer, computed without the runtime: a plain
// interpreter of the operator graph over slices of records. It is the judge of every
// end-to-end test, so it is written to be read and believed, not to be fast:
// maps, math/big, encoding/json, one record at a time.
//
// What it follows is docs/language.md: "Expressions" for values, "Reading and writing JSON" for records, "Windows" for time. Idle partitions
// are not in it: input is bounded, and at its end all windows close. Lateness is
// judged on a record's own partition, so results do not depend on how partitions interleave
// and the reference takes one after the other.
package reference

import (
	"cmp"
	"math"
	"slices"

	"github.com/eoc-lang/eoc/planner"
)

// NoTime is the Time of a record without a Kafka timestamp.
const NoTime = math.MinInt64

// Record is a record as it stands in a partition.
type Record struct {
	Key, Value []byte // nil is a Kafka null
	Headers    []Header
	Offset     int64
	Time       int64 // Kafka timestamp in microseconds since 1970, or NoTime
}

// Header is a Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// Input is the records of each source, by its name, partition by partition, in the order of their offsets.
type Input map[string][][]Record

// Result is all that a pipeline makes of an input.
type Result struct {
	// Sinks holds what each sink gets, by its name in the graph, in no particular order.
	Sinks map[string][]Output
	// DeadLetters are the records that went to a dead-letter topic.
	DeadLetters []DeadLetter
	// Failures are those for which `on_error fail` or `on_null fail` stops the pipeline. Where there are any, it stops at one
	// of them, and the rest of the result is what it would be if they were skipped.
	Failures []Refusal
	// Counts says what became of the records, by operator and partition.
	Counts map[Counter]int64
	// Inexact names, by sink, the fields of float sums and averages, whose last digits depend on the order
	// of the rows.
	Inexact map[string][]string
}

// Output is a record of a sink.
type Output struct {
	Key, Value []byte // Key is nil without a key
	Time       int64  // Kafka timestamp in milliseconds, never before 1970; or NoTime
}

// DeadLetter is a record that was refused, as it came, or a result as JSON.
type DeadLetter struct {
	Topic      string // the id of the dead-letter topic in the graph
	Key, Value []byte
	Headers    []Header // those that the record came with
	Refusal
}

// Refusal says who refused what, and why.
type Refusal struct {
	Operator  string // id of the operator
	Topic     string // of the source; "" for a result
	Partition int32  // -1 for a result
	Offset    int64  // -1 for a result
	Class     Class
	Reason    string // for people
}

// Class is the kind of a reason.
type Class string

const (
	Malformed  Class = "malformed"  // the value is no good record of the source's type
	Expression Class = "expression" // an expression failed: overflow, division by zero, a bad cast
	NullValue  Class = "null"       // the value is null, and `on_null fail`
	BadResult  Class = "result"     // an aggregate or what follows it failed
)

// Counter names a count. In a source: read, null, rejected, ahead, out. In a clause: filtered, rejected, late,
// aggregated, out. So for each operator and partition, what comes in is the sum of all but ahead.
type Counter struct {
	Operator  string
	Name      string
	Topic     string
	Partition int32 // -1 where rows have no partition any more
}

// Run answers what the pipeline of g makes of input that ends: at the end all windows close.
func Run(g *planner.Graph, input Input) *Result {
	return run(g, input, func(*planner.Window) int64 { return math.MaxInt64 })
}

// RunOn answers what the pipeline of g makes of input that may go on: windows that W has not passed stay open and yield
// nothing yet. A partition without records counts as idle.
func RunOn(g *planner.Graph, input Input) *Result { return run(g, input, nil) }

// run goes through the input. until says where W of a window ends, nil: where the input leaves it.
func run(g *planner.Graph, input Input, until func(*planner.Window) int64) *Result {
	in := interpreter{
		graph:      g,
		windows:    map[*planner.Node]map[paneID]*pane{},
		watermarks: map[*planner.Node]int64{},
		result: &Result{
			Sinks: map[string][]Output{}, Counts: map[Counter]int64{}, Inexact: map[string][]string{},
		},
	}
	for _, n := range g.Nodes {
		if s, ok := n.Op.(*planner.Source); ok {
			in.watermarks[n] = math.MaxInt64
			for partition, records := range input[s.Name] {
				in.partition(n, s, int32(partition), records)
			}
		}
	}
	if until == nil {
		until = in.watermark
	}
	// Nodes stand behind those that feed them, so whatever a window yields has
	// arrived before the next window closes.
	for _, n := range g.Nodes {
		if w, ok := n.Op.(*planner.Window); ok {
			in.close(n, w, until(w))
		}
	}
	in.inexact()
	return in.result
}

// watermark is W of a window: the least of its sources' watermarks.
func (in *interpreter) watermark(w *planner.Window) int64 {
	least := int64(math.MaxInt64)
	for _, n := range w.Sources {
		least = min(least, in.watermarks[n])
	}
	return least
}

// interpreter is one run.
type interpreter struct {
	graph   *planner.Graph
	windows map[*planner.Node]map[paneID]*pane
	// watermarks is the least watermark of each source's partitions at the end of their records.
	watermarks map[*planner.Node]int64
	result     *Result
}

// row is a row on its way. Values are, by kind: bool; *big.Int for int, decimal (unscaled), timestamp and
// duration (microseconds); float64; string; nil for null.
type row struct {
	values []any
	time   int64   // event time in microseconds
	origin *origin // nil for a result
	// sources are those that a result comes from.
	sources []*planner.Node
}

// origin is where a row comes from.
type origin struct {
	node      *planner.Node
	source    *planner.Source
	partition int32
	record    *Record
	watermark int64 // of the partition, this record included
}

// count adds 1 to a counter of n for the partition of r.
func (in *interpreter) count(n *planner.Node, name string, r row) {
	c := Counter{Operator: n.ID, Name: name, Partition: -1}
	if r.origin != nil {
		c.Topic, c.Partition = r.origin.source.Topic.Text, r.origin.partition
	}
	in.result.Counts[c]++
}

// partition reads the records of one partition.
func (in *interpreter) partition(n *planner.Node, s *planner.Source, id int32, records []Record) {
	top := int64(math.MinInt64) // the greatest event time so far, those ahead left out
	for i := range records {
		r := row{origin: &origin{node: n, source: s, partition: id, record: &records[i], watermark: math.MinInt64}}
		in.count(n, "read", r)
		if records[i].Value == nil {
			in.null(n, r)
			continue
		}
		var err error
		if r.values, err = decode(n.Row, s.Used, records[i].Value); err != nil {
			in.reject(n, r, Malformed, err)
			continue
		}
		if r.time, err = eventTime(s, r); err != nil {
			in.reject(n, r, Expression, err)
			continue
		}
		if ahead(s, r) {
			in.count(n, "ahead", r)
		} else {
			top = max(top, r.time)
		}
		if top != math.MinInt64 {
			r.origin.watermark = top - s.Watermark.Microseconds()
		}
		in.pass(n, r)
	}
	switch {
	case top != math.MinInt64:
		in.watermarks[n] = min(in.watermarks[n], top-s.Watermark.Microseconds())
	case len(records) > 0:
		in.watermarks[n] = math.MinInt64 // none of them was good
	}
}

func (in *interpreter) null(n *planner.Node, r row) {
	if !r.origin.source.FailOnNull {
		in.count(n, "null", r)
		return
	}
	in.count(n, "rejected", r)
	in.result.Failures = append(in.result.Failures, refusal(n, r, NullValue, errNull))
}

// ahead reports whether the event time of r is too far ahead of its Kafka timestamp to
// move the watermark.
func ahead(s *planner.Source, r row) bool {
	stamp := r.origin.record.Time
	return s.HasWatermark && s.Skew != 0 && stamp != NoTime && r.time-s.Skew.Microseconds() > stamp
}

// pass sends a row of n to all that read it, along the edges that carry rows.
func (in *interpreter) pass(n *planner.Node, r row) {
	in.count(n, "out", r)
	for _, e := range n.Out {
		if e.Kind == planner.Rows {
			in.take(n, e.To, r)
		}
	}
}

// take lets the operator of n take a row from the node before.
func (in *interpreter) take(from, n *planner.Node, r row) {
	switch op := n.Op.(type) {
	case *planner.Union:
		values := make([]any, len(n.Row))
		for i, f := range n.Row {
			values[i] = r.values[from.Row.Index(f.Name)]
		}
		r.values = values
		in.pass(n, r)
	case *planner.Filter:
		in.filter(n, op, r)
	case *planner.Project:
		in.project(n, op, r)
	case *planner.Exchange:
		in.pass(n, r)
	case *planner.Window:
		in.add(n, op, r)
	case *planner.Route:
		in.route(n, op, r)
	case *planner.Sink:
		in.write(n, op, r)
	default:
		panic("reference: no rows go to " + n.ID)
	}
}

func (in *interpreter) filter(n *planner.Node, op *planner.Filter, r row) {
	keep, err := evaluate(op.Cond, r.values)
	switch {
	case err != nil:
		in.reject(n, r, Expression, err)
	case keep == true:
		in.pass(n, r)
	default:
		in.count(n, "filtered", r)
	}
}

func (in *interpreter) project(n *planner.Node, op *planner.Project, r row) {
	var values []any
	if op.Append {
		values = slices.Clone(r.values)
	}
	for _, item := range op.Items {
		from := r.values
		if op.Append {
			from = values // an item of a let may use those before it
		}
		v, err := evaluate(item.Expr, from)
		if err != nil {
			in.reject(n, r, Expression, err)
			return
		}
		values = append(values, v)
	}
	r.values = values
	in.pass(n, r)
}

// route sends a row to the sink of every branch whose condition holds, and to those of else if none did. All
// conditions are judged before the first row goes out: a row that is refused goes nowhere.
func (in *interpreter) route(n *planner.Node, op *planner.Route, r row) {
	held := make([]bool, len(op.Routes))
	conditional := false
	for i, branch := range op.Routes {
		if branch.If == nil {
			continue
		}
		v, err := evaluate(branch.If, r.values)
		if err != nil {
			in.reject(n, r, Expression, err)
			return
		}
		held[i] = v == true
		conditional = conditional || held[i]
	}
	sent := false
	for i, branch := range op.Routes {
		if held[i] || branch.Else && !conditional || branch.If == nil && !branch.Else {
			in.take(n, n.Out[i].To, r)
			sent = true
		}
	}
	if sent {
		in.count(n, "out", r)
	} else {
		in.count(n, "filtered", r)
	}
}

// reject hands a row that n refuses to the on_error of its source.
func (in *interpreter) reject(n *planner.Node, r row, class Class, err error) {
	in.count(n, "rejected", r)
	if r.origin == nil {
		in.rejectResult(n, r, err, appendRow(nil, n.In[0].Row, r.values))
		return
	}
	f := refusal(n, r, class, err)
	onError := r.origin.source.OnError
	switch onError.Mode {
	case planner.OnErrorFail:
		in.result.Failures = append(in.result.Failures, f)
	case planner.OnErrorDLQ:
		rec := r.origin.record
		in.result.DeadLetters = append(in.result.DeadLetters, DeadLetter{
			Topic: in.deadLetterTopic(onError.Topic), Key: rec.Key, Value: rec.Value, Headers: rec.Headers, Refusal: f,
		})
	}
}

// rejectResult follows the strictest on_error of the sources: fail, dlq, skip. value is the result as JSON.
func (in *interpreter) rejectResult(n *planner.Node, r row, err error, value []byte) {
	f := refusal(n, r, BadResult, err)
	strictest := planner.OnError{Mode: planner.OnErrorSkip}
	for _, s := range r.sources {
		e := s.Op.(*planner.Source).OnError
		if e.Mode == planner.OnErrorFail || e.Mode == planner.OnErrorDLQ && strictest.Mode == planner.OnErrorSkip {
			strictest = e
		}
	}
	switch strictest.Mode {
	case planner.OnErrorFail:
		in.result.Failures = append(in.result.Failures, f)
	case planner.OnErrorDLQ:
		in.result.DeadLetters = append(in.result.DeadLetters,
			DeadLetter{Topic: in.deadLetterTopic(strictest.Topic), Value: value, Refusal: f})
	}
}

func refusal(n *planner.Node, r row, class Class, err error) Refusal {
	f := Refusal{Operator: n.ID, Partition: -1, Offset: -1, Class: class, Reason: err.Error()}
	if o := r.origin; o != nil {
		f.Topic, f.Partition, f.Offset = o.source.Topic.Text, o.partition, o.record.Offset
	}
	return f
}

func (in *interpreter) deadLetterTopic(topic planner.Setting) string {
	i := slices.IndexFunc(in.graph.Nodes, func(n *planner.Node) bool {
		d, ok := n.Op.(*planner.DeadLetter)
		return ok && d.Topic == topic
	})
	return in.graph.Nodes[i].ID
}

func (in *interpreter) write(n *planner.Node, op *planner.Sink, r row) {
	key, err := sinkKey(op.Key, r.values)
	if err != nil {
		in.reject(n, r, Expression, err)
		return
	}
	o := Output{Key: key, Value: appendRow(nil, n.Row, r.values), Time: NoTime}
	if r.time != NoTime {
		o.Time = max(0, floorDiv(r.time, 1000))
	}
	in.result.Sinks[n.ID] = append(in.result.Sinks[n.ID], o)
	in.count(n, "out", r)
}

// floorDiv is a / b, rounded towards the past.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// byName sorts counters for printing.
func byName(x, y Counter) int {
	return cmp.Or(cmp.Compare(x.Operator, y.Operator), cmp.Compare(x.Topic, y.Topic),
		cmp.Compare(x.Partition, y.Partition), cmp.Compare(x.Name, y.Name))
}
