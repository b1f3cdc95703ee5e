package planner

import (
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
	if much := b.deadLetters(); much != nil {
		return nil, much
	}
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
	next map[string]int // of an id that was asked for before: the number to go on with
	// links are the edges, in the order in which they were made.
	links []link
	// origins is what feeds each node, directly or not.
	origins map[*Node]*origin
}

// origin says whose rows come to a node. A node is connected with what feeds it before it feeds others, so that
// it needs no search: streams that read several streams, which do so again, have more paths than could be followed.
type origin struct {
	sources []uint64 // a bit for each source, as declared
	window  bool     // they are results
}

func (o *origin) add(from *origin) {
	for i, bits := range from.sources {
		o.sources[i] |= bits
	}
	o.window = o.window || from.window
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
		next:    map[string]int{},
		origins: map[*Node]*origin{},
	}
}

// add makes a node. Where its id is taken it gets -2, -3 …
func (b *builder) add(id, stream string, at ir.Place, row ir.Row, op Op) *Node {
	n := &Node{ID: b.unique(id), Stream: stream, Place: at, Op: op, Row: row}
	b.graph.Nodes = append(b.graph.Nodes, n)
	o := &origin{sources: make([]uint64, (len(b.program.Sources)+63)/64)}
	switch op.(type) {
	case *Source:
		o.sources[len(b.sources)/64] |= 1 << (len(b.sources) % 64)
	case *Window:
		o.window = true
	}
	b.origins[n] = o
	return n
}

func (b *builder) unique(id string) string {
	name := id
	for i := max(2, b.next[id]); b.ids[name]; i++ {
		name = id + "-" + strconv.Itoa(i)
		b.next[id] = i
	}
	b.ids[name] = true
	return name
}

func (b *builder) connect(from, to *Node, kind EdgeKind, at, clause ir.Place) {
	b.links = append(b.links, link{from, to, kind, at, clause})
	b.origins[to].add(b.origins[from])
}

// insert puts each of the nodes new on every way by which rows come to the node that it is for.
func (b *builder) insert(before map[*Node]*Node) {
	for i, l := range b.links {
		if n := before[l.to]; n != nil {
			b.links[i].to = n
			b.origins[n].add(b.origins[l.from])
		}
	}
}

// sourcesOf are the sources whose rows come to n, itself included, as declared.
func (b *builder) sourcesOf(n *Node) []*Node {
	var sources []*Node
	for i, s := range b.program.Sources {
		if b.origins[n].sources[i/64]>>(i%64)&1 != 0 {
			sources = append(sources, b.sources[s])
		}
	}
	return sources
}
