package codegen

import (
	"cmp"
	"slices"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// rejected is a row of results as it reaches a clause that can refuse it.
type rejected struct {
	row    ir.Row
	record *record
	method string // of pipeline
}

// rejectAggregate refuses the present result: an aggregate does not fit its type.
func (w *window) rejectAggregate(clause *jen.Statement) *jen.Statement {
	p := w.stream.program
	w.reject = p.members.member("reject" + exported(w.stream.name))
	key := jen.Nil()
	if len(w.op.By) > 0 {
		key = jen.Id(w.keyName)
	}
	return jen.Id("p").Dot(w.reject).Call(clause, jen.Id("w"), key, jen.Id("s"))
}

// rejectRow refuses the present result: a clause behind the aggregate fails. Clauses that take the same row
// share the method.
func (c *chain) rejectRow(clause *jen.Statement, at present) *jen.Statement {
	r := c.rejectedAs(at.row)
	return jen.Id("p").Dot(r.method).Call(clause, jen.Id("w"), at.literal(r.record))
}

func (c *chain) rejectedAs(row ir.Row) *rejected {
	w := c.window
	alike := func(x, y ir.Field) bool { return x.Name == y.Name && x.Type == y.Type }
	for _, r := range w.rejected {
		if slices.EqualFunc(r.row, row, alike) {
			return r
		}
	}
	p, name := w.stream.program, w.stream.name
	typeName := p.names.takeBeside(c.locals, unexported(name)+"Row")
	r := &rejected{
		row:    row,
		record: p.newRecord(typeName, "result", row, all(row)),
		method: p.members.member("reject" + exported(name) + "Row"),
	}
	w.rejected = append(w.rejected, r)
	return r
}

// printRejectRow prints the type and the method for results that a clause refuses.
func (w *window) printRejectRow(f *jen.File, r *rejected) {
	p := w.stream.program
	p.usesRow = true
	c := &code{program: p, locals: p.names.inner("p", "c", "w", "r", "b")}
	c.columns = r.record.columns(r.row, "r")
	var fields []jsonField
	for i, col := range r.row {
		fields = append(fields, jsonField{col.Name, c.columns[i], col.Type})
	}
	c.object(emptyRow(), fields)
	c.add(jen.Id("p").Dot("row").Op("=").Append(jen.Id("b"), jen.LitRune('}')))
	c.add(jen.Id("p").Dot(w.field).Dot("RejectResult").Call(jen.Id("c"), jen.Id("w"), calcFault(), jen.Id("p").Dot("row")))

	f.Comment("// " + r.record.name + " is a result as it reaches a clause that can refuse it.")
	f.Add(r.record.declaration("the window"))
	f.Comment("// " + r.method + " hands a result to the on_error of its sources.")
	f.Add(method(r.method, jen.Id("c").Op("*").Add(rt("Clause")), jen.Id("w").Add(w.pane()),
		jen.Id("r").Op("*").Id(r.record.name)).Block(c.list...))
	f.Line()
}

// emptyRow is the scratch space for a result as JSON.
func emptyRow() jen.Code { return jen.Id("p").Dot("row").Index(jen.Empty(), jen.Lit(0)) }

// printRejectAggregate prints the method that hands a result to the on_error of the sources: as JSON, with null for an
// aggregate that does not fit its type.
func (w *window) printRejectAggregate(f *jen.File) {
	p := w.stream.program
	p.usesRow = true
	c := &chain{code: &code{program: p, locals: p.names.inner("p", "c", "w", "s", "b", "key", "fault")}, row: w.node.Row, window: w}
	c.columns = make([]value, len(w.node.Row))
	c.silent = true
	c.add(jen.Id("fault").Op(":=").Add(calcFault()))
	key := w.readKeys(c, all(w.node.Row))
	n := len(w.op.By)
	c.columns[n], c.columns[n+1] = name("w").dot("Start"), name("w").dot("End")
	var fields []jsonField
	for i, col := range w.node.Row[:n+2] {
		fields = append(fields, jsonField{col.Name, c.columns[i], col.Type})
	}
	c.object(emptyRow(), fields)
	for i, a := range w.aggregates {
		col := w.node.Row[n+2+i]
		c.member(col.Name)
		if !planner.CanOverflow(a.Aggregate) {
			c.appendJSON(jen.Id("b"), a.result(c), col.Type)
			continue
		}
		v := a.result(c)
		c.fallible = false
		body := c.block(func() { c.appendJSON(jen.Id("b"), v, col.Type) })
		c.add(jen.If(calcFailed()).Block(
			calcFault(),
			jen.Id("b").Op("=").Append(jen.Id("b"), jen.Lit("null").Op("...")),
		).Else().Block(body...))
	}
	c.add(jen.Id("p").Dot("row").Op("=").Append(jen.Id("b"), jen.LitRune('}')))
	c.add(jen.Id("p").Dot(w.field).Dot("RejectResult").Call(jen.Id("c"), jen.Id("w"), jen.Id("fault"), jen.Id("p").Dot("row")))

	f.Comment("// " + w.reject + " hands a result to the on_error of its sources. What does not fit its type is null.")
	f.Add(method(w.reject, jen.Id("c").Op("*").Add(rt("Clause")), jen.Id("w").Add(w.pane()),
		jen.Id(cmp.Or(key, "_")).Index().Byte(), jen.Id("s").Op("*").Id(w.state)).Block(c.list...))
	f.Line()
}
