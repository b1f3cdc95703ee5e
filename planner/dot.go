package planner

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WriteDOT writes a graph in the language of Graphviz (https://graphviz.org/doc/info/lang.html), a box
// around each chain. Late rows are dashed, dead letters dotted, an exchange is a thick line.
// Equal graphs give equal bytes. The error is that of w.
func WriteDOT(w io.Writer, g *Graph) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "digraph %s {\n", dotID(g.Job.Name))
	b.WriteString("  rankdir=LR\n  node [shape=box, style=rounded, fontname=\"sans-serif\"]\n  edge [fontname=\"sans-serif\"]\n")
	if text := connectionText(g.Job.Connection); text != "" {
		fmt.Fprintf(&b, "  label=%s\n", dotLabel([]string{text}))
	}
	for chain := 1; ; chain++ {
		var nodes []*Node
		for _, n := range g.Nodes {
			if n.Chain == chain {
				nodes = append(nodes, n)
			}
		}
		if len(nodes) == 0 {
			break
		}
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=\"chain %d\"\n", chain, chain)
		for _, n := range nodes {
			lines := append([]string{n.ID}, n.Clauses()...)
			lines = append(lines, fmt.Sprintf("%s:%d", g.File, n.Place.Line))
			fmt.Fprintf(&b, "    %s [label=%s]\n", dotID(n.ID), dotLabel(lines))
		}
		b.WriteString("  }\n")
	}
	for _, n := range g.Nodes {
		for i, e := range n.Out {
			fmt.Fprintf(&b, "  %s -> %s%s\n", dotID(n.ID), dotID(e.To.ID), dotEdge(n, i))
		}
	}
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}

func dotEdge(n *Node, i int) string {
	e := n.Out[i]
	switch e.Kind {
	case Late:
		return ` [style=dashed, label="late"]`
	case DeadLetters:
		return ` [style=dotted, label="dead letters"]`
	}
	switch op := n.Op.(type) {
	case *Exchange:
		return ` [style=bold]`
	case *Route:
		if text := branchText(op.Routes[i]); text != "" {
			return " [label=" + dotLabel([]string{text}) + "]"
		}
	}
	return ""
}

// dotID quotes an id. In one only the quote is special.
func dotID(id string) string { return `"` + strings.ReplaceAll(id, `"`, `\"`) + `"` }

// dotLabel quotes the lines of a label, in which backslashes are special too.
func dotLabel(lines []string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(line)
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}
