package codegen

import (
	"slices"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// windowKey is the key of the present row: the bytes of one string, else its parts one behind the other
// in p.key.
func (c *chain) windowKey(w *window) jen.Code {
	by := w.op.By
	if len(by) == 0 {
		return jen.Nil()
	}
	if w.plainKey() {
		return c.item(by[0].Name, simplify(by[0].Expr)).code
	}
	parts := make([]value, len(by))
	for i, k := range by {
		parts[i] = c.simple(unexported(k.Name), simplify(k.Expr))
	}
	c.program.usesKey = true
	key := func() *jen.Statement { return jen.Id("p").Dot("key") }
	to := key().Index(jen.Empty(), jen.Lit(0))
	for i, v := range parts {
		t := by[i].Expr.Type()
		if t.Null {
			c.add(key().Op("=").Add(rt("AppendKeyNull")).Call(to, v.dot("OK").code))
			c.add(jen.If(v.dot("OK").code).Block(
				key().Op("=").Add(rt("AppendKey"+keyCodec(t))).Call(key(), v.dot("V").code)))
		} else {
			c.add(key().Op("=").Add(rt("AppendKey"+keyCodec(t))).Call(to, v.code))
		}
		to = key()
	}
	return key()
}

// keyCodec names how a value of t stands in a key.
func keyCodec(t ir.Type) string {
	switch t.Kind {
	case ir.Bool:
		return "Bool"
	case ir.Int:
		return "Int"
	case ir.String:
		return "String"
	case ir.Timestamp:
		return "Time"
	case ir.Duration:
		return "Duration"
	case ir.Decimal:
		return "Decimal" + pick(t.Wide(), "128", "")
	}
	panic(bugf("%s in a key", t))
}

// readKeys makes the keys of a result columns. It returns what the bytes of the key are called in the loop over a
// closed window, "" if nobody reads them.
func (w *window) readKeys(c *chain, live columns) string {
	by := w.op.By
	rejects := slices.ContainsFunc(w.op.Aggregates, planner.CanOverflow) // what is refused has its key
	if w.plainKey() {
		w.keyName = c.locals.take(unexported(by[0].Name))
		c.columns[0] = name(w.keyName)
		return pick(live[0] || rejects, w.keyName, "")
	}
	if len(by) > 0 {
		w.keyName = "key"
	}
	var names []jen.Code
	used := false
	for i, k := range by {
		if !live[i] {
			names = append(names, jen.Id("_"))
			continue
		}
		used = true
		n := c.locals.take(unexported(k.Name))
		c.columns[i] = name(n)
		names = append(names, jen.Id(n))
	}
	if !used {
		return pick(rejects, w.keyName, "")
	}
	c.add(jen.List(names...).Op(":=").Id(w.readKey).Call(jen.Id(w.keyName)))
	return w.keyName
}

// printReadKey prints the function that takes a key of several parts apart.
func (w *window) printReadKey(f *jen.File) {
	locals := w.stream.program.names.inner("b")
	var results, body, names []jen.Code
	for i, k := range w.op.By {
		t := k.Expr.Type()
		n := locals.take(unexported(k.Name))
		last := i == len(w.op.By)-1
		if !last && w.op.By[i+1].Expr.Type() == t {
			results = append(results, jen.Id(n)) // has the type of the next
		} else {
			results = append(results, jen.Id(n).Add(goType(t)))
		}
		names = append(names, jen.Id(n))
		rest := jen.Id(pick(last, "_", "b"))
		read := rt("ReadKey" + keyCodec(t)).Call(jen.Id("b"))
		if t.Null {
			body = append(body, jen.If(
				jen.List(jen.Id(n).Dot("OK"), jen.Id("b")).Op("=").Add(rt("ReadKeyNull")).Call(jen.Id("b")),
				jen.Id(n).Dot("OK"),
			).Block(jen.List(jen.Id(n).Dot("V"), rest).Op("=").Add(read)))
		} else {
			body = append(body, jen.List(jen.Id(n), rest).Op("=").Add(read))
		}
	}
	body = append(body, jen.Return(names...))
	f.Comment("// " + w.readKey + " takes the key of a window apart.")
	f.Func().Id(w.readKey).Params(jen.Id("b").Index().Byte()).Params(results...).Block(body...)
	f.Line()
}
