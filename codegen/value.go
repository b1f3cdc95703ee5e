package codegen

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
)

// value is a Go expression.
type value struct {
	code jen.Code
	prec precedence
	// simple: a variable, a field or a literal. It may be written twice, or not at all.
	simple bool
	// untyped: a literal that takes its type from where it stands.
	untyped bool
	text    *string  // of a string literal
	number  *big.Int // of a decimal literal
	negated *value   // what `!` stands in front of
}

// precedence of the outermost operator, as Go ranks them.
type precedence int

const (
	composite precedence = iota // a composite literal, which may not stand bare behind `if`
	precOr
	precAnd
	precCompare
	precAdd
	precMul
	precUnary
	primary
)

func name(n string) value { return value{code: jen.Id(n), prec: primary, simple: true} }

// paren is v as an operand of an operator that binds as tightly as p.
func (v value) paren(p precedence) jen.Code {
	if v.prec < p {
		return jen.Parens(v.code)
	}
	return v.code
}

// dot is the field or, with a call behind it, the method of v.
func (v value) dot(field string) value {
	return value{code: jen.Add(v.paren(primary)).Dot(field), prec: primary, simple: v.simple}
}

func (v value) method(method string, args ...jen.Code) value {
	return value{code: jen.Add(v.paren(primary)).Dot(method).Call(args...), prec: primary}
}

func binary(l value, op string, r value, p precedence) value {
	right := p + 1
	if p == precAnd || p == precOr { // a && (b && c) is a && b && c
		right = p
	}
	return value{code: jen.Add(l.paren(p)).Op(op).Add(r.paren(right)), prec: p, untyped: l.untyped && r.untyped}
}

func unary(op string, x value) value {
	return value{code: jen.Op(op).Add(x.paren(primary)), prec: precUnary}
}

// negation is !x. That of a negation is what was negated.
func negation(x value) value {
	if x.negated != nil {
		return *x.negated
	}
	n := unary("!", x)
	n.negated = &x
	return n
}

// rt is a name of package runtime.
func rt(name string) *jen.Statement { return jen.Qual(runtimePath, name) }

func callRT(f string, args ...jen.Code) value {
	return value{code: rt(f).Call(args...), prec: primary}
}

// typed is v as a value of Go's type for t, where nothing else gives a literal its type.
func (v value) typed(t ir.Type) value {
	if !v.untyped {
		return v
	}
	return value{code: jen.Add(goType(t.NonNull())).Call(v.code), prec: primary, simple: v.simple}
}

// goType is the type of a t in rows.
func goType(t ir.Type) *jen.Statement {
	if t.Null {
		return rt("Opt").Types(goType(t.NonNull()))
	}
	switch t.Kind {
	case ir.Bool:
		return jen.Bool()
	case ir.Int:
		return jen.Int64()
	case ir.Float:
		return jen.Float64()
	case ir.String:
		return jen.Index().Byte()
	case ir.Timestamp, ir.Duration:
		return rt("Time")
	case ir.Decimal:
		if t.Wide() {
			return rt("Int128")
		}
		return jen.Int64()
	}
	panic(bugf("no Go type for %s", t))
}

// constant is the literal of a constant.
func constant(c *ir.Const) value {
	if c.T.Null {
		if c.Value == nil {
			return value{code: goType(c.T).Values(), prec: composite, simple: true}
		}
		return some(constant(&ir.Const{Value: c.Value, T: c.T.NonNull()}), c.T)
	}
	switch v := c.Value.(type) {
	case bool:
		return value{code: jen.Lit(v), prec: primary, simple: true}
	case float64:
		return floatLit(v)
	case string:
		return value{code: rt("Text").Call(jen.Lit(v)), prec: primary, simple: true, text: &v}
	case int64:
		switch c.T.Kind {
		case ir.Duration:
			return durationLit(v)
		case ir.Timestamp:
			return value{code: rt("Time").Call(jen.Lit(int(v))), prec: primary, simple: true}
		}
		return intLit(v)
	case *big.Int:
		return decimalLit(v, c.T)
	}
	panic(bugf("constant %T of type %s", c.Value, c.T))
}

// some is v, which is not null, as a T?.
func some(v value, t ir.Type) value {
	s := callRT("Some", v.typed(t).code)
	s.simple = v.simple
	return s
}

func intLit(v int64) value {
	return value{code: jen.Lit(int(v)), prec: pick(v < 0, precUnary, primary), simple: true, untyped: true}
}

func floatLit(v float64) value {
	if v == 0 && math.Signbit(v) { // which no literal and no constant expression of Go is
		return unary("-", callRT("Some", jen.Lit(0.0)).dot("V"))
	}
	return value{code: jen.Lit(v), prec: pick(v < 0, precUnary, primary), simple: true}
}

func decimalLit(v *big.Int, t ir.Type) value {
	if !t.Wide() {
		lit := intLit(v.Int64())
		lit.number = v
		return lit
	}
	if v.IsInt64() {
		w := callRT("Wide", jen.Lit(int(v.Int64())))
		w.simple = true
		return w
	}
	hi := new(big.Int).Rsh(v, 64)
	lo := new(big.Int).Sub(v, new(big.Int).Lsh(hi, 64))
	return value{
		code:   rt("Int128").Values(jen.Id("Hi").Op(":").Lit(int(hi.Int64())), jen.Id("Lo").Op(":").Op("0x"+lo.Text(16))),
		prec:   composite,
		simple: true,
	}
}

// durationLit writes microseconds as one would by hand: 90 * rt.Second.
func durationLit(us int64) value {
	for _, u := range []struct {
		name string
		size int64
	}{{"Hour", 3600e6}, {"Minute", 60e6}, {"Second", 1e6}, {"Millisecond", 1e3}} {
		switch {
		case us == u.size:
			return value{code: rt(u.name), prec: primary, simple: true}
		case us != 0 && us%u.size == 0:
			return value{code: jen.Lit(int(us / u.size)).Op("*").Add(rt(u.name)), prec: precMul, simple: true}
		}
	}
	return value{code: rt("Time").Call(jen.Lit(int(us))), prec: primary, simple: true}
}

// rawText is a string literal, in back quotes where Go and the reader allow it.
func rawText(s string) jen.Code {
	if strconv.CanBackquote(s) && strings.Contains(s, `"`) {
		return jen.Op("`" + s + "`")
	}
	return jen.Lit(s)
}

// unitNote says what an integer stands for: `decimal(12, 2): hundredths`. It is empty where the Go
// type says it all.
func unitNote(t ir.Type) string {
	if t.Kind != ir.Decimal {
		return ""
	}
	note := t.NonNull().String()
	switch t.Scale {
	case 0:
		return note
	case 1:
		return note + ": tenths"
	case 2:
		return note + ": hundredths"
	case 3:
		return note + ": thousandths"
	}
	return note + ": units of 1e-" + strconv.Itoa(t.Scale)
}
