package planner

// exchange puts an Exchange in front of every operator that keeps state by key.
//
// No source says that its partitions go by the key that an operator wants, so the
// exchange is always there; at parallelism 1 it is a direct call. It comes first of the
// rewrites, because it decides what belongs to one task: chains end at it.
func (b *builder) exchange() {
	var added []*Node
	before := map[*Node]*Node{}
	of := map[*Node]*Node{}
	for _, n := range b.graph.Nodes {
		if w, ok := n.Op.(*Window); ok {
			x := b.add(n.Stream+"/exchange", n.Stream, n.Place, w.Input, &Exchange{Keys: w.By})
			added, before[n], of[x] = append(added, x), x, n
		}
	}
	b.insert(before)
	for _, x := range added {
		b.connect(x, of[x], Rows, x.Place, x.Place)
	}
}
