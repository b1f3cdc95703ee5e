package codegen

import (
	"slices"

	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// columns says for each column of a row whether anything reads it.
type columns []bool

func (c columns) addAll(other columns) {
	for i, used := range other {
		c[i] = c[i] || used
	}
}

func (c columns) addExpr(e ir.Expr) {
	walk(simplify(e), func(e ir.Expr) {
		if col, ok := e.(*ir.Column); ok {
			c[col.Index] = true
		}
	})
}

func all(row ir.Row) columns {
	c := make(columns, len(row))
	for i := range c {
		c[i] = true
	}
	return c
}

// liveness finds what is read of the rows that each node passes on. An item of let and
// select that nobody reads is still evaluated if it can be a record error.
func liveness(g *planner.Graph) map[*planner.Node]columns {
	live := map[*planner.Node]columns{}
	for _, n := range slices.Backward(g.Nodes) {
		use := make(columns, len(n.Row))
		for _, e := range n.Out {
			if e.Kind == planner.Rows {
				use.addAll(reads(n, e.To, live[e.To]))
			}
		}
		live[n] = use
	}
	return live
}

// reads are the columns of from that the node to reads, where out is read of its own rows.
func reads(from, to *planner.Node, out columns) columns {
	in := make(columns, len(from.Row))
	if rejectsResults(to) {
		in = all(from.Row) // the dead letter of a result is the whole of it
	}
	switch op := to.Op.(type) {
	case *planner.Union:
		at := from.Row.Places()
		for i, f := range to.Row {
			if out[i] {
				in[at(f.Name, i)] = true
			}
		}
	case *planner.Filter:
		in.addAll(out)
		in.addExpr(op.Cond)
	case *planner.Project:
		_, row := itemsRead(op, len(in), out)
		in.addAll(row)
	case *planner.Exchange:
		in.addAll(out)
		for _, k := range op.Keys {
			in.addExpr(k.Expr)
		}
	case *planner.Window:
		for _, a := range op.Aggregates {
			in.addExpr(a.Arg)
			in.addExpr(a.If)
		}
		if op.Late != nil {
			in = all(from.Row)
		}
	case *planner.Route:
		in.addAll(out)
		for _, r := range op.Routes {
			in.addExpr(r.If)
		}
		for _, e := range to.Out {
			if e.Kind == planner.Rows {
				in.addAll(reads(to, e.To, nil))
			}
		}
	case *planner.Sink:
		in = all(from.Row)
	}
	return in
}

// itemsRead says which items of a let or select are read, where out is read of the row that it makes, and what
// they and the readers read of the row that it takes, which has so many columns.
func itemsRead(op *planner.Project, width int, out columns) (items, in columns) {
	row := make(columns, width+len(op.Items)) // a let sees its own items
	if op.Append {
		copy(row, out)
	} else {
		copy(row[width:], out)
	}
	for i, item := range slices.Backward(op.Items) { // which read those before them
		if row[width+i] || fails(item.Expr) {
			row.addExpr(item.Expr)
		}
	}
	return row[width:], row[:width]
}

// rejectsResults reports whether n stands behind an aggregate and can refuse a result.
func rejectsResults(n *planner.Node) bool {
	switch op := n.Op.(type) {
	case *planner.Filter:
		return op.Result && clauseFails(n)
	case *planner.Project:
		return op.Result && clauseFails(n)
	case *planner.Route:
		return op.Result && clauseFails(n)
	}
	return false
}

// follower is the node of the same stream that n feeds, or nil.
func follower(n *planner.Node) *planner.Node {
	for _, e := range n.Out {
		if e.Kind == planner.Rows && e.To.Stream == n.Stream && n.Stream != "" {
			return e.To
		}
	}
	return nil
}

// clauseFails reports whether a where, let, select or route can reject a row.
func clauseFails(n *planner.Node) bool {
	switch op := n.Op.(type) {
	case *planner.Filter:
		return fails(op.Cond)
	case *planner.Project:
		return slices.ContainsFunc(op.Items, func(i ir.Named) bool { return fails(i.Expr) })
	case *planner.Route:
		return slices.ContainsFunc(op.Routes, func(r planner.Branch) bool { return fails(r.If) })
	}
	return false
}

// fails reports whether e, which may be nil, can be a record error.
func fails(e ir.Expr) bool { return e != nil && simplify(e).Fallible() }

// walk calls f for e and every expression in it. A nil e has none.
func walk(e ir.Expr, f func(ir.Expr)) {
	if e == nil {
		return
	}
	f(e)
	for _, x := range operands(e) {
		walk(x, f)
	}
}

// operands are the expressions that e is made of.
func operands(e ir.Expr) []ir.Expr {
	switch e := e.(type) {
	case *ir.Not:
		return []ir.Expr{e.X}
	case *ir.Neg:
		return []ir.Expr{e.X}
	case *ir.Arith:
		return []ir.Expr{e.L, e.R}
	case *ir.Compare:
		return []ir.Expr{e.L, e.R}
	case *ir.Logic:
		return []ir.Expr{e.L, e.R}
	case *ir.In:
		return append([]ir.Expr{e.X}, e.List...)
	case *ir.Coalesce:
		return []ir.Expr{e.X, e.Else}
	case *ir.IsNull:
		return []ir.Expr{e.X}
	case *ir.Cond:
		return []ir.Expr{e.If, e.Then, e.Else}
	case *ir.Cast:
		return []ir.Expr{e.X}
	case *ir.Known:
		return []ir.Expr{e.X}
	}
	return nil
}
