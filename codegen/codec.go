package codegen

import "github.com/dave/jennifer/jen"

// printCodec prints how the state is kept in a checkpoint: its fields one behind the other.
func (w *window) printCodec(f *jen.File) {
	type step struct{ codec, field, part string }
	var steps []step
	for _, a := range w.aggregates {
		for _, sf := range a.state {
			if sf.null {
				steps = append(steps, step{"Bool", sf.name, "OK"}, step{sf.codec, sf.name, "V"})
			} else {
				steps = append(steps, step{sf.codec, sf.name, ""})
			}
		}
	}
	var write, read []jen.Code
	for i, s := range steps {
		field := func() *jen.Statement {
			at := jen.Id("s").Dot(s.field)
			if s.part != "" {
				at.Dot(s.part)
			}
			return at
		}
		call := rt("AppendState"+s.codec).Call(jen.Id("b"), field())
		if i < len(steps)-1 {
			write = append(write, jen.Id("b").Op("=").Add(call))
		} else {
			write = append(write, jen.Return(call))
		}
		read = append(read, jen.List(field(), jen.Id("b")).Op("=").Add(rt("ReadState"+s.codec)).Call(jen.Id("b")))
	}
	read = append(read, jen.Return(jen.Id("b")))
	params := func() *jen.Statement {
		return jen.Params(jen.Id("b").Index().Byte(), jen.Id("s").Op("*").Id(w.state)).Index().Byte()
	}
	f.Comment("// The form of " + w.state + " in a checkpoint.")
	f.Line()
	f.Func().Id(w.appendState).Add(params()).Block(write...)
	f.Line()
	f.Func().Id(w.readState).Add(params()).Block(read...)
}
