package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/internal/ir"
)

// What the printed forms of a graph have in common: words for its parts.

// Kind is what a node does, in one word: source, union, filter, project, exchange, window, route, sink or dead-letter.
func (n *Node) Kind() string {
	switch n.Op.(type) {
	case *Source:
		return "source"
	case *Union:
		return "union"
	case *Filter:
		return "filter"
	case *Project:
		return "project"
	case *Exchange:
		return "exchange"
	case *Window:
		return "window"
	case *Route:
		return "route"
	case *Sink:
		return "sink"
	case *DeadLetter:
		return "dead-letter"
	}
	panic(fmt.Sprintf("planner: unknown operator %T", n.Op))
}

// String is how the printed forms call an edge's rows.
func (k EdgeKind) String() string {
	return [...]string{Rows: "rows", Late: "late", DeadLetters: "dead-letters"}[k]
}

// Clauses are the lines of the text that a node stands for: one, but two of a window.
func (n *Node) Clauses() []string {
	switch op := n.Op.(type) {
	case *Exchange:
		if len(op.Keys) == 0 {
			return []string{"exchange: all rows to one task"}
		}
		return []string{"exchange by " + keysText(op.Keys)}
	case *Window:
		return []string{n.Place.Text, op.AggregatePlace.Text}
	}
	return []string{n.Place.Text}
}

// Condition is that under which the edge number i of a route is taken, as the language has it: `if total > 100`, `else`, or "" for
// every row. Other operators have none.
func (n *Node) Condition(i int) string {
	if r, ok := n.Op.(*Route); ok && n.Out[i].Kind == Rows {
		return branchText(r.Routes[i])
	}
	return ""
}

// keysText names keys with their types.
func keysText(keys []ir.Named) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = nameText(k.Name) + " " + k.Expr.Type().String()
	}
	return strings.Join(texts, ", ")
}

// rowText writes fields with their types.
func rowText(r ir.Row) string {
	texts := make([]string, len(r))
	for i, f := range r {
		texts[i] = fieldText(f)
	}
	return strings.Join(texts, ", ")
}

func fieldText(f ir.Field) string {
	text := nameText(f.Name) + " " + f.Type.String()
	if f.Default != nil {
		text += " = " + constText(f.Default)
	}
	return text
}

// deliveryText is the option that chooses d.
func deliveryText(d Delivery) string {
	return [...]string{DeliverExactlyOnce: "exactly_once", DeliverAtLeastOnce: "at_least_once", DeliverNone: "none"}[d]
}

// onErrorText is what on_error says: `dlq("orders.dlq")`.
func onErrorText(e OnError) string {
	switch e.Mode {
	case OnErrorSkip:
		return "skip"
	case OnErrorDLQ:
		return "dlq(" + settingText(e.Topic) + ")"
	}
	return "fail"
}

func onNullText(fail bool) string { return pick(fail, "fail", "skip") }

// stateForm is the form of what a node keeps in a checkpoint; "" if it keeps nothing.
func (g *Graph) stateForm(id string) string {
	i, ok := slices.BinarySearchFunc(g.State, id, func(f StateForm, id string) int { return strings.Compare(f.ID, id) })
	if !ok {
		return ""
	}
	return g.State[i].Form
}
