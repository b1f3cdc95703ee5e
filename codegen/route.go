package codegen

import (
	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/planner"
)

// route writes a `to` with conditions. All of them are judged before the row goes anywhere: a row that
// is rejected is in no sink.
func (c *chain) route(n *planner.Node, op *planner.Route) {
	c.place(n.Place)
	var conditions, always, otherwise []planner.Edge
	var values []value
	for i, r := range op.Routes {
		switch {
		case r.If != nil:
			conditions = append(conditions, n.Out[i])
			values = append(values, c.expr(r.If))
		case r.Else:
			otherwise = append(otherwise, n.Out[i])
		default:
			always = append(always, n.Out[i])
		}
	}
	if c.fallible || len(values) > 1 {
		for i, e := range conditions {
			v := c.locals.take("to" + exported(e.To.ID))
			c.add(jen.Id(v).Op(":=").Add(values[i].code))
			values[i] = name(v)
		}
	}
	c.check(n, c.present())
	c.shareRoutes(n)
	for _, e := range always {
		c.add(c.toSink(n, e))
	}
	var rest []jen.Code
	for _, e := range otherwise {
		rest = append(rest, c.toSink(n, e))
	}
	if len(rest) == 0 && len(always) == 0 {
		rest = append(rest, c.filter(n))
	}
	c.branches(n, conditions, values, rest)
}

// branches sends the row to each sink whose condition holds; rest is done if none does.
func (c *chain) branches(n *planner.Node, to []planner.Edge, conditions []value, rest []jen.Code) {
	if len(to) == 0 {
		c.add(rest...)
		return
	}
	if len(to) == 1 {
		s := jen.If(conditions[0].code).Block(c.toSink(n, to[0]))
		if len(rest) > 0 {
			s.Else().Block(rest...)
		}
		c.add(s)
		return
	}
	none := negation(conditions[0])
	for i, e := range to {
		c.add(jen.If(conditions[i].code).Block(c.toSink(n, e)))
		if i > 0 {
			none = binary(none, "&&", negation(conditions[i]), precAnd)
		}
	}
	if len(rest) > 0 {
		c.add(jen.If(none.code).Block(rest...))
	}
}

// shareRoutes gives the row a variable if it goes to several sinks as a value of one new type.
func (c *chain) shareRoutes(n *planner.Node) {
	var sinks []planner.Edge
	for _, e := range n.Out {
		if e.Kind == planner.Rows {
			sinks = append(sinks, e)
		}
	}
	c.share(sinks)
}

func (c *chain) toSink(n *planner.Node, e planner.Edge) jen.Code {
	e.Clause = n.Place // said already
	return c.pass(e)
}
