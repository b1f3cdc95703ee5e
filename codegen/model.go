package codegen

import (
	"slices"
	"strconv"

	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// program is what will be printed: the graph with a Go type for every row that leaves a
// function, and a Go name for everything.
type program struct {
	graph *planner.Graph
	opts  Options

	sources []*source
	streams []*stream
	sinks   []*sink

	sourceOf map[*planner.Node]*source
	streamOf map[string]*stream
	sinkOf   map[*planner.Node]*sink

	live    map[*planner.Node]columns
	clauses map[*planner.Node]string // fields of pipeline
	files   scope
	names   scope // of the package
	members scope // fields and methods of pipeline

	usesCalc, usesKey, usesRow bool // what pipeline needs
}

// record is a struct type whose values are rows.
type record struct {
	name   string // Go type
	noun   string // in a sentence: `user event`
	fields []field
}

// field is a column that is read.
type field struct {
	column string // name in the .eo file
	name   string // Go
	typ    ir.Type
}

// field returns the field that holds a column, or nil if nobody reads it.
func (r *record) field(column string) *field {
	for i := range r.fields {
		if r.fields[i].column == column {
			return &r.fields[i]
		}
	}
	return nil
}

// newRecord makes a type of the columns of row that are in use.
func (p *program) newRecord(name, noun string, row ir.Row, used columns) *record {
	r := &record{name: name, noun: noun}
	members := newScope()
	if p.isPackage() {
		members = newScope("MarshalJSON", "UnmarshalJSON", "String")
	}
	for i, f := range row {
		if used[i] {
			r.fields = append(r.fields, field{f.Name, members.member(exported(f.Name)), f.Type})
		}
	}
	return r
}

// analyse reads the graph.
func analyse(g *planner.Graph, o Options) *program {
	p := &program{
		graph: g, opts: o,
		sourceOf: map[*planner.Node]*source{}, streamOf: map[string]*stream{}, sinkOf: map[*planner.Node]*sink{},
		live: liveness(g), clauses: map[*planner.Node]string{},
		files:   newScope(),
		names:   newScope("pipeline", "build", "definition", "Pipeline"),
		members: newScope("calc", "key", "row"),
	}
	// Sources, then streams, then sinks: of those that clash, the first gets the plain name.
	for _, n := range g.Nodes {
		if op, ok := n.Op.(*planner.Source); ok {
			p.addSource(n, op)
		}
	}
	for _, n := range g.Nodes {
		if n.Stream != "" {
			p.addToStream(n)
		}
	}
	for _, s := range p.streams {
		s.resolve()
	}
	for _, n := range g.Nodes {
		if _, ok := n.Op.(*planner.Sink); ok {
			p.addSink(n)
		}
	}
	return p
}

// clause is the field of pipeline that counts what a clause filters and rejects. It is
// declared when something first asks for it.
func (p *program) clause(n *planner.Node) string {
	name, ok := p.clauses[n]
	if !ok {
		name = p.members.member(unexported(n.ID))
		p.clauses[n] = name
	}
	return name
}

// place is where something stands, as `orders.eo:17`.
func (p *program) place(at ir.Place) string {
	return oneLine(p.graph.File) + ":" + strconv.Itoa(at.Line)
}

// input is an edge into a stream or sink from outside, with the type of the rows on it.
type input struct {
	from *planner.Node
	edge planner.Edge
}

// inputs are the edges of any of the kinds that lead to n.
func (p *program) inputs(n *planner.Node, kinds ...planner.EdgeKind) []input {
	var list []input
	for _, from := range n.In {
		for _, e := range from.Out {
			if e.To == n && slices.Contains(kinds, e.Kind) {
				list = append(list, input{from, e})
			}
		}
	}
	return list
}

// rowType is the Go type of the rows on an edge that leaves a source or a stream.
func (p *program) rowType(in input) *record {
	if s := p.sourceOf[in.from]; s != nil {
		return s.record
	}
	s := p.streamOf[in.from.Stream]
	if in.edge.Kind == planner.Late {
		return s.lateType()
	}
	return s.outType(in.from)
}

// shared is the one type of the rows on all inputs, or nil if they differ.
func (p *program) shared(inputs []input) *record {
	first := p.rowType(inputs[0])
	for _, in := range inputs[1:] {
		if p.rowType(in) != first {
			return nil
		}
	}
	return first
}
