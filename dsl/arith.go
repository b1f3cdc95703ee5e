package dsl

import (
	"math/big"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// minDivisionScale is the least number of digits behind the point that a decimal quotient or
// average has.
const minDivisionScale = 6

func (s scope) arithmetic(e *syntax.Binary) operand {
	bad := operand{node: e.Node}
	l, r := s.check(e.L), s.check(e.R)
	if l.bad() || r.bad() {
		return bad
	}
	l, r = s.c.nonNull(l), s.c.nonNull(r)
	if l.bad() || r.bad() {
		return bad
	}
	if (e.Op == "/" || e.Op == "%") && isZero(r) {
		s.c.errorf(r.node, "divide-by-zero", "this divides by zero")
		return bad
	}
	if l.lit != nil && r.lit != nil && e.Op != "/" && e.Op != "%" {
		x, ok := calculate(e.Op, *l.lit, *r.lit)
		if !ok {
			s.c.tooBig(e.Node)
			return bad
		}
		return operand{lit: &x, node: e.Node}
	}
	if l, r, ok := s.numbers(e.Node, l, r); ok {
		return s.arith(e, l, r)
	}
	return s.times(e, l, r)
}

func isZero(o operand) bool {
	if o.lit != nil {
		return o.lit.n.Sign() == 0
	}
	k, ok := o.x.(*ir.Const)
	if !ok {
		return false
	}
	switch v := k.Value.(type) {
	case int64:
		return v == 0
	case float64:
		return v == 0
	case *big.Int:
		return v.Sign() == 0
	}
	return false
}

// numbers gives both sides the kind that they calculate in; ok is false if one is no
// number. A decimal keeps its own precision and scale.
func (s scope) numbers(at syntax.Node, l, r operand) (_, _ operand, ok bool) {
	number := func(o operand) bool { return o.lit != nil || isNumber(o.typ()) }
	if !number(l) || !number(r) {
		return l, r, false
	}
	a, b := l.typ().Kind, r.typ().Kind
	big := func(o operand) bool { return o.lit != nil && o.lit.as(ir.Type{Kind: ir.Int}) == nil }
	kind := ir.Int
	switch {
	case a == ir.Float && b == ir.Decimal, a == ir.Decimal && b == ir.Float:
		_, why := joined(l.typ(), r.typ())
		s.c.mismatch(at, l, r, why)
		return operand{}, operand{}, true
	case a == ir.Float || b == ir.Float:
		kind = ir.Float
	case a == ir.Decimal || b == ir.Decimal || big(l) || big(r):
		kind = ir.Decimal
	}
	return s.inKind(l, kind), s.inKind(r, kind), true
}

// inKind is a number as an int, float or decimal.
func (s scope) inKind(o operand, kind ir.Kind) operand {
	t := ir.Type{Kind: kind}
	if o.lit != nil {
		ok := true
		if kind == ir.Decimal {
			t, ok = o.lit.decimal()
		}
		k := o.lit.as(t)
		if k == nil || !ok {
			s.c.tooBig(o.node)
			return operand{node: o.node}
		}
		return operand{x: k, node: o.node}
	}
	switch from := o.typ(); {
	case from.Kind == kind:
		return o
	case from.Kind == ir.Int && kind == ir.Decimal:
		t = asDecimal(from)
	}
	return operand{x: &ir.Cast{X: o.x, T: t}, node: o.node}
}

// arith is an operator between two ints, floats or decimals.
func (s scope) arith(e *syntax.Binary, l, r operand) operand {
	bad := operand{node: e.Node}
	if l.bad() || r.bad() {
		return bad
	}
	t := l.typ()
	if t.Kind == ir.Decimal {
		t = decimalResult(e.Op, l.typ(), r.typ())
		if t.Scale > maxPrecision {
			s.c.report(diag.New("decimal-range", s.c.at(e.Node), "this product has %d digits behind the point, a decimal at most %d", t.Scale, maxPrecision).
				WithHelp("round one side first: `decimal(…, p, s)`"))
			return bad
		}
	}
	return operand{x: &ir.Arith{Op: ir.ArithOp(e.Op[0]), L: l.x, R: r.x, T: t}, node: e.Node}
}

// decimalResult has the exact precision and scale of SQL, the precision capped.
func decimalResult(op string, a, b ir.Type) ir.Type {
	t := ir.Type{Kind: ir.Decimal, Scale: max(a.Scale, b.Scale)}
	whole, other := a.Precision-a.Scale, b.Precision-b.Scale
	switch op {
	case "+", "-":
		t.Precision = max(whole, other) + t.Scale + 1
	case "*":
		t.Scale = a.Scale + b.Scale
		t.Precision = a.Precision + b.Precision
	case "/":
		t.Scale = max(t.Scale, minDivisionScale)
		t.Precision = maxPrecision
	case "%":
		t.Precision = max(1, min(whole, other)+t.Scale)
	}
	t.Precision = min(t.Precision, maxPrecision)
	return t
}

// times is an operator with timestamps and durations.
func (s scope) times(e *syntax.Binary, l, r operand) operand {
	a, b := l.typ().Kind, r.typ().Kind
	if l.lit != nil || r.lit != nil {
		if l.lit != nil {
			a = ir.Int
		}
		if r.lit != nil {
			b = ir.Int
		}
	}
	result := func(t ir.Type, l, r operand) operand {
		if l, r = s.c.whole(l), s.c.whole(r); l.bad() || r.bad() {
			return operand{node: e.Node}
		}
		return operand{x: &ir.Arith{Op: ir.ArithOp(e.Op[0]), L: l.x, R: r.x, T: t}, node: e.Node}
	}
	length := ir.Type{Kind: ir.Duration}
	switch op := e.Op; {
	case op == "-" && a == ir.Timestamp && b == ir.Timestamp,
		(op == "+" || op == "-") && a == ir.Duration && b == ir.Duration,
		(op == "*" || op == "/") && a == ir.Duration && b == ir.Int:
		return result(length, l, r)
	case op == "*" && a == ir.Int && b == ir.Duration:
		return result(length, r, l)
	case (op == "+" || op == "-") && a == ir.Timestamp && b == ir.Duration:
		return result(l.typ(), l, r)
	case op == "+" && a == ir.Duration && b == ir.Timestamp:
		return result(r.typ(), r, l)
	}
	d := diag.New("type-mismatch", s.c.at(e.Node), "there is no %s %s %s", l, e.Op, r)
	if help := s.c.noArithmetic(e.Op, l, r); help != "" {
		d = d.WithHelp("%s", help)
	}
	s.c.report(d)
	return operand{node: e.Node}
}

// whole types a number beside a duration, which must be an int.
func (c *checker) whole(o operand) operand {
	if o.lit == nil {
		return o
	}
	k := o.lit.as(ir.Type{Kind: ir.Int})
	if k == nil {
		c.errorf(o.node, "type-mismatch", "a duration is multiplied and divided by an int")
		return operand{node: o.node}
	}
	return operand{x: k, node: o.node}
}
