package codegen

import (
	"math/big"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
)

func (c *code) neg(e *ir.Neg) value {
	x := c.value(e.X)
	switch t := e.Type(); {
	case t.Kind == ir.Int:
		return c.calc("NegInt", x.code)
	case t.Kind == ir.Duration:
		return c.calc("NegDuration", x.code)
	case t.Wide():
		return x.method("Neg")
	}
	return unary("-", x)
}

var opNames = map[ir.ArithOp]string{ir.Add: "Add", ir.Sub: "Sub", ir.Mul: "Mul", ir.Div: "Div", ir.Rem: "Rem"}

func (c *code) arith(e *ir.Arith) value {
	l, r := c.left(e.L, e.R), c.value(e.R)
	lk, rk := e.L.Type().Kind, e.R.Type().Kind
	op := opNames[e.Op]
	switch {
	case lk == ir.Int && rk == ir.Int:
		if v, ok := plainDivision(e, l, r); ok {
			return v
		}
		return c.calc(op+"Int", l.code, r.code)
	case lk == ir.Float && rk == ir.Float:
		return c.calc(op+"Float", l.code, r.code)
	case lk == ir.Decimal && rk == ir.Decimal:
		if !arithFails(e) {
			return exact(e, l, r)
		}
		return c.decimal(e, l, r)
	case lk == ir.Timestamp && rk == ir.Timestamp && e.Op == ir.Sub:
		return binary(l, "-", r, precAdd)
	case lk == ir.Timestamp && rk == ir.Duration && (e.Op == ir.Add || e.Op == ir.Sub):
		return c.calc(op+"Time", l.code, r.code)
	case lk == ir.Duration && rk == ir.Timestamp && e.Op == ir.Add:
		return c.calc("AddTime", r.code, l.code)
	case lk == ir.Duration && rk == ir.Duration && (e.Op == ir.Add || e.Op == ir.Sub):
		return c.calc(op+"Duration", l.code, r.code)
	case lk == ir.Duration && rk == ir.Int && (e.Op == ir.Mul || e.Op == ir.Div):
		return c.calc(op+"Duration", l.code, r.code)
	case lk == ir.Int && rk == ir.Duration && e.Op == ir.Mul:
		return c.calc("MulDuration", r.code, l.code)
	}
	panic(bugf("%s %c %s", e.L.Type(), e.Op, e.R.Type()))
}

// plainDivision is an int over a literal that it can always be divided by: not 0, and not -1, which the
// least int has no quotient for.
func plainDivision(e *ir.Arith, l, r value) (value, bool) {
	c, ok := e.R.(*ir.Const)
	if !ok || l.untyped {
		return value{}, false
	}
	if n := c.Value.(int64); n < 2 {
		return value{}, false
	}
	switch e.Op {
	case ir.Div:
		return binary(l, "/", r, precMul), true
	case ir.Rem:
		return binary(l, "%", r, precMul), true
	}
	return value{}, false
}

// arithFails reports whether a decimal operation can itself fail, whatever its operands do.
func arithFails(e *ir.Arith) bool {
	return (&ir.Arith{Op: e.Op, L: &ir.Column{T: e.L.Type()}, R: &ir.Column{T: e.R.Type()}, T: e.T}).Fallible()
}

// exact is a decimal sum, difference or product whose type holds every result.
func exact(e *ir.Arith, l, r value) value {
	lt, rt, t := e.L.Type(), e.R.Type(), e.T
	if e.Op == ir.Mul {
		if t.Wide() {
			return wide(l, lt).method("Times", wide(r, rt).code)
		}
		return binary(l, "*", r, precMul)
	}
	if t.Wide() {
		method := pick(e.Op == ir.Add, "Plus", "Minus")
		return up(wide(l, lt), t.Scale-lt.Scale).method(method, up(wide(r, rt), t.Scale-rt.Scale).code)
	}
	return binary(scaled(l, t.Scale-lt.Scale), string(e.Op), scaled(r, t.Scale-rt.Scale), precAdd)
}

// decimal is a decimal operation that has to be checked. Its operands are of 128 bits.
func (c *code) decimal(e *ir.Arith, l, r value) value {
	lt, rt := e.L.Type(), e.R.Type()
	l, r = wide(l, lt), wide(r, rt)
	ls, rs := jen.Lit(lt.Scale), jen.Lit(rt.Scale)
	var v value
	switch e.Op {
	case ir.Div:
		v = c.calc("DivDecimal", l.code, ls, r.code, rs, jen.Lit(e.T.Scale))
	case ir.Mul:
		v = c.calc("MulDecimal", l.code, r.code)
	default:
		v = c.calc(opNames[e.Op]+"Decimal", l.code, ls, r.code, rs)
	}
	return narrow(v, e.T)
}

// scaled is a decimal of at most 18 digits with n more digits behind the point, known to fit.
func scaled(v value, n int) value {
	switch {
	case n == 0:
		return v
	case v.number != nil:
		return decimalLit(new(big.Int).Mul(v.number, power(n)), ir.Type{Kind: ir.Decimal, Precision: 18})
	}
	return binary(v, "*", intLit(power(n).Int64()), precMul)
}

// up is scaled for 128 bits.
func up(v value, n int) value {
	if n == 0 {
		return v
	}
	return v.method("Up", jen.Lit(n))
}

// wide is a decimal as 128 bits.
func wide(v value, t ir.Type) value {
	if t.Wide() {
		return v
	}
	w := callRT("Wide", v.code)
	w.simple = v.simple
	return w
}

// narrow is a decimal of 128 bits, known to fit t, in the form that t has.
func narrow(v value, t ir.Type) value {
	if t.Wide() {
		return v
	}
	return callRT("Narrow", v.code)
}
