package planner

// chains numbers the chains: what is fused into straight-line code of one task. Everything
// that rows reach without passing an exchange belongs together, also what several
// sources feed, since a task reads partitions of all sources.
//
// A sink's encoder is part of the chain that feeds it first in the text, likewise a dead-letter topic.
// Late rows are refused in front of the exchange, so their sink belongs to the chain there.
// It comes last of what changes nodes: an operator that were added later would have no chain.
func chains(g *Graph) {
	var number func(n *Node, chain int)
	number = func(n *Node, chain int) {
		if n.Chain != 0 || isOutput(n) {
			return
		}
		n.Chain = chain
		if _, ends := n.Op.(*Exchange); !ends {
			for _, e := range n.Out {
				number(e.To, chain)
			}
		}
		if !behindExchange(n) {
			for _, from := range n.In {
				number(from, chain)
			}
		}
	}
	last := 0
	for _, n := range g.Nodes {
		if n.Chain == 0 && !isOutput(n) {
			last++
			number(n, last)
		}
	}
	for _, n := range g.Nodes {
		if isOutput(n) && len(n.In) > 0 {
			n.Chain = feedingChain(n.In[0], n)
		}
	}
}

// feedingChain is the chain in which from hands rows to the sink to.
func feedingChain(from, to *Node) int {
	for _, e := range from.Out {
		if e.To == to && e.Kind != Rows && behindExchange(from) {
			return from.In[0].Chain
		}
	}
	return from.Chain
}

func isOutput(n *Node) bool {
	switch n.Op.(type) {
	case *Sink, *DeadLetter:
		return true
	}
	return false
}

func behindExchange(n *Node) bool {
	if len(n.In) != 1 {
		return false
	}
	_, ok := n.In[0].Op.(*Exchange)
	return ok
}
