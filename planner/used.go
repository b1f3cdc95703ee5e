package planner

import (
	"slices"

	"github.com/eoc-lang/eoc/internal/ir"
)

// used finds the fields that each source has to decode: those that an expression, a whole-row sink
// or the late sink of a window reads. A let or select evaluates all its items, since any of them can
// be a record error.
//
// It walks the nodes backwards, so it comes after they are in order.
func used(g *Graph) {
	needs := map[*Node]columns{}
	for _, n := range slices.Backward(g.Nodes) {
		need := make(columns, len(n.Row))
		for _, e := range n.Out {
			if e.Kind == Rows {
				need.addAll(inputNeeds(n, e.To, needs[e.To]))
			}
		}
		if s, ok := n.Op.(*Source); ok {
			need.addExpr(s.Time)
			s.Used = need.list()
		}
		needs[n] = need
	}
}

// inputNeeds are the columns of from that its reader to needs, if of the reader's own rows out are needed.
func inputNeeds(from, to *Node, out columns) columns {
	in := make(columns, len(from.Row))
	switch op := to.Op.(type) {
	case *Union:
		at := from.Row.Places()
		for i, f := range to.Row {
			if out[i] {
				in[at(f.Name, i)] = true
			}
		}
	case *Filter:
		in.addAll(out)
		in.addExpr(op.Cond)
	case *Project:
		if op.Append {
			in.addAll(out[:len(in)])
		}
		for _, item := range op.Items {
			in.addExpr(item.Expr)
		}
	case *Exchange:
		in.addAll(out)
	case *Window:
		for _, k := range op.By {
			in.addExpr(k.Expr)
		}
		for _, a := range op.Aggregates {
			in.addExpr(a.Arg)
			in.addExpr(a.If)
		}
		if op.Late != nil {
			in.setAll()
		}
	case *Route:
		in.addAll(out)
		for _, r := range op.Routes {
			in.addExpr(r.If)
		}
	case *Sink:
		in.setAll()
	}
	return in
}

// columns says for each column of a row whether it is needed.
type columns []bool

func (c columns) setAll() {
	for i := range c {
		c[i] = true
	}
}

func (c columns) addAll(other columns) {
	for i, b := range other {
		c[i] = c[i] || b
	}
}

// addExpr adds the columns that e reads. Columns beyond c are items of the same let.
func (c columns) addExpr(e ir.Expr) {
	walk(e, func(e ir.Expr) {
		if col, ok := e.(*ir.Column); ok && col.Index < len(c) {
			c[col.Index] = true
		}
	})
}

func (c columns) list() []int {
	list := []int{}
	for i, b := range c {
		if b {
			list = append(list, i)
		}
	}
	return list
}

// walk calls f for e and every expression in it. A nil e has none.
func walk(e ir.Expr, f func(ir.Expr)) {
	if e == nil {
		return
	}
	f(e)
	switch e := e.(type) {
	case *ir.Not:
		walk(e.X, f)
	case *ir.Neg:
		walk(e.X, f)
	case *ir.Arith:
		walk(e.L, f)
		walk(e.R, f)
	case *ir.Compare:
		walk(e.L, f)
		walk(e.R, f)
	case *ir.Logic:
		walk(e.L, f)
		walk(e.R, f)
	case *ir.In:
		walk(e.X, f)
		for _, x := range e.List {
			walk(x, f)
		}
	case *ir.Coalesce:
		walk(e.X, f)
		walk(e.Else, f)
	case *ir.IsNull:
		walk(e.X, f)
	case *ir.Cond:
		walk(e.If, f)
		walk(e.Then, f)
		walk(e.Else, f)
	case *ir.Cast:
		walk(e.X, f)
	case *ir.Known:
		walk(e.X, f)
	}
}
