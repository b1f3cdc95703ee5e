package codegen

import (
	"time"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// mainFile prints what the runtime has to know and the declarations of all operators. It comes first in the
// package and is printed last: the other files say what they need.
func (p *program) mainFile(f *jen.File) {
	for _, line := range p.packageComment() {
		f.PackageComment(line)
	}
	kind := "program"
	if p.isPackage() {
		kind = "package"
	}
	f.Comment("// This " + kind + " needs API 1 of the runtime. If this line does not compile, generate\n" +
		"// the " + kind + " again with the eoc that belongs to the runtime.")
	f.Const().Id("_").Op("=").Add(rt("API1"))
	f.Line()
	definition := "Pipeline"
	if !p.isPackage() {
		definition = "definition"
		f.Func().Id("main").Params().Block(rt("Main").Call(jen.Id(definition).Call()))
		f.Line()
	}
	if !p.isPackage() {
		f.Comment("// definition is what the runtime has to know before it makes tasks.")
	} else {
		f.Comment("// Pipeline is the pipeline of " + oneLine(p.graph.File) + ", for rt.Run and, in tests, rttest.Start.")
	}
	f.Func().Id(definition).Params().Add(rt("Pipeline")).Block(jen.Return(rt("Pipeline").Add(braces(p.definition()))))
	f.Line()
	p.printPipeline(f)
	p.printBuild(f)
}

func (p *program) packageComment() []string {
	what := "// Package " + p.opts.Package + " is"
	if !p.isPackage() {
		what = "// Command " + oneLine(p.graph.Job.Name) + " runs"
	}
	lines := []string{what + " the pipeline of " + oneLine(p.graph.File) + ":", "//"}
	for _, l := range p.drawing() {
		lines = append(lines, "//\t"+l)
	}
	return lines
}

// lines collects the entries of a composite literal, one on each line.
type lines []jen.Code

func (l *lines) add(name string, v jen.Code) { *l = append(*l, jen.Id(name).Op(":").Add(v).Op(",")) }

// note adds an entry with the clause that it comes from.
func (l *lines) note(p *program, name string, v jen.Code, at ir.Place) {
	e := jen.Id(name).Op(":").Add(v).Op(",")
	if at.Line > 0 {
		e.Comment("// " + p.place(at) + ": " + oneLine(at.Text))
	}
	*l = append(*l, e)
}

func (p *program) definition() []jen.Code {
	job := p.graph.Job
	var l lines
	l.add("Name", jen.Lit(job.Name))
	l.add("File", jen.Lit(p.graph.File))
	if job.Connection.Said() {
		l.add("Connection", rt("Connection").Add(braces(p.connection(job.Connection))))
	}
	l.add("Checkpoint", duration(job.Checkpoint))
	if job.Memory {
		l.add("Memory", jen.True())
	} else {
		l.add("StateDir", setting(job.StateDir))
	}
	l.add("Parallelism", jen.Lit(job.Parallelism))
	l.add("TxnPrefix", setting(job.TxnPrefix))
	l.add("TxnTimeout", duration(job.TxnTimeout))
	l.add("RestartMin", duration(job.RestartMin))
	l.add("RestartMax", duration(job.RestartMax))
	var forms []jen.Code
	for _, s := range p.graph.State {
		forms = append(forms, jen.Values(entry("ID", jen.Lit(s.ID)), entry("Place", jen.Lit(p.place(s.Place))), entry("Form", rawText(s.Form))))
	}
	l.add("State", jen.Index().Add(rt("StateForm")).Add(multiline(forms)))
	l.add("Graph", p.operators())
	l.add("Build", rt("Build").Call(jen.Id("build")))
	return l
}

// duration is a length of time as microseconds.
func duration(d time.Duration) jen.Code { return durationLit(d.Microseconds()).code }

// printPipeline prints the struct of all operators, in the order of the text.
func (p *program) printPipeline(f *jen.File) {
	var fields []jen.Code
	for _, n := range p.graph.Nodes {
		if s := p.sourceOf[n]; s != nil {
			fields = append(fields, jen.Id(s.field).Op("*").Add(rt("Source")), jen.Id(s.cursor).Op("*").Add(rt("JSON")))
		}
		if c, ok := p.clauses[n]; ok {
			fields = append(fields, jen.Id(c).Op("*").Add(rt("Clause")))
		}
		if w := p.windowOf(n); w != nil {
			fields = append(fields, jen.Id(w.field).Op("*").Add(rt("Tumbling")).Types(jen.Id(w.state), jen.Id(w.input)))
		}
		if s := p.sinkOf[n]; s != nil {
			fields = append(fields, jen.Id(s.field).Op("*").Add(rt("Sink")))
		}
	}
	if p.usesCalc || p.usesKey || p.usesRow {
		fields = append(fields, jen.Line())
	}
	if p.usesCalc {
		fields = append(fields, jen.Id("calc").Op("*").Add(rt("Calc")).Comment("// arithmetic that can fail"))
	}
	if p.usesKey {
		fields = append(fields, jen.Id("key").Index().Byte().Comment("// scratch"))
	}
	if p.usesRow {
		fields = append(fields, jen.Id("row").Index().Byte().Comment("// scratch"))
	}
	f.Comment("// pipeline is one task's copy of the operators. A task is one goroutine.")
	f.Type().Id("pipeline").Struct(fields...)
	f.Line()
}

func (p *program) windowOf(n *planner.Node) *window {
	if _, ok := n.Op.(*planner.Window); ok {
		return p.streamOf[n.Stream].window
	}
	return nil
}

// printBuild prints the declarations, each below its place in the text.
func (p *program) printBuild(f *jen.File) {
	c := &code{program: p, locals: p.names.inner("p", "t")}
	c.add(jen.Id("p").Op(":=").New(jen.Id("pipeline")))
	if p.usesCalc {
		c.add(jen.Id("p").Dot("calc").Op("=").Id("t").Dot("Calc").Call())
	}
	for _, n := range p.graph.Nodes {
		clause, hasClause := p.clauses[n]
		source, window, sink := p.sourceOf[n], p.windowOf(n), p.sinkOf[n]
		if !hasClause && source == nil && window == nil && sink == nil {
			continue
		}
		c.place(n.Place)
		if hasClause {
			c.add(jen.Id("p").Dot(clause).Op("=").Id("t").Dot("Clause").Call(jen.Lit(n.ID), jen.Lit(p.place(n.Place))))
		}
		switch {
		case source != nil:
			source.declare(c)
		case window != nil:
			window.declare(c)
		case sink != nil:
			sink.declare(c)
		}
	}
	c.add(jen.Line(), jen.Return(jen.Id("p")))
	f.Comment("// build declares the operators in the order of " + oneLine(p.graph.File) + ".")
	f.Func().Id("build").Params(jen.Id("t").Op("*").Add(rt("Task"))).Op("*").Id("pipeline").Block(c.list...)
}

func (p *program) spec(n *planner.Node) lines {
	var l lines
	l.add("Name", jen.Lit(n.ID))
	l.add("Place", jen.Lit(p.place(n.Place)))
	return l
}

func (s *source) declare(c *code) {
	p, op := s.program, s.op
	l := p.spec(s.node)
	l.add("Topic", setting(op.Topic))
	if op.Connection.Said() {
		l.add("Connection", jen.Op("&").Add(rt("Connection")).Add(braces(p.connection(op.Connection))))
	}
	if op.HasWatermark {
		l.add("HasWatermark", jen.True())
		l.note(p, "Watermark", duration(op.Watermark), op.WatermarkPlace)
	}
	l.add("Idle", duration(op.Idle))
	l.add("Skew", duration(op.Skew))
	switch op.Start {
	case planner.StartLatest:
		l.add("Start", rt("Latest"))
	case planner.StartAtTimestamp:
		l.add("Start", rt("AtTime"))
		l.add("StartTime", jen.Lit(int(op.StartTime.UnixMicro())))
	case planner.StartAtGroup:
		l.add("Start", rt("AtGroup"))
		l.add("StartGroup", setting(op.StartGroup))
	}
	if op.ReadUncommitted {
		l.add("ReadUncommitted", jen.True())
	}
	switch op.OnError.Mode {
	case planner.OnErrorSkip:
		l.note(p, "OnError", rt("Skip").Call(), op.OnError.Place)
	case planner.OnErrorDLQ:
		l.note(p, "OnError", rt("DLQ").Call(setting(op.OnError.Topic)), op.OnError.Place)
		l.delivery("DLQDeliver", s.deadLetter().Deliver)
	}
	if op.FailOnNull {
		l.add("FailOnNull", jen.True())
	}
	c.add(
		jen.Id("p").Dot(s.field).Op("=").Id("t").Dot("Source").Call(
			rt("SourceSpec").Add(braces(l)), jen.Id("p").Dot(s.read)),
		jen.Id("p").Dot(s.cursor).Op("=").Id(s.scanner.newJSON).Call(),
	)
}

// deadLetter is the topic that takes what the source refuses.
func (s *source) deadLetter() *planner.DeadLetter {
	for _, e := range s.node.Out {
		if d, ok := e.To.Op.(*planner.DeadLetter); ok {
			return d
		}
	}
	panic(bugf("source %s has no dead-letter topic", s.node.ID))
}

func (l *lines) delivery(name string, d planner.Delivery) {
	switch d {
	case planner.DeliverAtLeastOnce:
		l.add(name, rt("AtLeastOnce"))
	case planner.DeliverNone:
		l.add(name, rt("DeliverNone"))
	}
}

func (w *window) declare(c *code) {
	p := w.stream.program
	l := p.spec(w.node)
	var sources []jen.Code
	for _, n := range w.op.Sources {
		sources = append(sources, jen.Id("p").Dot(p.sourceOf[n].field))
	}
	l.add("Sources", jen.Index().Op("*").Add(rt("Source")).Values(sources...))
	l.add("Size", duration(w.op.Size))
	if w.op.Offset != 0 {
		l.add("Offset", duration(w.op.Offset))
	}
	if w.op.Grace != 0 {
		l.add("Grace", duration(w.op.Grace))
	}
	l.add("Fold", jen.Id("p").Dot(w.fold))
	l.add("Close", jen.Id("p").Dot(w.close))
	l.add("Append", jen.Id(w.appendState))
	l.add("Read", jen.Id(w.readState))
	c.add(jen.Id("p").Dot(w.field).Op("=").Add(rt("NewTumbling")).Call(jen.Id("t"),
		rt("TumblingSpec").Types(jen.Id(w.state), jen.Id(w.input)).Add(braces(l))))
}

func (s *sink) declare(c *code) {
	op := s.node.Op.(*planner.Sink)
	l := s.program.spec(s.node)
	l.add("Topic", setting(op.Topic))
	l.delivery("Deliver", op.Deliver)
	c.add(jen.Id("p").Dot(s.field).Op("=").Id("t").Dot("Sink").Call(rt("SinkSpec").Add(braces(l))))
}
