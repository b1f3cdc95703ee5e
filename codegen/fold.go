package codegen

import (
	"math/big"
	"slices"

	"github.com/eoc-lang/eoc/internal/ir"
)

// cast is x as a t, done here if x is a literal whose value t holds exactly.
func cast(x ir.Expr, t ir.Type) ir.Expr {
	if x.Type() == t {
		return x
	}
	if c, ok := x.(*ir.Const); ok {
		if v, ok := literal(c, t); ok {
			return &ir.Const{Value: v, T: t}
		}
	}
	if inner, ok := x.(*ir.Cast); ok && inner.X.Type() == t.NonNull() && inner.T == t.NonNull().Nullable() {
		return cast(inner.X, t) // T to T? and back
	}
	return &ir.Cast{X: x, T: t}
}

// literal is the value of c as a t.
func literal(c *ir.Const, t ir.Type) (v any, ok bool) {
	from, to := c.T.NonNull(), t.NonNull()
	if c.Value == nil || from == to || from.Kind == ir.Timestamp && to.Kind == ir.Timestamp {
		return c.Value, true
	}
	var n *big.Int // in units of 10^-scale
	scale := 0
	switch value := c.Value.(type) {
	case int64:
		if from.Kind != ir.Int {
			return nil, false
		}
		n = big.NewInt(value)
	case *big.Int:
		n, scale = value, from.Scale
	default:
		return nil, false
	}
	switch to.Kind {
	case ir.Decimal:
		return rescale(n, scale, to)
	case ir.Float:
		f, _ := new(big.Rat).SetFrac(n, power(scale)).Float64()
		return f, true
	}
	return nil, false
}

// rescale is n, which is in units of 10^-scale, in those of t, if t holds it exactly.
func rescale(n *big.Int, scale int, t ir.Type) (*big.Int, bool) {
	v := new(big.Int).Mul(n, power(t.Scale))
	v, rest := v.QuoRem(v, power(scale), new(big.Int))
	return v, rest.Sign() == 0 && v.CmpAbs(power(t.Precision)) < 0
}

// power is 10^n.
func power(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// same reports whether two expressions are written alike.
func same(x, y ir.Expr) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	if x.Type() != y.Type() {
		return false
	}
	switch x := x.(type) {
	case *ir.Column:
		y, ok := y.(*ir.Column)
		return ok && x.Index == y.Index
	case *ir.Const:
		y, ok := y.(*ir.Const)
		if !ok || x.Value == nil || y.Value == nil {
			return ok && x.Value == nil && y.Value == nil
		}
		return order(x.Value, y.Value) == 0
	case *ir.Not:
		y, ok := y.(*ir.Not)
		return ok && same(x.X, y.X)
	case *ir.Neg:
		y, ok := y.(*ir.Neg)
		return ok && same(x.X, y.X)
	case *ir.Arith:
		y, ok := y.(*ir.Arith)
		return ok && x.Op == y.Op && same(x.R, y.R) && same(x.L, y.L)
	case *ir.Compare:
		y, ok := y.(*ir.Compare)
		return ok && x.Op == y.Op && same(x.R, y.R) && same(x.L, y.L)
	case *ir.Logic:
		y, ok := y.(*ir.Logic)
		return ok && x.Or == y.Or && same(x.R, y.R) && same(x.L, y.L)
	case *ir.In:
		y, ok := y.(*ir.In)
		return ok && x.Neg == y.Neg && same(x.X, y.X) && slices.EqualFunc(x.List, y.List, same)
	case *ir.Coalesce:
		y, ok := y.(*ir.Coalesce)
		return ok && same(x.Else, y.Else) && same(x.X, y.X)
	case *ir.IsNull:
		y, ok := y.(*ir.IsNull)
		return ok && x.Neg == y.Neg && same(x.X, y.X)
	case *ir.Cond:
		y, ok := y.(*ir.Cond)
		return ok && same(x.If, y.If) && same(x.Then, y.Then) && same(x.Else, y.Else)
	case *ir.Cast:
		y, ok := y.(*ir.Cast)
		return ok && same(x.X, y.X)
	case *ir.Known:
		y, ok := y.(*ir.Known)
		return ok && same(x.X, y.X)
	}
	return false
}
