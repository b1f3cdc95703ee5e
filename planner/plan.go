package planner

import (
	"slices"
	"strconv"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// Plan makes the graph of a program that dsl has found free of errors. Diagnostics are
// about what only the graph shows; there is no graph if one of them is an error.
//
// The graph is built as the text stands, then rewritten. Each rewrite is a file that
// says why it has its place in the order:
//
//	build       clauses become nodes
//	exchange    rows meet their key's task         exchange.go
//	deadLetters refused records get a way out      deadletter.go
//	order       nodes and edges as in the text     order.go
//	used        what sources have to decode        used.go
//	chains      what is fused                      chain.go
//	state       what a checkpoint depends on       state.go
func Plan(p *dsl.Program) (*Graph, []diag.Diagnostic) {
	b := newBuilder(p)
	b.build()
	b.exchange()
	b.deadLetters()
	b.order()
	used(b.graph)
	chains(b.graph)
	state(b.graph)
	return b.graph, nil
}

// builder is the graph while it is being made, with what its edges still need to be put in order.
type builder struct {
	program *dsl.Program
	graph   *Graph
	sources map[*dsl.Source]*Node
	sinks   map[*dsl.Sink]*Node
	// ends is the node whose rows the readers of a stream get: its last one before `to`.
	ends map[*dsl.Stream]*Node
	ids  map[string]bool
	// links are the edges, in the order in which they were made.
	links []link
}

// link is an edge with the place in the text that asks for it.
type link struct {
	from, to *Node
	kind     EdgeKind
	at       ir.Place
	clause   ir.Place
}

func newBuilder(p *dsl.Program) *builder {
	return &builder{
		program: p,
		graph:   &Graph{File: p.File, Job: p.Job},
		sources: map[*dsl.Source]*Node{},
		sinks:   map[*dsl.Sink]*Node{},
		ends:    map[*dsl.Stream]*Node{},
		ids:     map[string]bool{},
	}
}

// add makes a node. Where its id is taken it gets -2, -3 …
func (b *builder) add(id, stream string, at ir.Place, row ir.Row, op Op) *Node {
	n := &Node{ID: b.unique(id), Stream: stream, Place: at, Op: op, Row: row}
	b.graph.Nodes = append(b.graph.Nodes, n)
	return n
}

func (b *builder) unique(id string) string {
	name := id
	for i := 2; b.ids[name]; i++ {
		name = id + "-" + strconv.Itoa(i)
	}
	b.ids[name] = true
	return name
}

func (b *builder) connect(from, to *Node, kind EdgeKind, at, clause ir.Place) {
	b.links = append(b.links, link{from, to, kind, at, clause})
}

// insert puts n on every way by which rows come to the node before.
func (b *builder) insert(n, before *Node) {
	for i := range b.links {
		if b.links[i].to == before {
			b.links[i].to = n
		}
	}
	b.connect(n, before, Rows, n.Place, n.Place)
}

// feeders are the nodes that feed n so far.
func (b *builder) feeders(n *Node) []*Node {
	var nodes []*Node
	for _, l := range b.links {
		if l.to == n && !slices.Contains(nodes, l.from) {
			nodes = append(nodes, l.from)
		}
	}
	return nodes
}

// upstream is every node whose rows come to n, itself included. Each is visited once: streams that read several streams, which
// do so again, have more paths than could be followed.
func (b *builder) upstream(n *Node) map[*Node]bool {
	reach := map[*Node]bool{}
	var visit func(*Node)
	visit = func(n *Node) {
		if !reach[n] {
			reach[n] = true
			for _, from := range b.feeders(n) {
				visit(from)
			}
		}
	}
	visit(n)
	return reach
}

// sourcesOf are the sources whose rows come to n, itself included, as declared.
func (b *builder) sourcesOf(n *Node) []*Node {
	reach := b.upstream(n)
	var sources []*Node
	for _, s := range b.program.Sources {
		if reach[b.sources[s]] {
			sources = append(sources, b.sources[s])
		}
	}
	return sources
}
