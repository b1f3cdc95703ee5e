package codegen

import (
	"slices"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
)

// code is the body of a function while it is being written: statements, and what the columns of the
// present row are called in it.
type code struct {
	program *program
	locals  scope
	list    []jen.Code
	columns []value // of the row; the zero value where nothing reads it
	// fallible: a function of Calc was called since the last check.
	fallible bool
	weight   map[ir.Expr]int // how much code an expression has become
	said     itemPlace       // in the last comment
	silent   bool            // places go without saying
}

func (c *code) add(statements ...jen.Code) { c.list = append(c.list, statements...) }

// place writes where a clause stands and what it says, unless the comment before did.
func (c *code) place(at ir.Place) { c.placeItem(itemPlace{at, at}) }

// itemPlace is an item and its clause.
type itemPlace struct{ at, clause ir.Place }

// placeItem is place for one item of a clause. An empty line parts clauses.
func (c *code) placeItem(i itemPlace) {
	if i.at.Line == 0 || i.at == c.said.at || c.silent {
		return
	}
	if len(c.list) > 0 && i.clause != c.said.clause {
		c.add(jen.Line())
	}
	c.add(jen.Comment("// " + c.program.place(i.at) + ": " + oneLine(i.at.Text)))
	c.said = i
}

// clause is a clause with items.
type clause struct {
	at    ir.Place
	items []ir.Place
}

// of is the place to name for item i: its own, if the items stand on several lines.
func (c clause) of(i int) itemPlace {
	for _, at := range c.items {
		if at.Line > 0 && at.Line != c.at.Line {
			return itemPlace{c.items[i], c.at}
		}
	}
	return itemPlace{c.at, c.at}
}

func placesOf(items []ir.Named) []ir.Place {
	var list []ir.Place
	for _, i := range items {
		list = append(list, i.Place)
	}
	return list
}

// expr is the value of e. What Go has no expression for is written as statements first.
func (c *code) expr(e ir.Expr) value { return c.value(simplify(e)) }

// calc calls a function that can fail.
func (c *code) calc(f string, args ...jen.Code) value {
	c.fallible = true
	return c.scratch(f, args...)
}

// scratch calls a function of Calc that cannot fail.
func (c *code) scratch(f string, args ...jen.Code) value {
	c.program.usesCalc = true
	return value{code: jen.Id("p").Dot("calc").Dot(f).Call(args...), prec: primary}
}

// maxWeight is how many operators and operands a Go expression has at most. gofmt takes the square of their number, and nobody
// reads more: a part of what is larger becomes a variable.
const maxWeight = 200

func (c *code) value(e ir.Expr) value {
	v := c.written(e)
	weight := 1
	if !v.simple {
		for _, x := range operands(e) {
			weight += c.weight[x]
		}
	}
	if weight > maxWeight {
		v, weight = c.variable("v", v, e.Type()), 1
	}
	if c.weight == nil {
		c.weight = map[ir.Expr]int{}
	}
	c.weight[e] = weight
	return v
}

// variable puts v, of type t, into a new variable.
func (c *code) variable(want string, v value, t ir.Type) value {
	n := c.locals.take(want)
	c.add(jen.Id(n).Op(":=").Add(v.typed(t).code))
	return name(n)
}

// written is the value of e as an expression of Go, behind statements where there is none.
func (c *code) written(e ir.Expr) value {
	switch e := e.(type) {
	case *ir.Column:
		v := c.columns[e.Index]
		if v.code == nil {
			panic(bugf("column %s is read but not live", e.Name))
		}
		return v
	case *ir.Const:
		return constant(e)
	case *ir.Not:
		return negation(c.value(e.X))
	case *ir.Neg:
		return c.neg(e)
	case *ir.Arith:
		return c.arith(e)
	case *ir.Compare:
		return compareValues(e.Op, c.left(e.L, e.R), e.L.Type(), c.value(e.R), e.R.Type())
	case *ir.Logic:
		return c.logic(e.Or, c.left(e.L, e.R), e.R)
	case *ir.In:
		return c.in(e)
	case *ir.Coalesce:
		if isOr(e) {
			return c.value(e.X).method("Or", c.value(e.Else).code)
		}
		return c.inVariable("v", e)
	case *ir.IsNull:
		ok := c.value(e.X).dot("OK")
		if e.Neg {
			return ok
		}
		return negation(ok)
	case *ir.Cond:
		return c.inVariable("v", e)
	case *ir.Cast:
		return c.cast(e)
	case *ir.Known:
		return c.value(e.X).dot("V")
	}
	panic(bugf("expression %T", e))
}

// logic is l && r or l || r. Where r takes statements, they stand behind a condition.
func (c *code) logic(or bool, l value, r ir.Expr) value {
	if c.plain(r) {
		return joined(or, l, c.value(r))
	}
	n := c.locals.take("ok")
	c.add(jen.Id(n).Op(":=").Add(l.code))
	cond := name(n)
	if or {
		cond = negation(cond)
	}
	then := c.block(func() { c.assign(n, r) })
	c.add(jen.If(cond.code).Block(then...))
	return name(n)
}

func joined(or bool, l, r value) value {
	if or {
		return binary(l, "||", r, precOr)
	}
	return binary(l, "&&", r, precAnd)
}

// in compares with one item after the other, as far as needed: as a chain of comparisons with a variable.
func (c *code) in(e *ir.In) value {
	op := pick(e.Neg, ir.Ne, ir.Eq)
	row := c.columns
	x := &ir.Column{Index: len(row), T: e.X.Type()}
	c.columns = append(slices.Clip(row), c.simple("v", e.X))
	var v value
	weight := 0
	for i, y := range e.List {
		if weight > maxWeight {
			v, weight = c.variable("ok", v, ir.Type{Kind: ir.Bool}), 1
		}
		item := &ir.Compare{Op: op, L: x, R: y}
		if i == 0 {
			v = c.value(item)
		} else {
			v = c.logic(!e.Neg, v, item)
		}
		weight += c.weight[item] + 1
	}
	c.columns = row
	return v
}

// compareValues compares two values of one kind.
func compareValues(op ir.CompareOp, l value, lt ir.Type, r value, rt ir.Type) value {
	switch {
	case lt.Kind == ir.String:
		l, r = asText(l), asText(r)
	case lt.Wide() || rt.Wide():
		l, r = wide(l, lt), wide(r, rt)
		if op != ir.Eq && op != ir.Ne {
			l, r = l.method("Cmp", r.code), intLit(0)
		}
	}
	return binary(l, string(op), r, precCompare)
}

// asText is a string as Go compares it, without a copy.
func asText(v value) value {
	if v.text != nil {
		return value{code: jen.Lit(*v.text), prec: primary, simple: true}
	}
	return value{code: jen.String().Call(v.code), prec: primary, simple: v.simple}
}
