// Package planner turns a checked program into a graph of operators: what the code
// generator prints, `eoc plan` shows and the state in a checkpoint is named after.
package planner

import (
	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/ir"
)

// Setting is a string option; see dsl.Setting.
type Setting = dsl.Setting

// Job is how the pipeline runs; see dsl.Job.
type Job = dsl.Job

// Graph is the operators of a pipeline. It is a directed graph without cycles: rows flow from
// sources to sinks.
type Graph struct {
	File string // base name of the .eo file
	Job  Job
	// Nodes stand in the order of the text, each behind those that feed it.
	Nodes []*Node
	// State is one entry for every operator with state and every source, sorted by ID: what a checkpoint's
	// contents depend on. A checkpoint is refused when they differ.
	State []StateForm
}

// StateForm names what an operator keeps in a checkpoint.
type StateForm struct {
	ID    string
	Place ir.Place
	// Form is what the contents depend on, as text: `tumbling 1m by user_id string: sum(amount) decimal(38, 2), …`
	// for a window, topic and type for a source.
	Form string
}

// Node is one operator.
type Node struct {
	// ID is stable: edits elsewhere in the file do not change it. A source's and sink's is its
	// name; a clause's is stream/word, with -2, -3 … where the stream repeats the clause.
	ID     string
	Stream string // the stream that it belongs to; "" for sources and sinks
	Place  ir.Place
	Op     Op
	Row    ir.Row  // the rows that it passes on; of a sink: that it gets
	In     []*Node // who feeds it, in the order of the text
	Out    []Edge  // whom it feeds, in the order of the text
	// Chain numbers the chain that it is fused into: nodes of one chain become straight-line code in one
	// task. A new chain begins behind an exchange.
	Chain int
}

// Edge leads to a node.
type Edge struct {
	To   *Node
	Kind EdgeKind
	// Clause is the clause that asks for it: `from orders` into a stream, `to totals` or `late to orders_late`
	// out of it, else that of To.
	Clause ir.Place
}

// EdgeKind says which rows flow along an edge.
type EdgeKind uint8

const (
	Rows        EdgeKind = iota // what the operator makes
	Late                        // rows that a window refuses
	DeadLetters                 // records that a source, or a clause behind it, refuses
)

// Op is what a node does: *Source, *Union, *Filter, *Project, *Exchange, *Window, *Route, *Sink or *DeadLetter.
type Op interface{ op() }

type (
	// Source reads a topic. Used lists the indexes of the fields of Node.Row that anything
	// behind it reads; only these are decoded, the others are checked to be JSON and skipped.
	Source struct {
		*dsl.Source
		Used []int
	}
	// Union passes on the rows of several inputs of equal rows (`from a, b`). A stream with one input has none.
	Union struct{ From dsl.From }
	// Filter keeps rows for which Cond holds. Result says that it stands behind an aggregate.
	Filter struct {
		Cond   ir.Expr
		Result bool
	}
	// Project is `let` (Append: fields are added to the row) or `select` (a new row).
	Project struct {
		Append bool
		Items  []ir.Named
		Result bool
	}
	// Exchange moves rows to the task that owns their key. At parallelism 1 it is a direct call.
	// Keys are evaluated and lateness is decided before it.
	Exchange struct{ Keys []ir.Named }
	// Window is a tumbling window with its aggregates, as one operator. Node.Row is the result:
	// keys, window_start, window_end, aggregates. Input is the row of those that reach the clause.
	Window struct {
		*dsl.Window
		AggregatePlace ir.Place
		Aggregates     []ir.Aggregate
		Input          ir.Row
		Sources        []*Node // all that reach it: W is the least of their watermarks
	}
	// Route sends rows on by condition: Node.Out[i] takes what Routes[i] says. A stream whose
	// `to` has neither if nor else has none: its last node feeds the sinks.
	Route struct {
		Routes []dsl.Route
		Result bool
	}
	// Sink writes a topic.
	Sink struct{ *dsl.Sink }
	// DeadLetter writes records that were refused to a topic, as they came. Its ID is the topic's text, or the name of its
	// variable. Deliver is the strongest delivery among the sinks that its sources reach.
	DeadLetter struct {
		Topic   Setting
		Deliver dsl.Delivery
	}
)

func (*Source) op()     {}
func (*Union) op()      {}
func (*Filter) op()     {}
func (*Project) op()    {}
func (*Exchange) op()   {}
func (*Window) op()     {}
func (*Route) op()      {}
func (*Sink) op()       {}
func (*DeadLetter) op() {}
