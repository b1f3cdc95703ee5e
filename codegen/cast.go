package codegen

import (
	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
)

// sameForm reports whether a value of one type is, in Go, one of the other.
func sameForm(a, b ir.Type) bool {
	if a.Null != b.Null || a.Kind != b.Kind {
		return false
	}
	return a.Kind != ir.Decimal || a.Scale == b.Scale && a.Precision <= b.Precision && a.Wide() == b.Wide()
}

func (c *code) cast(e *ir.Cast) value {
	from, to := e.X.Type(), e.T
	switch {
	case sameForm(from, to):
		return c.value(e.X)
	case from.Null && to.Null:
		return c.inVariable("v", e)
	case from.Null:
		panic(bugf("cast of %s to %s", from, to))
	case to.Null:
		return some(c.convert(c.value(e.X), from, to.NonNull()), to)
	}
	return c.convert(c.value(e.X), from, to)
}

// castNullable converts what is in a T?, if anything, into the variable n.
func (c *code) castNullable(n string, e *ir.Cast) {
	x := c.simple("v", e.X)
	then := c.block(func() {
		v := c.convert(x.dot("V"), e.X.Type().NonNull(), e.T.NonNull())
		c.add(jen.Id(n).Op("=").Add(some(v, e.T).code))
	})
	c.add(jen.If(x.dot("OK").code).Block(then...))
}

// convert turns a value of type from, not null, into one of type to.
func (c *code) convert(v value, from, to ir.Type) value {
	if sameForm(from, to) {
		return v
	}
	switch to.Kind {
	case ir.Int:
		return c.toInt(v, from)
	case ir.Float:
		return c.toFloat(v, from)
	case ir.String:
		return c.toString(v, from)
	case ir.Decimal:
		return c.toDecimal(v, from, to)
	case ir.Timestamp:
		if from.Kind == ir.String {
			return c.calc("TimeOfString", v.code)
		}
	}
	panic(bugf("cast of %s to %s", from, to))
}

func (c *code) toInt(v value, from ir.Type) value {
	switch from.Kind {
	case ir.Bool:
		return callRT("IntOfBool", v.code)
	case ir.Float:
		return c.calc("IntOfFloat", v.code)
	case ir.String:
		return c.calc("IntOfString", v.code)
	case ir.Decimal:
		if from.Wide() {
			return c.calc("IntOfDecimal", v.code, jen.Lit(from.Scale))
		}
		if from.Scale == 0 {
			return v
		}
		return binary(v, "/", intLit(power(from.Scale).Int64()), precMul)
	}
	panic(bugf("cast of %s to int", from))
}

func (c *code) toFloat(v value, from ir.Type) value {
	switch from.Kind {
	case ir.Int:
		return value{code: jen.Float64().Call(v.code), prec: primary, simple: v.simple}
	case ir.Decimal:
		return callRT("FloatOfDecimal", wide(v, from).code, jen.Lit(from.Scale))
	case ir.String:
		return c.calc("FloatOfString", v.code)
	}
	panic(bugf("cast of %s to float", from))
}

func (c *code) toString(v value, from ir.Type) value {
	switch from.Kind {
	case ir.Bool:
		return c.scratch("StringOfBool", v.code)
	case ir.Int:
		return c.scratch("StringOfInt", v.code)
	case ir.Float:
		return c.scratch("StringOfFloat", v.code)
	case ir.Decimal:
		return c.scratch("StringOfDecimal"+pick(from.Wide(), "128", ""), v.code, jen.Lit(from.Scale))
	case ir.Duration:
		return c.scratch("StringOfDuration", v.code)
	case ir.Timestamp:
		if from.Unit == ir.Text {
			return c.scratch("StringOfTime", v.code)
		}
		return c.scratch("StringOfTimeUnit", v.code, unit(from.Unit))
	}
	panic(bugf("cast of %s to string", from))
}

func (c *code) toDecimal(v value, from, to ir.Type) value {
	p, s := jen.Lit(to.Precision), jen.Lit(to.Scale)
	switch from.Kind {
	case ir.Int:
		if to.Precision-to.Scale >= 19 {
			return callRT("DecimalOfInt", v.code, s)
		}
		return narrow(c.calc("Rescale", callRT("Wide", v.code).code, jen.Lit(0), p, s), to)
	case ir.Float:
		return narrow(c.calc("DecimalOfFloat", v.code, p, s), to)
	case ir.String:
		return narrow(c.calc("DecimalOfString", v.code, p, s), to)
	case ir.Decimal:
		more := to.Scale - from.Scale
		switch {
		case more < 0 || to.Precision-to.Scale < from.Precision-from.Scale:
			return narrow(c.calc("Rescale", wide(v, from).code, jen.Lit(from.Scale), p, s), to)
		case to.Wide():
			return up(wide(v, from), more)
		}
		return scaled(v, more)
	}
	panic(bugf("cast of %s to decimal", from))
}

// unit is the constant for the unit of a timestamp outside.
func unit(u ir.Unit) jen.Code {
	return rt([...]string{ir.Seconds: "Second", ir.Millis: "Millisecond", ir.Micros: "Microsecond", ir.Nanos: "Nanos"}[u])
}
