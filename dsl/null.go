package dsl

import (
	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// facts are fields of a row, by index.
type facts [maxRow / 64]uint64

func (f facts) has(i int) bool { return f[i/64]>>(i%64)&1 != 0 }

func (f facts) and(g facts) facts {
	for i := range f {
		f[i] |= g[i]
	}
	return f
}

// after is the scope of what is reached when the condition holds, or does not: there
// fields may be known not to be null.
func (s scope) after(cond syntax.Expr, holds bool) scope {
	s.known = s.known.and(s.proved(cond, holds))
	return s
}

// proved are the fields that are not null when the condition has the given outcome.
func (s scope) proved(cond syntax.Expr, holds bool) (f facts) {
	switch e := cond.(type) {
	case *syntax.IsNull:
		ref, ok := e.X.(*syntax.Ref)
		if !ok || e.Not != holds {
			return f
		}
		if i := s.row.Index(ref.Name); i >= 0 {
			f[i/64] |= 1 << (i % 64)
		}
	case *syntax.Unary:
		if e.Op == "!" {
			return s.proved(e.X, !holds)
		}
	case *syntax.Binary:
		// Both sides of && hold when it does, both sides of || fail when it does not.
		if e.Op == "&&" && holds || e.Op == "||" && !holds {
			return s.proved(e.L, holds).and(s.proved(e.R, holds))
		}
		// `x != null` has been reported; what follows from it need not be.
		if null, ok := e.R.(*syntax.Literal); ok && null.Kind == "null" && (e.Op == "==" || e.Op == "!=") {
			return s.proved(&syntax.IsNull{Node: e.Node, X: e.L, Not: e.Op == "!="}, holds)
		}
	}
	return f
}

// whereNull says what can be done with what may be null. What a `where` has asked is known of fields alone.
func (c *checker) whereNull(o operand) string {
	text := c.file.Line(o.node)
	if _, isIf := o.x.(*ir.Cond); isIf {
		text = "(" + text + ")" // its else would reach over the `??`
	}
	help := "give a value in its place, `" + text + " ?? …`"
	if _, isField := o.x.(*ir.Column); isField {
		help += ", or leave out the rows where it is null: `where " + text + " is not null`"
	}
	return help
}

// decidedNull is whereNull for a side of a comparison: there it must be said what holds for a null, lest rows are lost unseen.
func (c *checker) decidedNull(comparison syntax.Node) func(operand) string {
	return func(o operand) string {
		if _, isField := o.x.(*ir.Column); !isField {
			return c.whereNull(o)
		}
		text, whole := c.file.Line(o.node), c.file.Line(comparison)
		return "say what holds where it is null: `(" + text + " is null || " + whole + ")` is true there, `" + text + " is not null && " + whole + "` is false"
	}
}

// eitherNull is whereNull for a condition. It has brackets, since a `!` may stand in front.
func (c *checker) eitherNull(o operand) string {
	text := c.file.Line(o.node)
	return "say what holds where it is null: `(" + text + " ?? true)` or `(" + text + " ?? false)`"
}

// equalsNull reports a comparison with null, which is written another way. One side is null.
func (c *checker) equalsNull(e *syntax.Binary, l, r operand) {
	null, other, ask := r, l, "is null"
	if l.null {
		null, other = l, r
	}
	if e.Op == "!=" {
		ask = "is not null"
	}
	d := diag.New("may-be-null", c.at(null.node), "nothing can be calculated or compared with null")
	if other.x != nil && other.typ().Null {
		c.report(d.WithLabel("write `%s %s`", c.file.Line(other.node), ask))
		return
	}
	c.report(d.WithLabel("leave this out: `%s` is never null", c.file.Line(other.node)))
}

func (s scope) isNull(e *syntax.IsNull) operand {
	o := s.check(e.X)
	switch {
	case o.bad():
		return operand{node: e.Node}
	case !o.null && !o.typ().Null:
		s.neverNull(o)
		return operand{node: e.Node}
	case o.null:
		s.c.typed(o)
		return operand{node: e.Node}
	}
	return operand{x: &ir.IsNull{Neg: e.Not, X: o.x}, node: e.Node}
}

func (s scope) neverNull(o operand) {
	d := diag.New("never-null", s.c.at(o.node), "`%s` is never null", s.c.file.Line(o.node)).WithLabel("it is %s", o)
	if _, ok := o.x.(*ir.Known); ok {
		d = d.WithHelp("a condition above has seen to that")
	}
	s.c.report(d)
}

func (s scope) coalesce(e *syntax.Binary) operand {
	bad := operand{node: e.Node}
	x, alt := s.check(e.L), s.check(e.R)
	if x.bad() || alt.bad() {
		return bad
	}
	if x.null {
		s.c.typed(x)
		return bad
	}
	if !x.typ().Null {
		s.neverNull(x)
		return bad
	}
	t := s.c.common(e.Node, x, alt)
	if t.Kind == 0 {
		return bad
	}
	t.Null = alt.null || alt.typ().Null
	return operand{x: &ir.Coalesce{X: x.convert(t.Nullable()), Else: alt.convert(t), T: t}, node: e.Node}
}

func (s scope) conditional(e *syntax.If) operand {
	cond := s.condition(e.Cond, "what stands behind `if`")
	then, alt := s.after(e.Cond, true).check(e.Then), s.after(e.Cond, false).check(e.Else)
	t := s.c.common(e.Node, then, alt)
	if cond == nil || t.Kind == 0 {
		return operand{node: e.Node}
	}
	return operand{x: &ir.Cond{If: cond, Then: then.convert(t), Else: alt.convert(t), T: t}, node: e.Node}
}
