package codegen

import (
	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// stream is one file: the clauses from `from` to `to`.
type stream struct {
	program *program
	name    string
	file    string
	first   *planner.Node
	nodes   []*planner.Node
	window  *window // nil without one

	take   string  // method of pipeline that takes a row
	record *record // of the rows that it takes
	row    ir.Row  // which are these
	own    bool    // record is made for this stream
	out    *record // of the rows that it makes, if they are not those that it takes
	late   *record // of the rows that come too late, likewise
}

// addToStream adds a clause to its stream.
func (p *program) addToStream(n *planner.Node) {
	s := p.streamOf[n.Stream]
	if s == nil {
		s = &stream{program: p, name: n.Stream, first: n}
		s.file = p.files.file(n.Stream, "stream")
		p.streams, p.streamOf[n.Stream] = append(p.streams, s), s
	}
	s.nodes = append(s.nodes, n)
	if op, ok := n.Op.(*planner.Window); ok {
		s.window = newWindow(s, n, op)
	}
}

// resolve decides on types when those of the streams before are known.
func (s *stream) resolve() {
	p := s.program
	verb := "take"
	if s.window != nil {
		verb = "add"
		s.window.name()
	}
	s.take = p.members.member(verb + exported(s.name))
	inputs := p.inputs(s.first, planner.Rows)
	s.row = inputs[0].from.Row
	if _, ok := s.first.Op.(*planner.Union); ok {
		s.row = s.first.Row
	}
	if s.record = p.shared(inputs); s.record == nil {
		s.own = true
		s.record = p.newRecord(p.names.take(exported(s.name)+"Row"), "row", s.row, p.live[s.first])
	}
	if s.window != nil {
		s.window.resolve()
	}
}

// changed reports whether the rows behind n are others than those that the stream takes.
func (s *stream) changed(n *planner.Node) bool {
	for _, m := range s.nodes {
		switch m.Op.(type) {
		case *planner.Project, *planner.Window:
			return true
		}
		if m == n {
			break
		}
	}
	return false
}

// outType is the type of the rows that n, the end of the stream, passes on.
func (s *stream) outType(n *planner.Node) *record {
	if !s.changed(n) {
		return s.record
	}
	if s.out == nil {
		s.out = s.program.newRecord(s.program.names.take(exported(s.name)), s.noun(), n.Row, s.program.live[n])
	}
	return s.out
}

// noun is what the rows are called that the stream makes.
func (s *stream) noun() string { return pick(s.window != nil, "result", "row") }

// lateType is the type of the rows that reach the window.
func (s *stream) lateType() *record {
	if !s.changed(s.window.exchange()) {
		return s.record
	}
	if s.late == nil {
		row := s.window.op.Input
		s.late = s.program.newRecord(s.program.names.take(exported(s.name)+"Late"), "late row", row, all(row))
	}
	return s.late
}

func (s *stream) print(f *jen.File) {
	p := s.program
	v := p.variable(s.record)
	c := &chain{code: &code{program: p, locals: p.names.inner("p", "in", v)}}
	c.columns = s.record.columns(s.row, v)
	c.row, c.whole, c.wholeName = s.row, s.record, v
	c.time = func() jen.Code { return jen.Id("in").Dot("At").Call() }
	if src := p.recordSource(s); src != nil {
		c.time = func() jen.Code { return src.eventTime(name(v)).code }
	}
	c.node(s.first)

	if s.window != nil {
		s.window.printTypes(f)
	}
	if s.own {
		f.Comment("// " + s.record.name + " is what the inputs of stream " + oneLine(s.name) + " have in common.")
		f.Add(s.record.declaration("the batch"))
	}
	if s.late != nil {
		f.Comment("// " + s.late.name + " is a row of stream " + oneLine(s.name) + " that comes too late for its window.")
		f.Add(s.late.declaration("the batch"))
	}
	if s.out != nil {
		into := "the batch"
		if s.window != nil {
			into = "the window"
		}
		f.Comment("// " + s.out.name + " is a " + s.noun() + " of stream " + oneLine(s.name) + ".")
		f.Add(s.out.declaration(into))
	}
	noun := a(s.record.noun)
	if s.window != nil {
		f.Comment("// " + s.take + " takes " + noun + " as far as its window.")
	} else {
		f.Comment("// " + s.take + " takes " + noun + " through stream " + oneLine(s.name) + ".")
	}
	f.Add(method(s.take, jen.Id("in").Op("*").Add(rt("Batch")), jen.Id(v).Op("*").Id(s.record.name)).Block(c.list...))
	if s.window != nil {
		f.Line()
		s.window.print(f)
	}
}

// recordSource is the source whose records the stream takes as they are, if there is one.
func (p *program) recordSource(s *stream) *source {
	inputs := p.inputs(s.first, planner.Rows)
	if src := p.sourceOf[inputs[0].from]; len(inputs) == 1 && src != nil && src.record == s.record {
		return src
	}
	return nil
}
