package codegen

import (
	"strconv"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
)

// scanner is what reads values of a type from JSON: a cursor that stops at the fields, and a method that takes their values.
type scanner struct {
	record    *record
	fields    []field     // that it reads
	more      bool        // others have been read before
	defaults  []*ir.Const // of the fields; nil for none
	constants []string    // numbers of the fields
	newJSON   string      // function that makes the cursor
	readJSON  string      // method of the type
}

// maxFields is what a JSON cursor can keep track of.
const maxFields = 64

// newScanner names a scanner for fields of r.
func (p *program) newScanner(r *record, fields []field) *scanner {
	s := &scanner{record: r, fields: fields, defaults: make([]*ir.Const, len(fields)), readJSON: "readJSON"}
	s.newJSON = p.names.take("new" + r.name + "JSON")
	for _, f := range fields {
		s.constants = append(s.constants, p.names.take(unexported(r.name)+f.name))
	}
	return s
}

// newScanners names as many scanners as the fields of r take.
func (p *program) newScanners(r *record) []*scanner {
	list := []*scanner{p.newScanner(r, r.fields[:min(len(r.fields), maxFields)])}
	for at := maxFields; at < len(r.fields); at += maxFields {
		s := p.newScanner(r, r.fields[at:min(len(r.fields), at+maxFields)])
		list = append(list, s)
		s.more, s.readJSON = true, "readJSON"+strconv.Itoa(len(list))
	}
	return list
}

// optional reports whether a record may do without field i.
func (s *scanner) optional(i int) bool { return s.fields[i].typ.Null || s.defaults[i] != nil }

// printTable prints the numbers of the fields and the function that makes the cursor.
func (s *scanner) printTable(f *jen.File) {
	if len(s.fields) > 0 {
		f.Comment("// The fields of " + s.record.name + ", as " + s.newJSON + " numbers them.")
		var lines []jen.Code
		for i, c := range s.constants {
			line := jen.Id(c)
			if i == 0 {
				line.Op("=").Iota()
			}
			lines = append(lines, line)
		}
		f.Const().Defs(lines...)
		f.Line()
	}
	f.Func().Id(s.newJSON).Params().Op("*").Add(rt("JSON")).Block(jen.Return(rt("NewJSON").Call(s.fieldTable())))
	f.Line()
}

// fieldTable lists the fields that the cursor stops at.
func (s *scanner) fieldTable() jen.Code {
	if len(s.fields) == 0 {
		return jen.Nil()
	}
	var lines []jen.Code
	for i, f := range s.fields {
		spec := []jen.Code{jen.Id("Name").Op(":").Lit(f.column)}
		if s.optional(i) {
			spec = append(spec, jen.Id("Optional").Op(":").True())
		}
		lines = append(lines, jen.Id(s.constants[i]).Op(":").Values(spec...))
	}
	return jen.Index().Add(rt("Field")).Add(multiline(lines))
}

// printRead prints the method: a switch over the fields. v is its receiver.
func (s *scanner) printRead(f *jen.File, v string) {
	var body []jen.Code
	var cases []jen.Code
	var defaults []jen.Code
	optional := false
	for i, fd := range s.fields {
		target := jen.Id(v).Dot(fd.name)
		optional = optional || s.optional(i)
		read := jen.Add(target).Op("=").Add(pick(fd.typ.Null, some(readValue(fd.typ), fd.typ), readValue(fd.typ)).code)
		if s.optional(i) {
			read = jen.If(jen.Op("!").Id("c").Dot("Null").Call()).Block(read)
		}
		if d := s.defaults[i]; d != nil {
			defaults = append(defaults, jen.Id(fd.name).Op(":").Add(constant(defaultOf(d, fd.typ)).code))
		}
		cases = append(cases, jen.Case(jen.Id(s.constants[i])).Block(read))
	}
	if optional && !s.more {
		body = append(body, jen.Op("*").Id(v).Op("=").Id(s.record.name).Add(maybeLines(defaults)))
	}
	if len(cases) > 0 {
		body = append(body, jen.For(jen.Id("c").Dot("Begin").Call(jen.Id("value")), jen.Id("c").Dot("Next").Call(), jen.Empty()).Block(
			jen.Switch(jen.Id("c").Dot("Field").Call()).Block(cases...)))
	} else {
		body = append(body, jen.Id("c").Dot("Begin").Call(jen.Id("value")), jen.Id("c").Dot("Next").Call())
	}
	body = append(body, jen.Return(jen.Id("c").Dot("End").Call()))
	what := pick(s.more, "more fields of ", "") + a(s.record.noun)
	f.Comment("// " + s.readJSON + " reads " + what + " from value. It returns false if value is not one.")
	f.Func().Params(jen.Id(v).Op("*").Id(s.record.name)).Id(s.readJSON).Params(
		jen.Id("c").Op("*").Add(rt("JSON")), jen.Id("value").Index().Byte()).Bool().Block(body...)
}

// defaultOf is the literal d as a t.
func defaultOf(d *ir.Const, t ir.Type) *ir.Const {
	c, ok := cast(d, t).(*ir.Const)
	if !ok {
		panic(bugf("default of type %s for a %s", d.T, t))
	}
	return c
}

// readValue reads a value of type t at the cursor c.
func readValue(t ir.Type) value {
	read := func(method string, args ...jen.Code) value { return name("c").method(method, args...) }
	switch t.Kind {
	case ir.Bool:
		return read("Bool")
	case ir.Int:
		return read("Int")
	case ir.Float:
		return read("Float")
	case ir.String:
		return read("String")
	case ir.Decimal:
		return read("Decimal"+pick(t.Wide(), "128", ""), jen.Lit(t.Precision), jen.Lit(t.Scale))
	case ir.Duration:
		return read("Duration")
	case ir.Timestamp:
		if t.Unit == ir.Text {
			return read("Time")
		}
		return read("TimeUnit", unit(t.Unit))
	}
	panic(bugf("no way to read %s", t))
}
