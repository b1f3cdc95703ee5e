package planner

import (
	"fmt"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/ir"
)

// build makes a node of every declaration and clause, as the text has them. Window and
// aggregate are one operator: neither means anything without the other.
func (b *builder) build() {
	for _, s := range b.program.Sources {
		b.sources[s] = b.add(s.Name, "", s.Place, s.Row, &Source{Source: s})
	}
	for _, s := range b.program.Sinks {
		b.sinks[s] = b.add(s.Name, "", s.Place, s.Row, &Sink{s})
	}
	for _, s := range b.program.Streams {
		b.stream(s)
	}
}

// stream makes the nodes of one stream. Those that read it get the rows as they are before `to`.
func (b *builder) stream(s *dsl.Stream) {
	at := b.from(s)
	result := b.origins[at].window // its rows are those of windows
	for i, c := range s.Clauses {
		next := at
		switch c := c.(type) {
		case *dsl.Where:
			next = b.add(s.Name+"/where", s.Name, c.Place, c.Row, &Filter{Cond: c.Cond, Result: result})
		case *dsl.Let:
			next = b.add(s.Name+"/let", s.Name, c.Place, c.Row, &Project{Append: true, Items: c.Items, Result: result})
		case *dsl.Select:
			next = b.add(s.Name+"/select", s.Name, c.Place, c.Row, &Project{Items: c.Items, Result: result})
		case *dsl.Window:
			a, ok := follows[*dsl.Aggregate](s.Clauses, i)
			if !ok {
				panic(fmt.Sprintf("planner: %s: window without aggregate", s.Name))
			}
			next, result = b.window(s, at, c, a), true
		case *dsl.Aggregate:
			continue // with its window
		case *dsl.To:
			b.to(s, at, c, result)
			continue
		default:
			panic(fmt.Sprintf("planner: %s: unknown clause %T", s.Name, c))
		}
		clause := c.At()
		if at.Stream != s.Name {
			clause = s.From.Place
		}
		b.connect(at, next, Rows, c.At(), clause)
		at = next
	}
	b.ends[s] = at
}

// from is the node that a stream begins with: the one that it reads, or the union of several.
func (b *builder) from(s *dsl.Stream) *Node {
	inputs := make([]*Node, len(s.From.Inputs))
	for i, in := range s.From.Inputs {
		if in.Source != nil {
			inputs[i] = b.sources[in.Source]
		} else {
			inputs[i] = b.ends[in.Stream]
		}
	}
	if len(inputs) == 1 {
		return inputs[0]
	}
	union := b.add(s.Name+"/from", s.Name, s.From.Place, s.From.Row, &Union{s.From})
	for i, in := range inputs {
		b.connect(in, union, Rows, s.From.Inputs[i].Place, s.From.Place)
	}
	return union
}

func follows[C dsl.Clause](clauses []dsl.Clause, i int) (c C, ok bool) {
	if i+1 < len(clauses) {
		c, ok = clauses[i+1].(C)
	}
	return c, ok
}

func (b *builder) window(s *dsl.Stream, input *Node, w *dsl.Window, a *dsl.Aggregate) *Node {
	n := b.add(s.Name+"/window", s.Name, w.Place, a.Row, &Window{
		Window: w, AggregatePlace: a.Place, Aggregates: a.Items, Input: w.Row, Sources: b.sourcesOf(input),
	})
	if w.Late != nil {
		b.connect(n, b.sinks[w.Late], Late, w.LatePlace, w.LatePlace)
	}
	return n
}

// to feeds the sinks: through a route if one of them has a condition.
func (b *builder) to(s *dsl.Stream, at *Node, c *dsl.To, result bool) {
	conditional := false
	for _, r := range c.Routes {
		conditional = conditional || r.If != nil || r.Else
	}
	if conditional {
		route := b.add(s.Name+"/to", s.Name, c.Place, at.Row, &Route{Routes: c.Routes, Result: result})
		b.connect(at, route, Rows, c.Place, c.Place)
		at = route
	}
	for _, r := range c.Routes {
		b.connect(at, b.sinks[r.Sink], Rows, place(r.Place, c.Place), c.Place)
	}
}

// place is at, or the place of what it belongs to where the text gives it none of its own.
func place(at, of ir.Place) ir.Place {
	if at.Line == 0 {
		return of
	}
	return at
}
