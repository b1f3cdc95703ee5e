package reference

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// paneID is one key in one window.
type paneID struct {
	start int64  // of the window, in microseconds
	key   string // all key values, told apart from each other
}

// pane is what was gathered for a paneID.
type pane struct {
	keys []any
	rows int64
	aggs []*gathered
}

// gathered is all values of one aggregate, none added up yet.
type gathered struct {
	rows   int64 // for which If holds
	values []any // of the argument, without nulls
}

// add takes a row into its window, or refuses it as late. What can fail comes first: a row that
// is bad is refused as bad even if it is late as well.
func (in *interpreter) add(n *planner.Node, w *planner.Window, r row) {
	keys := make([]any, len(w.By))
	for i, k := range w.By {
		v, err := evaluate(k.Expr, r.values)
		if err != nil {
			in.reject(n, r, Expression, err)
			return
		}
		keys[i] = v
	}
	args, err := arguments(w.Aggregates, r.values)
	if err != nil {
		in.reject(n, r, Expression, err)
		return
	}
	size := w.Size.Microseconds()
	offset := w.Offset.Microseconds()
	start := offset + floorDiv(r.time-offset, size)*size
	if r.origin.watermark >= start+size+w.Grace.Microseconds() {
		in.late(n, r)
		return
	}
	in.count(n, "aggregated", r)
	id := paneID{start, keyText(w.By, keys)}
	if in.windows[n] == nil {
		in.windows[n] = map[paneID]*pane{}
	}
	p := in.windows[n][id]
	if p == nil {
		p = &pane{keys: keys}
		for range w.Aggregates {
			p.aggs = append(p.aggs, &gathered{})
		}
		in.windows[n][id] = p
	}
	p.rows++
	for i, a := range args {
		if a.counts {
			p.aggs[i].rows++
			if a.value != nil {
				p.aggs[i].values = append(p.aggs[i].values, a.value)
			}
		}
	}
}

// argument is what one row gives to one aggregate.
type argument struct {
	counts bool // If holds
	value  any
}

// arguments evaluates `f(x) if e`: x only where e holds.
func arguments(aggs []ir.Aggregate, values []any) ([]argument, error) {
	args := make([]argument, len(aggs))
	for i, a := range aggs {
		args[i].counts = true
		if a.If != nil {
			v, err := evaluate(a.If, values)
			if err != nil {
				return nil, err
			}
			args[i].counts = v == true
		}
		if args[i].counts && a.Arg != nil {
			v, err := evaluate(a.Arg, values)
			if err != nil {
				return nil, err
			}
			args[i].value = v
		}
	}
	return args, nil
}

// late counts a row that its window refuses and sends it to the sink of `late to`, if there is one.
func (in *interpreter) late(n *planner.Node, r row) {
	in.count(n, "late", r)
	for _, e := range n.Out {
		if e.Kind == planner.Late {
			in.take(n, e.To, r)
		}
	}
}

// keyText writes keys so that different ones have different texts and null is not "".
func keyText(by []ir.Named, keys []any) string {
	var b []byte
	for i, k := range by {
		b = append(appendValue(b, k.Expr.Type(), keys[i]), '\n') // JSON has no line ends in values
	}
	return string(b)
}

// close yields the results of every window of n that W has passed, the oldest first.
func (in *interpreter) close(n *planner.Node, w *planner.Window, until int64) {
	panes := in.windows[n]
	ids := make([]paneID, 0, len(panes))
	for id := range panes {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(x, y paneID) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.key, y.key))
	})
	for _, id := range ids {
		p := panes[id]
		end := id.start + w.Size.Microseconds()
		if until < end+w.Grace.Microseconds() {
			continue
		}
		r := row{values: slices.Clone(p.keys), time: end - 1000, sources: w.Sources}
		r.values = append(r.values, big.NewInt(id.start), big.NewInt(end))
		var failed error
		for i, a := range w.Aggregates {
			v, err := p.aggs[i].result(a)
			r.values = append(r.values, v)
			failed = cmp.Or(failed, err)
		}
		if failed != nil {
			in.count(n, "rejected", r)
			in.rejectResult(n, r, failed, appendRow(nil, n.Row, r.values))
			continue
		}
		in.pass(n, r)
	}
}

// result is the value of an aggregate. With an error the value is null.
func (g *gathered) result(a ir.Aggregate) (any, error) {
	switch a.Func {
	case ir.Count:
		if a.Arg == nil {
			return big.NewInt(g.rows), nil
		}
		return big.NewInt(int64(len(g.values))), nil
	case ir.Min, ir.Max:
		return g.extreme(a), nil
	}
	if len(g.values) == 0 {
		return nil, nil
	}
	if a.Arg.Type().Kind == ir.Float {
		return g.floats(a.Func)
	}
	sum := new(big.Int)
	for _, v := range g.values {
		sum.Add(sum, v.(*big.Int))
	}
	n := big.NewInt(int64(len(g.values)))
	if a.Func == ir.Avg && a.T.Kind == ir.Float {
		f, _ := new(big.Rat).SetFrac(sum, n).Float64()
		return f, nil
	}
	if a.Func == ir.Avg {
		digits := pow10(a.T.Scale - a.Arg.Type().Scale)
		sum = halfEven(sum.Mul(sum, digits), n)
	}
	if _, err := fits(sum, a.T); err != nil {
		return nil, err
	}
	return sum, nil
}

func (g *gathered) extreme(a ir.Aggregate) any {
	var best any
	for _, v := range g.values {
		c := 0
		if best != nil {
			c = compare(v, best)
		}
		if best == nil || a.Func == ir.Min && c < 0 || a.Func == ir.Max && c > 0 {
			best = v
		}
	}
	return best
}

// floats adds up exactly and rounds once.
func (g *gathered) floats(f ir.AggFunc) (any, error) {
	sum := new(big.Rat)
	for _, v := range g.values {
		sum.Add(sum, new(big.Rat).SetFloat64(v.(float64)))
	}
	if f == ir.Avg {
		sum.Quo(sum, big.NewRat(int64(len(g.values)), 1))
	}
	x, _ := sum.Float64()
	if math.IsInf(x, 0) {
		return nil, errNotFinite
	}
	return x, nil
}

// inexact notes the float fields of sinks that float sums or averages reach.
func (in *interpreter) inexact() {
	for _, n := range in.graph.Nodes {
		if _, ok := n.Op.(*planner.Sink); !ok || !behindFloatSum(n) {
			continue
		}
		for _, f := range n.Row {
			if f.Type.Kind == ir.Float {
				in.result.Inexact[n.ID] = append(in.result.Inexact[n.ID], f.Name)
			}
		}
	}
}

func behindFloatSum(n *planner.Node) bool {
	if w, ok := n.Op.(*planner.Window); ok && slices.ContainsFunc(w.Aggregates, func(a ir.Aggregate) bool {
		return (a.Func == ir.Sum || a.Func == ir.Avg) && a.Arg.Type().Kind == ir.Float
	}) {
		return true
	}
	return slices.ContainsFunc(n.In, behindFloatSum)
}

var (
	errNull      = errors.New("the value is null")
	errNotFinite = errors.New("the result is not a finite float")
)
