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
	var manyClauses, manyWays, manySinks syntax.Clause // the first of each that is too much
	past := func(first *syntax.Clause, n, most int, clause syntax.Clause) {
		if *first == nil && n > most {
			*first = clause
		}
	}
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
			past(&manyClauses, clauses, maxClauses, clause)
			past(&manyWays, ways, maxWays, clause)
			past(&manySinks, sinks, maxSinks, clause)
		}
	}
	const most = "a pipeline has at most %d %s, this one has %d"
	switch {
	case manyClauses != nil:
		c.errorf(manyClauses.Span(), "too-big", most, maxClauses, "clauses", clauses)
	case manyWays != nil:
		c.errorf(manyWays.Span(), "too-big", most, maxWays, "inputs of `from` and targets of `to` and `late to`", ways)
	case manySinks != nil:
		c.errorf(manySinks.Span(), "too-big", most, maxSinks, "sinks", sinks)
	default:
		return true
	}
	return false
}

// inPlaceSinks is 1 for a target that is a sink in place.
func inPlaceSinks(t *syntax.Target) int {
	if _, ok := t.Sink.(*syntax.Call); ok {
		return 1
	}
	return 0
}
