package judge

import (
	"fmt"
	"time"

	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// Order tells the first result of a key that stands behind one of a later window, within the partition of the key; "" if
// there is none. The records are those of a topic, sorted by partition and offset.
func Order(records []Record) string {
	type place struct {
		partition int32
		key       string
	}
	newest := map[place]time.Time{}
	for _, rec := range records {
		at := place{rec.Partition, string(rec.Key)}
		if before := newest[at]; rec.Key != nil && rec.Time.Before(before) {
			return fmt.Sprintf("partition %d: key %q: the result at offset %d is of %v, behind one of %v", rec.Partition, rec.Key, rec.Offset, rec.Time, before)
		}
		newest[at] = rec.Time
	}
	return ""
}

// Ordered reports whether records of one key stand in the order of their windows in what the sink n writes. Eoc promises that for
// results of one window and one key of that window: so all rows of the sink have to come from one window, and the sink's key has to have
// every key of the window as it is. A shorter key takes results of several keys together, which tasks close independently
// of each other, and two windows close each in their own time.
func Ordered(n *planner.Node) bool {
	keys := map[int]bool{}
	for _, k := range n.Op.(*planner.Sink).Key {
		if at, ok := column(k.Expr); ok {
			keys[at] = true
		}
	}
	o := origin{windows: map[*planner.Node]bool{}, complete: true}
	o.inputs(n, keys)
	return o.complete && len(o.windows) == 1
}

// origin is where the rows of a sink come from.
type origin struct {
	windows  map[*planner.Node]bool
	complete bool // all of them are results, and have all keys of their window
}

// inputs follows the rows that n gets. keys are the columns of them that are in the sink's key.
func (o *origin) inputs(n *planner.Node, keys map[int]bool) {
	for _, from := range n.In {
		for _, e := range from.Out {
			if e.To == n && e.Kind != planner.DeadLetters {
				o.complete = o.complete && e.Kind == planner.Rows
				o.node(from, keys)
			}
		}
	}
}

// node follows the rows that n passes on.
func (o *origin) node(n *planner.Node, keys map[int]bool) {
	before := map[int]bool{} // the same columns, as n got them
	switch op := n.Op.(type) {
	case *planner.Window:
		o.windows[n] = true
		for i, k := range op.By {
			o.complete = o.complete && keys[i] && exact(k.Expr.Type())
		}
		return
	case *planner.Filter, *planner.Route:
		before = keys
	case *planner.Project:
		first := 0
		if op.Append {
			first = len(n.Row) - len(op.Items)
		}
		for at := range keys {
			if at, ok := carried(op, first, at); ok {
				before[at] = true
			}
		}
	default:
		o.complete = false
		return
	}
	o.inputs(n, before)
}

// carried is the column that a projection, whose items begin at first, passes on as column at.
func carried(op *planner.Project, first, at int) (before int, ok bool) {
	for at >= first {
		if at, ok = column(op.Items[at-first].Expr); !ok {
			return 0, false
		}
		if !op.Append {
			break
		}
	}
	return at, true // an item of a let may be one before it
}

// column is the column that e is, as it is.
func column(e ir.Expr) (at int, ok bool) {
	switch e := e.(type) {
	case *ir.Column:
		return e.Index, true
	case *ir.Known:
		return column(e.X)
	}
	return 0, false
}

// exact reports whether different values of t are written differently.
func exact(t ir.Type) bool {
	return t.Kind != ir.Timestamp || t.Unit != ir.Seconds && t.Unit != ir.Millis
}
