package dsl

import (
	"fmt"
	"slices"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// operand is a checked expression: x, or a number or null that waits for its type. With
// neither it is unknown, because what is wrong with it has been reported.
type operand struct {
	x    ir.Expr
	lit  *literal
	null bool // the literal null
	node syntax.Node
}

func (o operand) bad() bool { return o.x == nil && o.lit == nil && !o.null }

// typ is the operand's type as far as it has one.
func (o operand) typ() ir.Type {
	if o.x == nil {
		return ir.Type{}
	}
	return o.x.Type()
}

// String names the operand's type in a message.
func (o operand) String() string {
	switch {
	case o.null:
		return "null"
	case o.lit != nil:
		if t, ok := o.lit.alone(); ok {
			return t.String()
		}
		return "a number"
	case o.x == nil:
		return "unknown"
	}
	return o.x.Type().String()
}

// typed gives a number the type that it has alone.
func (c *checker) typed(o operand) operand {
	switch {
	case o.null:
		c.report(diag.New("type-mismatch", c.at(o.node), "this `null` has no type").
			WithHelp("null stands where the other side tells its type: `if a then b else null`"))
		return operand{node: o.node}
	case o.lit == nil:
		return o
	}
	t, ok := o.lit.alone()
	if !ok {
		c.tooBig(o.node)
		return operand{node: o.node}
	}
	return operand{x: o.lit.as(t), node: o.node}
}

func (c *checker) tooBig(n syntax.Node) {
	c.errorf(n, "literal-range", "this number is beyond every type: a decimal has at most %d digits", maxPrecision)
}

// fit makes the operand one of type t, which it must have or be widened to without loss;
// nil after a report. what is the side that has the type.
func (c *checker) fit(o operand, t ir.Type, what string) ir.Expr {
	switch {
	case o.bad() || t.Kind == 0:
		return nil
	case o.null && t.Null:
		return &ir.Const{T: t}
	case o.lit != nil:
		if k := o.lit.as(t.NonNull()); k != nil {
			return widen(k, t)
		}
		if isNumber(t) {
			c.errorf(o.node, "literal-range", "this number does not fit %s, which is %s", what, t)
			return nil
		}
	case o.x != nil && o.typ().Null && !t.Null && o.typ().Kind == t.Kind:
		c.mayBeNull(o, c.whereNull(o))
		return nil
	case o.x != nil && (o.typ().NonNull() == t.NonNull() || widens(o.typ().NonNull(), t.NonNull())):
		return widen(o.x, t)
	}
	c.report(diag.New("type-mismatch", c.at(o.node), "%s is %s, this is %s", what, t, o))
	return nil
}

func isNumber(t ir.Type) bool {
	return t.Kind == ir.Int || t.Kind == ir.Float || t.Kind == ir.Decimal
}

// widens: every value of the one type is one of the other.
func widens(from, to ir.Type) bool {
	switch {
	case from.Kind == ir.Int && to.Kind == ir.Decimal:
		return to.Precision-to.Scale >= maxInt
	case from.Kind == ir.Decimal && to.Kind == ir.Decimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	}
	return false
}

// maxInt is how many digits an int has.
const maxInt = 19

// widen puts a Cast around what does not have the type yet; constants are turned at once.
func widen(x ir.Expr, t ir.Type) ir.Expr {
	if x.Type() == t {
		return x
	}
	return &ir.Cast{X: x, T: t}
}

// nonNull insists that an operand cannot be null. It goes on as if it could not.
func (c *checker) nonNull(o operand) operand { return c.nonNullOr(o, c.whereNull) }

// nonNullOr is nonNull with help of its own.
func (c *checker) nonNullOr(o operand, help func(operand) string) operand {
	if o.null {
		c.report(diag.New("may-be-null", c.at(o.node), "nothing can be calculated or compared with null").
			WithLabel("ask with `is null` or `is not null`"))
		return operand{node: o.node}
	}
	if o.x != nil && o.typ().Null {
		c.mayBeNull(o, help(o))
		o.x = &ir.Known{X: o.x}
	}
	return o
}

func (c *checker) mayBeNull(o operand, help string) {
	c.report(diag.New("may-be-null", c.at(o.node), "`%s` may be null", c.file.Line(o.node)).WithLabel("it is %s", o.typ()).
		WithHelp("%s", help))
}

// common is the type that all operands can have without loss, null set if one may be null.
// It is the zero Type after a report, or when an operand is unknown.
func (c *checker) common(at syntax.Node, ops ...operand) ir.Type {
	var t ir.Type
	var first operand
	null := false
	for _, o := range ops {
		if o.bad() {
			return ir.Type{}
		}
		null = null || o.null || o.typ().Null
	}
	// Those with a type first: the numbers adapt to them.
	for _, o := range ops {
		if o.x == nil {
			continue
		}
		if t.Kind == 0 {
			t, first = o.typ().NonNull(), o
			continue
		}
		both, why := joined(t, o.typ().NonNull())
		if both.Kind == 0 {
			c.mismatch(at, first, o, why)
			return ir.Type{}
		}
		t = both
	}
	ints := allInts(ops)
	for _, o := range ops {
		if o.lit == nil {
			continue
		}
		if t.Kind == 0 {
			first = o
		}
		both, why := literalType(*o.lit, t, ints)
		switch {
		case both.Kind == 0 && why == beyond:
			c.tooBig(o.node)
			return ir.Type{}
		case both.Kind == 0:
			c.mismatch(at, first, o, why)
			return ir.Type{}
		}
		t = both
	}
	if t.Kind == 0 {
		c.typed(ops[0]) // nothing but null
		return ir.Type{}
	}
	t.Null = null
	return t
}

// allInts: every number among them is an int.
func allInts(ops []operand) bool {
	return !slices.ContainsFunc(ops, func(o operand) bool { return o.lit != nil && o.lit.as(ir.Type{Kind: ir.Int}) == nil })
}

const beyond = "the number is beyond every type"

// literalType is t widened so that it holds the number too, or the zero Type and the reason
// why it cannot be.
func literalType(l literal, t ir.Type, ints bool) (ir.Type, string) {
	switch {
	case t.Kind == 0 && ints:
		return ir.Type{Kind: ir.Int}, ""
	case t.Kind == 0:
		t = ir.Type{Kind: ir.Decimal}
	case !isNumber(t):
		return ir.Type{}, ""
	case t.Kind != ir.Decimal && l.as(t) != nil:
		return t, ""
	case t.Kind == ir.Float:
		return ir.Type{}, beyond
	}
	own, ok := l.decimal()
	if !ok {
		return ir.Type{}, beyond
	}
	return joined(t, own)
}

// joined is the type that holds both, or the zero Type and the reason why there is none.
func joined(a, b ir.Type) (ir.Type, string) {
	switch {
	case a == b:
		return a, ""
	case a.Kind == ir.Timestamp && b.Kind == ir.Timestamp:
		return ir.Type{Kind: ir.Timestamp}, "" // the unit is about reading and writing only
	case a.Kind == ir.Float && b.Kind == ir.Int || a.Kind == ir.Int && b.Kind == ir.Float:
		return ir.Type{Kind: ir.Float}, ""
	case a.Kind == ir.Float && b.Kind == ir.Decimal || a.Kind == ir.Decimal && b.Kind == ir.Float:
		return ir.Type{}, "say which: `float(…)` loses digits, `decimal(…, p, s)` rounds"
	case !isNumber(a) || !isNumber(b):
		return ir.Type{}, ""
	}
	a, b = asDecimal(a), asDecimal(b)
	scale := max(a.Scale, b.Scale)
	p := max(a.Precision-a.Scale, b.Precision-b.Scale) + scale
	if p > maxPrecision {
		return ir.Type{}, fmt.Sprintf("no decimal of %d digits holds both: cast one with `decimal(…, p, s)`", maxPrecision)
	}
	return ir.Type{Kind: ir.Decimal, Precision: p, Scale: scale}, ""
}

// asDecimal is an int's type as a decimal.
func asDecimal(t ir.Type) ir.Type {
	if t.Kind == ir.Int {
		return ir.Type{Kind: ir.Decimal, Precision: maxInt}
	}
	return t
}

// convert makes the operand one of type t, which common has found.
func (o operand) convert(t ir.Type) ir.Expr {
	switch {
	case o.null:
		return &ir.Const{T: t.Nullable()}
	case o.lit != nil:
		exact := t.NonNull()
		if k := o.lit.as(exact); k != nil {
			return widen(k, t)
		}
		return nil // cannot be: common has looked
	}
	return widen(o.x, t)
}
