package codegen

import (
	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// chain writes the clauses of a stream one behind the other, as straight-line code.
type chain struct {
	*code
	row ir.Row // what columns are
	// whole is the type of the present row if it is a value as it came in; wholeName is a pointer to it.
	whole     *record
	wholeName string
	// time is the event time of the present row.
	time func() jen.Code
	// window is what the rows are results of, nil for records.
	window *window
}

// leave goes on with the next row.
func (c *chain) leave() jen.Code {
	if c.window != nil {
		return jen.Continue()
	}
	return jen.Return()
}

// filter counts the present row as filtered by clause n.
func (c *chain) filter(n *planner.Node) jen.Code {
	clause := jen.Id("p").Dot(c.program.clause(n))
	if c.window != nil {
		return clause.Dot("FilterResult").Call()
	}
	return clause.Dot("Filter").Call(jen.Id("in"))
}

// present is the row as it stands somewhere: what its columns are, and what they are called.
type present struct {
	row     ir.Row
	columns []value
}

func (c *chain) present() present { return present{c.row, c.columns} }

// check leaves if something has failed since the last check: clause n rejects the record or result, which
// reached it as row.
func (c *chain) check(n *planner.Node, row present) {
	if !c.fallible {
		return
	}
	c.fallible = false
	clause := jen.Id("p").Dot(c.program.clause(n))
	reject := jen.Id("in").Dot("RejectIn").Call(clause, calcFault())
	if w := c.window; w != nil && n == w.node {
		reject = w.rejectAggregate(clause)
	} else if w != nil {
		reject = c.rejectRow(clause, row)
	}
	c.add(jen.If(calcFailed()).Block(reject, c.leave()))
}

// node writes a clause and all that follows it.
func (c *chain) node(n *planner.Node) {
	switch op := n.Op.(type) {
	case *planner.Union:
		c.send(n)
	case *planner.Filter:
		c.where(n, op)
		c.send(n)
	case *planner.Project:
		before := c.present()
		c.project(n, op)
		c.check(n, before)
		c.send(n)
	case *planner.Exchange:
		c.addToWindow(n)
	case *planner.Route:
		c.route(n, op)
	default:
		panic(bugf("%s within a stream", n.ID))
	}
}

func (c *chain) where(n *planner.Node, op *planner.Filter) {
	c.place(n.Place)
	keep := c.expr(op.Cond)
	if c.fallible && !keep.simple {
		v := c.locals.take("keep")
		c.add(jen.Id(v).Op(":=").Add(keep.code))
		keep = name(v)
	}
	c.check(n, c.present())
	c.add(jen.If(negation(keep).code).Block(c.filter(n), c.leave()))
}

// project writes a let or select: an item that is a column as it is costs nothing.
func (c *chain) project(n *planner.Node, op *planner.Project) {
	at := clause{n.Place, placesOf(op.Items)}
	before := len(c.list)
	columns := make([]value, len(n.Row))
	first := 0
	if op.Append {
		first = copy(columns, c.columns)
		c.columns = columns
	}
	used, _ := itemsRead(op, len(c.row), c.program.live[n])
	for i, item := range op.Items {
		e := simplify(item.Expr)
		switch {
		case used[i] && isPlace(e):
			columns[first+i] = c.value(e)
		case used[i]:
			c.placeItem(at.of(i))
			columns[first+i] = c.inVariable(unexported(item.Name), e)
		case e.Fallible():
			c.forFaults(at.of(i), e)
		}
	}
	if len(c.list) == before {
		c.place(n.Place)
	}
	c.row, c.columns, c.whole = n.Row, columns, nil
}

// item is the value of an item: a new variable, unless it is a column or a literal.
func (c *code) item(n string, e ir.Expr) value {
	if isPlace(e) {
		return c.value(e)
	}
	return c.inVariable(unexported(n), e)
}

// forFaults evaluates e, whose value nobody needs, for the faults that it can have.
func (c *code) forFaults(at itemPlace, e ir.Expr) {
	before := c.fallible
	c.fallible = false
	var v value
	statements := c.block(func() { v = c.value(e) })
	if c.fallible {
		c.placeItem(at)
		c.add(statements...)
		c.use(v)
	}
	c.fallible = c.fallible || before
}

// send passes the present row of n on: to the sinks and other streams in the order of the text, then to the
// next clause.
func (c *chain) send(n *planner.Node) {
	var targets []planner.Edge
	for _, e := range n.Out {
		if e.Kind == planner.Rows && (e.To.Stream == "" || e.To.Stream != n.Stream) {
			targets = append(targets, e)
		}
	}
	c.share(targets)
	for _, e := range targets {
		c.add(c.pass(e))
	}
	if next := follower(n); next != nil {
		c.node(next)
	}
}

// share gives the row a variable if two targets want it as a value of the same new type.
func (c *chain) share(targets []planner.Edge) {
	count := map[*record]int{}
	for _, e := range targets {
		count[c.program.targetType(e.To)]++
	}
	for _, e := range targets {
		if r := c.program.targetType(e.To); r != c.whole && count[r] > 1 {
			v := c.locals.take(c.program.variable(r))
			c.add(jen.Id(v).Op(":=").Add(c.present().literal(r)))
			c.whole, c.wholeName = r, v
			return
		}
	}
}

// pass hands the present row to another stream or a sink, with the clause that asks for it.
func (c *chain) pass(e planner.Edge) jen.Code {
	row := c.as(c.program.targetType(e.To))
	if s := c.program.sinkOf[e.To]; s != nil {
		c.place(e.Clause)
		return jen.Id("p").Dot(s.write).Call(row, c.time())
	}
	call := jen.Id("p").Dot(c.program.streamOf[e.To.Stream].take).Call(jen.Id("in"), row)
	if e.Clause.Line > 0 {
		call.Comment("// " + c.program.place(e.Clause) + ": " + oneLine(e.Clause.Text))
	}
	return call
}

// as is a pointer to the present row as a value of type r.
func (c *chain) as(r *record) jen.Code {
	if c.whole == r {
		return jen.Id(c.wholeName)
	}
	return c.present().literal(r)
}

// literal is a pointer to the row as a value of type r.
func (p present) literal(r *record) jen.Code {
	var lines []jen.Code
	for _, f := range r.fields {
		lines = append(lines, entry(f.name, p.columns[p.row.Index(f.column)].code))
	}
	return jen.Op("&").Id(r.name).Add(maybeLines(lines))
}

// targetType is the type that a stream or sink takes.
func (p *program) targetType(n *planner.Node) *record {
	if s := p.sinkOf[n]; s != nil {
		return s.record
	}
	return p.streamOf[n.Stream].record
}
