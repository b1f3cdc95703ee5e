package dsl

import (
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// fold reads `name = f(x) if e`.
func (w *streamWalk) fold(row *shape, out *Aggregate, n *syntax.Fold) {
	agg, ok := w.folded(n)
	if n.If != nil {
		agg.If = w.scope().condition(n.If, "what stands behind `if`")
		if agg.Func != ir.Count {
			agg.T.Null = agg.T.Kind != 0 // no row may pass
		}
	}
	name := n.Item.Name
	if name == nil {
		if ok {
			w.report(diag.New("unnamed", w.at(n.Item.Node), "this value has no name").
				WithLabel("`name = %s`", w.file.Line(n.Item.Node)))
		}
		row.open = true
		return
	}
	agg.Name, agg.Place = name.String(), w.place(n.Node)
	w.addField(row, ir.Field{Name: agg.Name, Type: agg.T}, name.Node, anotherName)
	out.Items = append(out.Items, agg)
}

func isAggregate(e syntax.Expr) bool {
	call, ok := e.(*syntax.Call)
	if !ok {
		return false
	}
	ref, ok := call.Fun.(*syntax.Ref)
	return ok && slices.Contains(aggregates, ref.Name)
}

// folded types the aggregate; ok is false after a report.
func (w *streamWalk) folded(n *syntax.Fold) (agg ir.Aggregate, ok bool) {
	e := n.Item.Value
	call, isCall := e.(*syntax.Call)
	if !isAggregate(e) {
		w.notAggregate(e, isCall)
		return agg, false
	}
	name := call.Fun.(*syntax.Ref).Name
	agg.Func = ir.AggFunc(name)
	switch agg.Func {
	case ir.Count, ir.Sum, ir.Min, ir.Max, ir.Avg:
	default:
		w.notYet(call.Node, "the aggregate `"+name+"`")
		return agg, false
	}
	if call.Distinct {
		w.notYet(call.Node, "`distinct`")
		return agg, false
	}
	named := slices.ContainsFunc(call.Args, func(a *syntax.Arg) bool { return a.Name != nil })
	if len(call.Args) > 1 || named || len(call.Args) == 0 && agg.Func != ir.Count {
		form := name + "(x)"
		if agg.Func == ir.Count {
			form = "count() or count(x)"
		}
		w.errorf(call.Node, "wrong-arguments", "this aggregate is written %s", form)
		return agg, false
	}
	if len(call.Args) == 0 {
		agg.T = ir.Type{Kind: ir.Int}
		return agg, true
	}
	sc := w.scope()
	if n.If != nil {
		sc = sc.after(n.If, true) // only the rows that pass get here
	}
	o := w.checker.typed(sc.check(call.Args[0].Value))
	if o.bad() {
		return agg, false
	}
	agg.Arg = o.x
	agg.T, ok = w.aggregateType(agg.Func, o)
	return agg, ok
}

// aggregateType is the result of an aggregate over an operand.
func (w *streamWalk) aggregateType(f ir.AggFunc, o operand) (ir.Type, bool) {
	t := o.typ()
	switch f {
	case ir.Count:
		return ir.Type{Kind: ir.Int}, true
	case ir.Sum, ir.Avg:
		switch {
		case t.Kind == ir.Duration:
			w.notYet(o.node, "`"+string(f)+"` of a duration")
			return ir.Type{}, false
		case !isNumber(t):
			w.errorf(o.node, "type-mismatch", "`%s` takes numbers, this is %s", f, o)
			return ir.Type{}, false
		case t.Kind == ir.Decimal:
			t.Precision = maxPrecision
			if f == ir.Avg {
				t.Scale = max(t.Scale, minDivisionScale)
			}
		case f == ir.Avg:
			t.Kind = ir.Float
		}
		return t, true
	}
	switch t.Kind {
	case ir.String:
		w.notYet(o.node, "`"+string(f)+"` of a string")
		return ir.Type{}, false
	case ir.Bool:
		w.errorf(o.node, "type-mismatch", "true and false have no order: `%s` does not take them", f)
		return ir.Type{}, false
	}
	return t, true
}

// aggregateHabits are names of aggregates elsewhere.
var aggregateHabits = map[string]string{"mean": "avg", "average": "avg", "total": "sum", "minimum": "min", "maximum": "max", "cnt": "count"}

// notAggregate reports an item of aggregate that is something else.
func (w *streamWalk) notAggregate(e syntax.Expr, isCall bool) {
	d := diag.New("bad-aggregate", w.at(e.Span()), "this is not an aggregate")
	if call, ok := e.(*syntax.Call); ok {
		if ref, ok := call.Fun.(*syntax.Ref); ok {
			if meant := aggregateHabits[strings.ToLower(ref.Name)]; meant != "" {
				w.report(d.WithLabel("here it is `%s`", meant))
				return
			}
			d = d.DidYouMean(ref.Name, aggregatesHere)
		} else {
			w.notYet(e.Span(), "an aggregate of a Go package")
			return
		}
	}
	if ref, ok := e.(*syntax.Ref); ok && slices.Contains(aggregatesHere, ref.Name) {
		form := ref.Name + "(…)"
		if ref.Name == "count" {
			form = "count()"
		}
		w.report(d.WithLabel("with brackets it is: `%s`", form))
		return
	}
	if ref, ok := e.(*syntax.Ref); ok && w.keys.row.Index(ref.Name) >= 0 {
		w.report(d.WithLabel("leave it out: `%s` is a key of the window, and stands in its results", ref.Name))
		return
	} else if ok && w.row.row.Index(ref.Name) >= 0 {
		w.report(d.WithNote("here: %s", strings.Join(aggregatesHere, " · ")).
			WithHelp("add `%[1]s` to the keys of the window, or say which of its values is meant, as in `max(%[1]s)`", ref.Name))
		return
	}
	w.report(d.WithNote("here: %s", strings.Join(aggregatesHere, " · ")).
		WithHelp("an aggregate stands alone; calculate with its result in a `let` or `select` behind"))
}
