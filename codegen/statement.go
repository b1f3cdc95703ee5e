package codegen

import (
	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
)

// block collects what write adds, with the variables that are known here.
func (c *code) block(write func()) []jen.Code {
	outer := c.list
	c.list = nil
	write()
	inner := c.list
	c.list = outer
	return inner
}

// inVariable is the value of e in a new variable.
func (c *code) inVariable(want string, e ir.Expr) value {
	n := c.locals.take(want)
	c.declare(n, e)
	return name(n)
}

// left is the value of l, whose operator has r on its right. What is the same on both sides, and can
// fail or it would be gone, gets a variable: staticcheck takes it for a slip.
func (c *code) left(l, r ir.Expr) value {
	if same(l, r) {
		return c.inVariable("v", l)
	}
	return c.value(l)
}

// simple is the value of e in a form that can be written twice.
func (c *code) simple(want string, e ir.Expr) value {
	v := c.value(e)
	if v.simple {
		return v
	}
	return c.variable(want, v, e.Type())
}

// declare makes the variable n of the value of e.
func (c *code) declare(n string, e ir.Expr) {
	if co, ok := e.(*ir.Coalesce); ok && !isOr(co) {
		c.coalesce(n, ":=", co)
		return
	}
	if needsStatement(e) {
		c.add(jen.Var().Id(n).Add(goType(e.Type())))
		c.assign(n, e)
		return
	}
	c.add(jen.Id(n).Op(":=").Add(c.value(e).typed(e.Type()).code))
}

// assign gives the variable n, which is zero, the value of e.
func (c *code) assign(n string, e ir.Expr) {
	switch e := e.(type) {
	case *ir.Cond:
		c.cond(n, e)
		return
	case *ir.Coalesce:
		if !isOr(e) {
			c.coalesce(n, "=", e)
			return
		}
	case *ir.Cast:
		if needsStatement(e) {
			c.castNullable(n, e)
			return
		}
	case *ir.Const:
		if e.Value == nil {
			return // it is zero
		}
	}
	c.add(jen.Id(n).Op("=").Add(c.value(e).code))
}

// cond assigns one of two values.
func (c *code) cond(n string, e *ir.Cond) {
	cond := c.value(e.If)
	then := c.block(func() { c.assign(n, e.Then) })
	inner, isCond := e.Else.(*ir.Cond)
	chained := isCond && c.plain(inner.If) && !(isNullConst(inner.Then) && isNullConst(inner.Else))
	otherwise := c.block(func() { c.assign(n, e.Else) })
	switch {
	case len(otherwise) == 0 && len(then) == 0:
		c.use(cond)
	case len(otherwise) == 0:
		c.add(jen.If(cond.code).Block(then...))
	case len(then) == 0:
		c.add(jen.If(negation(cond).code).Block(otherwise...))
	case chained && len(otherwise) == 1:
		c.add(jen.If(cond.code).Block(then...).Else().Add(otherwise[0]))
	default:
		c.add(jen.If(cond.code).Block(then...).Else().Block(otherwise...))
	}
}

// coalesce declares or assigns x ?? y.
func (c *code) coalesce(n, op string, e *ir.Coalesce) {
	ok := name(n).dot("OK")
	if e.T.Null {
		c.add(jen.Id(n).Op(op).Add(c.value(e.X).code))
	} else {
		x := c.simple("found", e.X)
		c.add(jen.Id(n).Op(op).Add(x.dot("V").code))
		ok = x.dot("OK")
	}
	otherwise := c.block(func() { c.assign(n, e.Else) })
	c.add(jen.If(negation(ok).code).Block(otherwise...))
}

// use writes a value that nothing needs, for the faults that it can have.
func (c *code) use(v value) { c.add(jen.Id("_").Op("=").Add(v.code)) }

// needsStatement reports whether the outermost part of e is a statement in Go.
func needsStatement(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Cond:
		return true
	case *ir.Coalesce:
		return !isOr(e)
	case *ir.Cast:
		return e.X.Type().Null && !sameForm(e.X.Type(), e.T)
	}
	return false
}

// plain reports whether no part of e takes a statement, nor is so large that it becomes one, so that e can stand where it is
// evaluated only if it is needed.
func (c *code) plain(e ir.Expr) bool {
	plain, weight := true, 0
	walk(e, func(e ir.Expr) {
		weight++
		switch e := e.(type) {
		case *ir.In:
			weight += 3 * len(e.List) // a comparison, its left and what joins it, for each: as in adds them up
			plain = plain && isPlace(e.X)
		case *ir.Arith:
			plain = plain && !same(e.L, e.R)
		case *ir.Compare:
			plain = plain && !same(e.L, e.R)
		}
		plain = plain && !needsStatement(e)
	})
	return plain && weight <= maxWeight
}

// isPlace reports whether e is a column or constant as it is, perhaps known not to be null.
func isPlace(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Column, *ir.Const:
		return true
	case *ir.Known:
		return isPlace(e.X)
	case *ir.Cast:
		return isPlace(e.X) && sameForm(e.X.Type(), e.T)
	}
	return false
}

// isOr reports whether e can be written x.Or(y): y is there and costs nothing.
func isOr(e *ir.Coalesce) bool { return !e.T.Null && isPlace(e.Else) }
