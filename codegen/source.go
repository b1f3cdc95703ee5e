package codegen

import (
	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// source is a topic that is read: one file.
type source struct {
	program *program
	node    *planner.Node
	op      *planner.Source
	file    string
	record  *record
	// Sources of one type of which the same fields are used share the Go type. The first has it in its file.
	sharesType bool

	field, cursor  string // of pipeline
	read           string // method of pipeline
	scanner        *scanner
	recordVariable string
}

func (p *program) addSource(n *planner.Node, op *planner.Source) {
	s := &source{program: p, node: n, op: op}
	s.file = p.files.file(n.ID, "source")
	s.field = p.members.member(unexported(n.ID))
	s.cursor = p.members.member(unexported(n.ID) + "JSON")
	s.read = p.members.member("read" + exported(n.ID))
	if len(op.Used) > maxFields {
		panic(bugf("source %s uses %d fields, more than %d", n.ID, len(op.Used), maxFields))
	}
	if twin := p.twin(op); twin != nil {
		s.record, s.scanner = twin.record, twin.scanner
		s.sharesType = true
	} else {
		s.nameType()
	}
	p.sources, p.sourceOf[n] = append(p.sources, s), s
}

// twin is a source with the same type and the same used fields.
func (p *program) twin(op *planner.Source) *source {
	for _, s := range p.sources {
		if s.op.TypeName != op.TypeName || s.op.TypePlace != op.TypePlace || len(s.op.Used) != len(op.Used) {
			continue
		}
		equal := true
		for i, f := range op.Used {
			equal = equal && s.op.Used[i] == f
		}
		if equal {
			return s
		}
	}
	return nil
}

func (s *source) nameType() {
	p := s.program
	used := make(columns, len(s.node.Row))
	for _, i := range s.op.Used {
		used[i] = true
	}
	s.record = p.newRecord(p.names.take(exported(s.op.TypeName)), phrase(s.op.TypeName), s.node.Row, used)
	s.scanner = p.newScanner(s.record, s.record.fields)
	for i, f := range s.record.fields {
		s.scanner.defaults[i] = s.node.Row[s.node.Row.Index(f.column)].Default
	}
}

// variable is what a value of type r is called: by its first letter, or by its whole name if the
// letter means something else. It stands beside the receiver and the parameters of any function, and hides no
// name of the package: so it is dealt when those are known.
func (p *program) variable(r *record, beside ...string) string {
	free := p.names.inner(append(beside, "p", "c", "in", "value")...)
	n := unexported(r.name)
	letter := string([]rune(n)[:1])
	switch letter {
	case "p", "c", "t", "b", "s", "w", "v", "r", "i", "x":
		return free.take(n)
	}
	return free.take(letter)
}

func (s *source) print(f *jen.File) {
	s.recordVariable = s.program.variable(s.record)
	if !s.sharesType {
		s.printType(f)
	}
	s.printRead(f)
	if !s.sharesType {
		s.scanner.printRead(f, s.recordVariable)
	}
}

func (s *source) printType(f *jen.File) {
	p := s.program
	f.Comment("// " + s.record.name + " is a record of source " + oneLine(s.node.ID) + " (" + p.place(s.op.TypePlace) + ").")
	f.Add(s.record.declaration("the batch"))
	s.scanner.printTable(f)
}

// printRead prints the loop over a batch.
func (s *source) printRead(f *jen.File) {
	p := s.program
	c := &code{program: p, locals: p.names.inner("p", "in", s.recordVariable)}
	c.columns = s.record.columns(s.node.Row, s.recordVariable)
	reject := jen.Id("in").Dot("Reject").Call(jen.Id("p").Dot(s.cursor).Dot("Fault").Call())
	if at := s.op.OnError.Place; at.Line > 0 {
		reject.Comment("// " + p.place(at) + ": " + oneLine(at.Text))
	}
	if s.op.Format.Line > 0 {
		c.place(s.op.Format)
	}
	c.add(jen.If(jen.Op("!").Id(s.recordVariable).Dot("readJSON").Call(
		jen.Id("p").Dot(s.cursor), jen.Id("in").Dot("Value").Call())).Block(reject, jen.Continue()))
	s.printTime(c)
	c.add(jen.Line())
	w := &chain{code: c, time: func() jen.Code { return s.eventTime(name(s.recordVariable)).code }}
	w.row, w.whole, w.wholeName = s.node.Row, s.record, "&"+s.recordVariable
	w.send(s.node)

	f.Comment("// " + s.read + " takes a batch of " + settingText("topic", s.op.Topic) + " through the streams that read it.")
	f.Func().Params(jen.Id("p").Op("*").Id("pipeline")).Id(s.read).Params(jen.Id("in").Op("*").Add(rt("Batch"))).Block(
		jen.Var().Id(s.recordVariable).Id(s.record.name),
		jen.For(jen.Id("in").Dot("Next").Call()).Block(c.list...),
	)
	f.Line()
}

// printTime tells the watermark the event time.
func (s *source) printTime(c *code) {
	if s.op.Time == nil {
		c.add(jen.If(jen.Op("!").Id("in").Dot("ObserveTimestamp").Call()).Block(jen.Continue()))
		return
	}
	if s.op.TimePlace.Line > 0 {
		c.add(jen.Comment("// " + s.program.place(s.op.TimePlace) + ": " + oneLine(s.op.TimePlace.Text)))
	}
	at := c.expr(s.op.Time)
	if c.fallible {
		n := c.locals.take("at")
		c.add(jen.Id(n).Op(":=").Add(at.code))
		at = name(n)
		c.fallible = false
		c.add(jen.If(calcFailed()).Block(
			jen.Id("in").Dot("Reject").Call(calcFault()),
			jen.Continue(),
		))
	}
	c.add(jen.Id("in").Dot("Observe").Call(at.code))
}

// eventTime is the time of the record in v: its field, where `time` is one.
func (s *source) eventTime(v value) value {
	if col, ok := s.op.Time.(*ir.Column); ok {
		if f := s.record.field(col.Name); f != nil {
			return v.dot(f.name)
		}
	}
	return value{code: jen.Id("in").Dot("At").Call(), prec: primary}
}
