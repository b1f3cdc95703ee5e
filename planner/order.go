package planner

import (
	"cmp"
	"slices"

	"github.com/eoc-lang/eoc/internal/ir"
)

// order puts nodes and edges into the order of the text, each node behind those that feed
// it and dead-letter topics last, and turns links into edges.
//
// It comes when all nodes are there. Whatever follows walks the nodes once, forwards or backwards,
// and makes the same numbers and texts for the same program.
func (b *builder) order() {
	nodes := b.graph.Nodes
	made := map[*Node]int{}
	waiting := map[*Node]int{}
	for i, n := range nodes {
		made[n] = i
	}
	for _, l := range b.links {
		waiting[l.to]++
	}
	first := func(x, y *Node) int {
		_, dx := x.Op.(*DeadLetter)
		_, dy := y.Op.(*DeadLetter)
		if dx != dy {
			return cmp.Compare(btoi(dx), btoi(dy))
		}
		return cmp.Or(inText(x.Place, y.Place), cmp.Compare(made[x], made[y]))
	}
	ordered := make([]*Node, 0, len(nodes))
	for left := slices.Clone(nodes); len(left) > 0; {
		var next *Node
		for _, n := range left {
			if waiting[n] == 0 && (next == nil || first(n, next) < 0) {
				next = n
			}
		}
		if next == nil {
			panic("planner: the streams of a program read each other in a circle")
		}
		for _, l := range b.links {
			if l.from == next {
				waiting[l.to]--
			}
		}
		ordered = append(ordered, next)
		left = slices.DeleteFunc(left, func(n *Node) bool { return n == next })
	}
	b.graph.Nodes = ordered
	b.edges()
}

// edges sorts the links by where the text asks for them, dead letters last. The branches of a
// route stand as the text has them, so they keep their order.
func (b *builder) edges() {
	slices.SortStableFunc(b.links, func(x, y link) int {
		return cmp.Or(cmp.Compare(btoi(x.kind == DeadLetters), btoi(y.kind == DeadLetters)), inText(x.at, y.at))
	})
	for _, l := range b.links {
		l.from.Out = append(l.from.Out, Edge{To: l.to, Kind: l.kind, Clause: l.clause})
		if !slices.Contains(l.to.In, l.from) {
			l.to.In = append(l.to.In, l.from)
		}
	}
}

func inText(x, y ir.Place) int {
	return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
