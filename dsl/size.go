package dsl

import (
	"github.com/eoc-lang/eoc/dsl/internal/syntax"
)

// What a pipeline has at most in all, far above what is written by hand: what is made of it, such as the row behind each
// clause, is many times the text.
const (
	maxClauses = 10_000
	maxWays    = 10_000 // streams and sinks that from, to and late to name
	maxSinks   = 1_000
)

// fits reports whether a pipeline is small enough to be looked at, or says at which clause it is not.
func (c *checker) fits() bool {
	clauses, ways, sinks := 0, 0, len(c.sinks)
	var much syntax.Clause // the first that is too much
	for _, s := range c.order {
		for _, clause := range s.decl.Clauses {
			clauses++
			switch clause := clause.(type) {
			case *syntax.From:
				ways += len(clause.Streams)
			case *syntax.To:
				ways += len(clause.Routes)
				for _, r := range clause.Routes {
					sinks += inPlaceSinks(r.Target)
				}
			case *syntax.Window:
				for _, o := range clause.Options {
					if o.Late != nil {
						ways++
						sinks += inPlaceSinks(o.Late)
					}
				}
			}
			if much == nil && (clauses > maxClauses || ways > maxWays || sinks > maxSinks) {
				much = clause
			}
		}
	}
	const most = "a pipeline has at most %d %s, this one has %d"
	switch {
	case clauses > maxClauses:
		c.errorf(much.Span(), "too-big", most, maxClauses, "clauses", clauses)
	case ways > maxWays:
		c.errorf(much.Span(), "too-big", most, maxWays, "inputs of `from` and targets of `to`", ways)
	case sinks > maxSinks:
		c.errorf(much.Span(), "too-big", most, maxSinks, "sinks", sinks)
	}
	return much == nil
}

// inPlaceSinks is 1 for a target that is a sink in place.
func inPlaceSinks(t *syntax.Target) int {
	if _, ok := t.Sink.(*syntax.Call); ok {
		return 1
	}
	return 0
}
