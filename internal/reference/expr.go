package reference

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/eoc-lang/eoc/internal/ir"
)

// evaluate computes e over the values of a row. An error is a record error.
func evaluate(e ir.Expr, values []any) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(fault)
			if !ok {
				panic(r)
			}
			result, err = nil, f.error
		}
	}()
	return eval(e, values), nil
}

// fault carries a record error from the depth of an expression to evaluate.
type fault struct{ error }

// must is v, or the end of the evaluation.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fault{err})
	}
	return v
}

var errZero = errors.New("division by zero")

func eval(e ir.Expr, row []any) any {
	switch e := e.(type) {
	case *ir.Column:
		return row[e.Index]
	case *ir.Const:
		return constant(e)
	case *ir.Not:
		return eval(e.X, row) == false
	case *ir.Neg:
		switch v := eval(e.X, row).(type) {
		case float64:
			return -v
		case *big.Int:
			return must(fits(new(big.Int).Neg(v), e.Type()))
		}
	case *ir.Arith:
		return arith(e, eval(e.L, row), eval(e.R, row))
	case *ir.Compare:
		return holds(e.Op, compare(eval(e.L, row), eval(e.R, row)))
	case *ir.Logic:
		if l := eval(e.L, row); (l == true) == e.Or {
			return l
		}
		return eval(e.R, row)
	case *ir.In:
		x := eval(e.X, row)
		for _, item := range e.List {
			if compare(x, eval(item, row)) == 0 {
				return !e.Neg
			}
		}
		return e.Neg
	case *ir.Coalesce:
		if x := eval(e.X, row); x != nil {
			return x
		}
		return eval(e.Else, row)
	case *ir.IsNull:
		return (eval(e.X, row) == nil) != e.Neg
	case *ir.Cond:
		if eval(e.If, row) == true {
			return eval(e.Then, row)
		}
		return eval(e.Else, row)
	case *ir.Cast:
		return cast(eval(e.X, row), e.X.Type(), e.T)
	case *ir.Known:
		return eval(e.X, row)
	}
	panic(fmt.Sprintf("reference: cannot evaluate %T", e))
}

// compare is -1, 0 or 1. false comes before true; strings go by their bytes.
func compare(l, r any) int {
	switch l := l.(type) {
	case bool:
		switch {
		case l == r.(bool):
			return 0
		case l:
			return 1
		}
		return -1
	case string:
		return strings.Compare(l, r.(string))
	case float64:
		return cmp.Compare(l, r.(float64))
	}
	return l.(*big.Int).Cmp(r.(*big.Int))
}

func holds(op ir.CompareOp, c int) bool {
	switch op {
	case ir.Eq:
		return c == 0
	case ir.Ne:
		return c != 0
	case ir.Lt:
		return c < 0
	case ir.Le:
		return c <= 0
	case ir.Gt:
		return c > 0
	}
	return c >= 0
}

func arith(e *ir.Arith, l, r any) any {
	if x, ok := l.(float64); ok {
		return floatArith(e.Op, x, r.(float64))
	}
	x, y := l.(*big.Int), r.(*big.Int)
	if e.T.Kind == ir.Decimal {
		return decimalArith(e, x, y)
	}
	z := new(big.Int)
	switch e.Op {
	case ir.Add:
		z.Add(x, y)
	case ir.Sub:
		z.Sub(x, y)
	case ir.Mul:
		z.Mul(x, y)
	case ir.Div, ir.Rem:
		if y.Sign() == 0 {
			panic(fault{errZero})
		}
		if e.Op == ir.Div {
			z.Quo(x, y)
		} else {
			z.Rem(x, y)
		}
	}
	return must(fits(z, e.T))
}

func floatArith(op ir.ArithOp, x, y float64) float64 {
	var z float64
	switch op {
	case ir.Add:
		z = x + y
	case ir.Sub:
		z = x - y
	case ir.Mul:
		z = x * y
	case ir.Div:
		z = x / y
	case ir.Rem:
		z = math.Mod(x, y)
	}
	if math.IsNaN(z) || math.IsInf(z, 0) {
		panic(fault{errNotFinite})
	}
	return z
}

// decimalArith computes with the unscaled values. Only division rounds.
func decimalArith(e *ir.Arith, x, y *big.Int) *big.Int {
	ls, rs := e.L.Type().Scale, e.R.Type().Scale
	if e.Op == ir.Mul {
		return must(fits(new(big.Int).Mul(x, y), e.T)) // its scale is ls + rs
	}
	if (e.Op == ir.Div || e.Op == ir.Rem) && y.Sign() == 0 {
		panic(fault{errZero})
	}
	common := max(ls, rs)
	x = new(big.Int).Mul(x, pow10(common-ls))
	y = new(big.Int).Mul(y, pow10(common-rs))
	z := new(big.Int)
	switch e.Op {
	case ir.Add:
		z.Add(x, y)
	case ir.Sub:
		z.Sub(x, y)
	case ir.Rem:
		z.Rem(x, y)
	case ir.Div:
		return must(fits(halfEven(x.Mul(x, pow10(e.T.Scale)), y), e.T))
	}
	return must(fits(z, e.T))
}

// halfEven is x / y rounded to the nearest integer, a half to the even one.
func halfEven(x, y *big.Int) *big.Int {
	r := new(big.Rat).SetFrac(x, y)
	two := big.NewInt(2)
	// floor(r), and what is left of r above it, doubled: less than, equal to or more than 1.
	floor := new(big.Int).Div(r.Num(), r.Denom())
	rest := new(big.Rat).Sub(r, new(big.Rat).SetInt(floor))
	rest.Mul(rest, new(big.Rat).SetInt(two))
	c := rest.Cmp(big.NewRat(1, 1))
	if c > 0 || c == 0 && new(big.Int).Mod(floor, two).Sign() != 0 {
		floor.Add(floor, big.NewInt(1))
	}
	return floor
}
