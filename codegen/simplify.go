package codegen

import (
	"math"
	"math/big"
	"slices"

	"github.com/eoc-lang/eoc/internal/ir"
)

// simplify is e without what a Go programmer would not write and vet or staticcheck would refuse: casts
// of literals, `x == true`, `!!x`, a literal on the left, the same operand twice. It never drops an
// operand that can be a record error. The result shares parts with e, which is unchanged.
func simplify(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case *ir.Not:
		return not(simplify(e.X))
	case *ir.Neg:
		return negate(simplify(e.X))
	case *ir.Arith:
		return arith(&ir.Arith{Op: e.Op, L: simplify(e.L), R: simplify(e.R), T: e.T})
	case *ir.Compare:
		return compare(e.Op, simplify(e.L), simplify(e.R))
	case *ir.Logic:
		return logic(e.Or, chainOf(e))
	case *ir.In:
		return in(e)
	case *ir.Coalesce:
		return coalesce(simplify(e.X), simplify(e.Else), e.T)
	case *ir.IsNull:
		return isNull(e.Neg, simplify(e.X))
	case *ir.Cond:
		c := &ir.Cond{If: simplify(e.If), Then: simplify(e.Then), Else: simplify(e.Else), T: e.T}
		if b, ok := truth(c.If); ok {
			return pick(b, c.Then, c.Else)
		}
		if c.Else = unless(c.If, c.Else); same(c.Then, c.Else) && !c.If.Fallible() {
			return c.Then
		}
		return c
	case *ir.Cast:
		return cast(simplify(e.X), e.T)
	case *ir.Known:
		return known(simplify(e.X))
	}
	return e
}

func boolean(b bool) *ir.Const { return &ir.Const{Value: b, T: ir.Type{Kind: ir.Bool}} }

// truth is the value of a constant condition.
func truth(e ir.Expr) (value, ok bool) {
	if c, isConst := e.(*ir.Const); isConst {
		value, ok = c.Value.(bool)
	}
	return value, ok
}

func not(x ir.Expr) ir.Expr {
	if b, ok := truth(x); ok {
		return boolean(!b)
	}
	if n, ok := x.(*ir.Not); ok {
		return n.X
	}
	return &ir.Not{X: x}
}

// unless is e where cond is known not to hold, or to have failed already: what asks for it again is left out.
func unless(cond, e ir.Expr) ir.Expr {
	c, ok := e.(*ir.Cond)
	switch {
	case !ok:
		return e
	case same(c.If, cond):
		return unless(cond, c.Else)
	}
	return &ir.Cond{If: c.If, Then: c.Then, Else: unless(cond, c.Else), T: c.T}
}

func negate(x ir.Expr) ir.Expr {
	if c, ok := x.(*ir.Const); ok {
		switch v := c.Value.(type) {
		case int64:
			if v != math.MinInt64 {
				return &ir.Const{Value: -v, T: c.T}
			}
		case float64:
			return &ir.Const{Value: -v, T: c.T}
		case *big.Int:
			return &ir.Const{Value: new(big.Int).Neg(v), T: c.T}
		}
	}
	return &ir.Neg{X: x}
}

// arith knows that x - x is zero.
func arith(e *ir.Arith) ir.Expr {
	if e.Op != ir.Sub || !plainSub(e) || !same(e.L, e.R) {
		return e
	}
	if e.T.Kind == ir.Decimal {
		return &ir.Const{Value: new(big.Int), T: e.T}
	}
	return &ir.Const{Value: int64(0), T: e.T}
}

// plainSub reports whether e would be written with Go's minus.
func plainSub(e *ir.Arith) bool {
	if e.L.Fallible() || e.R.Fallible() {
		return false
	}
	return e.L.Type().Kind == ir.Timestamp && e.R.Type().Kind == ir.Timestamp || e.T.Kind == ir.Decimal && !e.Fallible()
}

var mirrored = map[ir.CompareOp]ir.CompareOp{
	ir.Eq: ir.Eq, ir.Ne: ir.Ne, ir.Lt: ir.Gt, ir.Le: ir.Ge, ir.Gt: ir.Lt, ir.Ge: ir.Le,
}

func compare(op ir.CompareOp, l, r ir.Expr) ir.Expr {
	lc, lConst := l.(*ir.Const)
	rc, rConst := r.(*ir.Const)
	switch {
	case lConst && rConst:
		return boolean(holds(op, order(lc.Value, rc.Value)))
	case lConst:
		return compare(mirrored[op], r, l)
	case !l.Fallible() && same(l, r):
		return boolean(holds(op, 0))
	case rConst && l.Type().Kind == ir.Bool && (op == ir.Eq || op == ir.Ne):
		if rc.Value.(bool) == (op == ir.Eq) {
			return l
		}
		return not(l)
	case rConst && !l.Fallible():
		if b, ok := beyond(op, rc.Value); ok {
			return boolean(b)
		}
	}
	return &ir.Compare{Op: op, L: l, R: r}
}

// beyond decides a comparison with the least or the greatest int, if it decides any.
func beyond(op ir.CompareOp, v any) (result, ok bool) {
	switch n, _ := v.(int64); {
	case n == math.MaxInt64 && (op == ir.Gt || op == ir.Le):
		return op == ir.Le, true
	case n == math.MinInt64 && (op == ir.Lt || op == ir.Ge):
		return op == ir.Ge, true
	}
	return false, false
}

// order compares two literals of one kind.
func order(l, r any) int {
	switch l := l.(type) {
	case bool:
		return btoi(l) - btoi(r.(bool))
	case int64:
		return big.NewInt(l).Cmp(big.NewInt(r.(int64)))
	case float64:
		return big.NewFloat(l).Cmp(big.NewFloat(r.(float64)))
	case string:
		return slices.Compare([]byte(l), []byte(r.(string)))
	case *big.Int:
		return l.Cmp(r.(*big.Int))
	}
	panic(bugf("comparison of %T", l))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func holds(op ir.CompareOp, order int) bool {
	switch op {
	case ir.Eq:
		return order == 0
	case ir.Ne:
		return order != 0
	case ir.Lt:
		return order < 0
	case ir.Le:
		return order <= 0
	case ir.Gt:
		return order > 0
	}
	return order >= 0
}

// logic joins conditions with && or ||. A constant decides or goes, and so does an operand that stands
// there already or that another one excludes, such as the second of `x != 1 || x != 2`.
func logic(or bool, list []ir.Expr) ir.Expr {
	var terms []ir.Expr
	for _, x := range list {
		terms = append(terms, alternatives(or, x)...)
	}
	var kept []ir.Expr
	there, comparisons := exprSet{}, map[uint64][]*ir.Compare{} // the latter by what they compare
	for _, x := range terms {
		if b, ok := truth(x); ok {
			if b != or {
				continue
			}
			return logicTree(or, append(firstFallible(kept), boolean(or)))
		}
		if !there.add(x) {
			continue // it has failed there, or says the same again
		}
		if c, ok := x.(*ir.Compare); ok && decisive(or, c) && !x.Fallible() {
			of := sumOf(c.L)
			if slices.ContainsFunc(comparisons[of], func(k *ir.Compare) bool { return excludes(or, k, c) }) {
				return logicTree(or, append(firstFallible(kept), boolean(or)))
			}
			comparisons[of] = append(comparisons[of], c)
		}
		kept = append(kept, x)
	}
	return logicTree(or, kept)
}

// chainOf are the operands of a chain of one operator, as it is written without brackets, each of them simplified.
func chainOf(e *ir.Logic) []ir.Expr {
	var list []ir.Expr
	for {
		list = append(list, simplify(e.R))
		l, ok := e.L.(*ir.Logic)
		if !ok || l.Or != e.Or {
			list = append(list, simplify(e.L))
			slices.Reverse(list)
			return list
		}
		e = l
	}
}

// firstFallible is what has to stay of terms in front of one that decides: all up to the last that can fail.
func firstFallible(terms []ir.Expr) []ir.Expr {
	for len(terms) > 0 && !terms[len(terms)-1].Fallible() {
		terms = terms[:len(terms)-1]
	}
	return slices.Clip(terms)
}

func logicTree(or bool, terms []ir.Expr) ir.Expr {
	if len(terms) == 0 {
		return boolean(!or)
	}
	e := terms[0]
	for _, x := range terms[1:] {
		e = &ir.Logic{Or: or, L: e, R: x}
	}
	return e
}

// alternatives are the operands of a chain of one operator.
func alternatives(or bool, e ir.Expr) []ir.Expr {
	var list []ir.Expr
	var visit func(e ir.Expr)
	visit = func(e ir.Expr) {
		if l, ok := e.(*ir.Logic); ok && l.Or == or {
			visit(l.L)
			visit(l.R)
			return
		}
		list = append(list, e)
	}
	visit(e)
	return list
}

// excludes reports whether a and b are comparisons of one thing with two literals of which one always holds
// (or) or never both hold (and).
func excludes(or bool, a, b *ir.Compare) bool {
	return decisive(or, a) && decisive(or, b) && same(a.L, b.L) && order(a.R.(*ir.Const).Value, b.R.(*ir.Const).Value) != 0
}

// decisive reports whether c is such a comparison.
func decisive(or bool, c *ir.Compare) bool {
	_, isConst := c.R.(*ir.Const)
	return isConst && c.Op == pick(or, ir.Ne, ir.Eq)
}

// in leaves out what is listed twice.
func in(e *ir.In) ir.Expr {
	x := simplify(e.X)
	var list []ir.Expr
	there := exprSet{}
	for _, item := range e.List {
		item = simplify(item)
		switch c := compare(ir.Eq, x, item); {
		case isTruth(c, false) && !item.Fallible():
		case isTruth(c, true):
			// Those behind it are never looked at, those before it only for their faults.
			found := ir.Expr(boolean(true))
			if slices.ContainsFunc(list, ir.Expr.Fallible) {
				found = &ir.Logic{Or: true, L: &ir.In{X: x, List: list}, R: found}
			}
			if e.Neg {
				return not(found)
			}
			return found
		case there.add(item):
			list = append(list, item)
		}
	}
	if len(list) == 0 && !x.Fallible() {
		return boolean(e.Neg)
	}
	return &ir.In{Neg: e.Neg, X: x, List: list}
}

func isTruth(e ir.Expr, want bool) bool {
	b, ok := truth(e)
	return ok && b == want
}

// notNull returns what is certainly not null in a value of type T?.
func notNull(x ir.Expr) (ir.Expr, bool) {
	if !x.Type().Null {
		return x, true
	}
	switch x := x.(type) {
	case *ir.Cast:
		if !x.X.Type().Null {
			return cast(x.X, x.T.NonNull()), true
		}
	case *ir.Const:
		if x.Value != nil {
			return &ir.Const{Value: x.Value, T: x.T.NonNull()}, true
		}
	}
	return nil, false
}

func isNullConst(x ir.Expr) bool {
	c, ok := x.(*ir.Const)
	return ok && c.Value == nil
}

func coalesce(x, otherwise ir.Expr, t ir.Type) ir.Expr {
	if isNullConst(x) {
		return cast(otherwise, t)
	}
	if there, ok := notNull(x); ok {
		return cast(there, t)
	}
	return &ir.Coalesce{X: x, Else: otherwise, T: t}
}

func isNull(neg bool, x ir.Expr) ir.Expr {
	if isNullConst(x) {
		return boolean(!neg)
	}
	if _, ok := notNull(x); ok && !x.Fallible() {
		return boolean(neg)
	}
	return &ir.IsNull{Neg: neg, X: x}
}

func known(x ir.Expr) ir.Expr {
	if there, ok := notNull(x); ok {
		return there
	}
	return &ir.Known{X: x}
}

func pick[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}
