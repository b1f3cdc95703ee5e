package codegen

import (
	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
)

// recordsFile prints how every type of rows becomes JSON and is made of JSON: for those who send what the pipeline reads, and
// read what it writes.
func (p *program) recordsFile(f *jen.File) {
	for _, s := range p.sources {
		if !s.sharesType {
			p.printJSON(f, s.record, []*scanner{s.scanner})
		}
	}
	for _, r := range p.made() {
		scanners := p.newScanners(r)
		p.printJSON(f, r, scanners)
		for _, s := range scanners {
			s.printTable(f)
			s.printRead(f, p.variable(r))
			f.Line()
		}
	}
}

// made are the types of rows that no source reads, as the files of the package declare them.
func (p *program) made() []*record {
	var list []*record
	for _, s := range p.streams {
		if s.own {
			list = append(list, s.record)
		}
		if s.late != nil {
			list = append(list, s.late)
		}
		if s.out != nil {
			list = append(list, s.out)
		}
	}
	for _, s := range p.sinks {
		if s.own {
			list = append(list, s.record)
		}
	}
	return list
}

// printJSON prints what encoding/json calls to write an r, and to read one with the scanners, and what fmt calls: fields by themselves, such as
// texts of bytes and unscaled decimals, nobody can read.
func (p *program) printJSON(f *jen.File, r *record, scanners []*scanner) {
	v := p.variable(r, "b")
	noun := a(r.noun)
	f.Comment("// MarshalJSON writes " + noun + " as the pipeline does. What it would not read is an error.")
	f.Func().Params(jen.Id(v).Id(r.name)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(p.marshal(r, v)...)
	f.Line()
	f.Comment("// UnmarshalJSON reads " + noun + " as the pipeline does, into memory of its own.")
	f.Func().Params(jen.Id(v).Op("*").Id(r.name)).Id("UnmarshalJSON").Params(jen.Id("value").Index().Byte()).Error().Block(p.unmarshal(r, v, scanners)...)
	f.Line()
	f.Comment("// String is " + noun + " for messages, as MarshalJSON writes it.")
	f.Func().Params(jen.Id(v).Id(r.name)).Id("String").Params().String().Block(
		jen.List(jen.Id("b"), jen.Id("_")).Op(":=").Id(v).Dot("MarshalJSON").Call().Comment("// what it would not read is shown, too"),
		jen.Return(jen.String().Call(jen.Id("b"))))
	f.Line()
}

// marshal writes the fields of v as a sink does.
func (p *program) marshal(r *record, v string) []jen.Code {
	if len(r.fields) == 0 {
		return []jen.Code{jen.Return(jen.Index().Byte().Call(jen.Lit("{}")), jen.Nil())}
	}
	c := &code{program: p, locals: p.names.inner("b", v)}
	c.add(jen.Var().Id("b").Index().Byte())
	var fields []jsonField
	for _, fd := range r.fields {
		fields = append(fields, jsonField{fd.column, name(v).dot(fd.name), fd.typ})
	}
	c.object(nil, fields)
	c.add(jen.Id("b").Op("=").Append(jen.Id("b"), jen.LitRune('}')))
	c.add(jen.Return(jen.Id("b"), jen.Id(v).Dot("UnmarshalJSON").Call(jen.Id("b"))).Comment("// " + v + " is a copy"))
	return c.list
}

// unmarshal reads into a variable first: v stays as it is if value is none, and points into value in no case.
func (p *program) unmarshal(r *record, v string, scanners []*scanner) []jen.Code {
	scope := p.names.inner("c", "value", v)
	read := scope.take("read")
	list := []jen.Code{jen.Var().Id(read).Id(r.name)}
	for i, s := range scanners {
		list = append(list,
			jen.Id("c").Op(pick(i == 0, ":=", "=")).Id(s.newJSON).Call(),
			jen.If(jen.Op("!").Id(read).Dot(s.readJSON).Call(jen.Id("c"), jen.Id("value"))).Block(jen.Return(jen.Id("c").Dot("Fault").Call())))
	}
	for _, fd := range r.fields {
		if fd.typ.Kind != ir.String {
			continue
		}
		text := name(read).dot(fd.name)
		if fd.typ.Null {
			text = text.dot("V")
		}
		list = append(list, jen.Add(text.code).Op("=").Add(rt("Own")).Call(text.code))
	}
	return append(list, jen.Op("*").Id(v).Op("=").Id(read), jen.Return(jen.Nil()))
}
