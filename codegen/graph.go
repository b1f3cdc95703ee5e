package codegen

import (
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/planner"
)

// operators prints the graph as data, for who looks at the running program: of each operator what it is, its
// text and whom it feeds, in a line each.
func (p *program) operators() jen.Code {
	var nodes []jen.Code
	for _, n := range p.graph.Nodes {
		node := []jen.Code{
			entry("ID", jen.Lit(n.ID)), entry("Kind", jen.Lit(n.Kind())), entry("Place", jen.Lit(p.place(n.Place))), entry("Chain", jen.Lit(n.Chain)),
			jen.Line().Add(entry("Text", rawText(strings.Join(n.Clauses(), "\n")))),
		}
		if len(n.Out) > 0 {
			node = append(node, jen.Line().Add(entry("Out", jen.Index().Add(rt("Edge")).Values(edges(n)...))))
		}
		nodes = append(nodes, jen.Values(node...))
	}
	return jen.Index().Add(rt("Node")).Add(multiline(nodes))
}

func edges(n *planner.Node) []jen.Code {
	var list []jen.Code
	for i, e := range n.Out {
		edge := []jen.Code{entry("To", jen.Lit(e.To.ID))}
		if e.Kind != planner.Rows {
			edge = append(edge, entry("Rows", jen.Lit(e.Kind.String())))
		}
		if text := n.Condition(i); text != "" {
			edge = append(edge, entry("If", rawText(text)))
		}
		list = append(list, jen.Values(edge...))
	}
	return list
}
