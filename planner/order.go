package planner

import (
	"cmp"
	"container/heap"
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
	next := map[*Node][]*Node{}
	for _, l := range b.links {
		next[l.from] = append(next[l.from], l.to)
	}
	ready := &queue{first: first}
	for _, n := range nodes {
		if waiting[n] == 0 {
			heap.Push(ready, n)
		}
	}
	ordered := make([]*Node, 0, len(nodes))
	for ready.Len() > 0 {
		n := heap.Pop(ready).(*Node)
		ordered = append(ordered, n)
		for _, to := range next[n] {
			if waiting[to]--; waiting[to] == 0 {
				heap.Push(ready, to)
			}
		}
	}
	if len(ordered) < len(nodes) {
		panic("planner: the streams of a program read each other in a circle")
	}
	b.graph.Nodes = ordered
	b.edges()
}

// queue holds the nodes that may come next, for package heap.
type queue struct {
	nodes []*Node
	first func(x, y *Node) int
}

func (q *queue) Len() int           { return len(q.nodes) }
func (q *queue) Less(i, j int) bool { return q.first(q.nodes[i], q.nodes[j]) < 0 }
func (q *queue) Swap(i, j int)      { q.nodes[i], q.nodes[j] = q.nodes[j], q.nodes[i] }
func (q *queue) Push(n any)         { q.nodes = append(q.nodes, n.(*Node)) }
func (q *queue) Pop() any {
	last := q.nodes[len(q.nodes)-1]
	q.nodes = q.nodes[:len(q.nodes)-1]
	return last
}

// edges sorts the links by where the text asks for them, dead letters last. The branches of a
// route stand as the text has them, so they keep their order.
func (b *builder) edges() {
	slices.SortStableFunc(b.links, func(x, y link) int {
		return cmp.Or(cmp.Compare(btoi(x.kind == DeadLetters), btoi(y.kind == DeadLetters)), inText(x.at, y.at))
	})
	fed := map[[2]*Node]bool{}
	for _, l := range b.links {
		l.from.Out = append(l.from.Out, Edge{To: l.to, Kind: l.kind, Clause: l.clause})
		if way := [2]*Node{l.from, l.to}; !fed[way] {
			fed[way] = true
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
