package planner

import (
	"slices"
	"unicode/utf8"

	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// maxRefused is how many ways refused records have at most: clauses that can refuse one times dead-letter topics grows
// with the square of the text.
const maxRefused = 20_000

// deadLetters makes a node of every dead-letter topic and an edge to it from whatever can
// refuse a record: a source, and each clause behind it whose expressions can fail.
//
// It comes before the order is made, since it adds nodes, and before chains, since
// a dead letter leaves the chain in which the record was refused.
func (b *builder) deadLetters() []diag.Diagnostic {
	topics := map[Setting]*Node{}
	strongest := b.strongest()
	for _, s := range b.program.Sources {
		if s.OnError.Mode != OnErrorDLQ {
			continue
		}
		n := topics[s.OnError.Topic]
		if n == nil {
			n = b.add(topicName(s.OnError.Topic), "", place(s.OnError.Place, s.Place), nil,
				&DeadLetter{Topic: s.OnError.Topic, Deliver: DeliverNone})
			topics[s.OnError.Topic] = n
		}
		op := n.Op.(*DeadLetter)
		op.Deliver = min(op.Deliver, strongest(b.sources[s]))
		b.connect(b.sources[s], n, DeadLetters, n.Place, n.Place)
	}
	ways := 0
	for _, n := range slices.Clone(b.graph.Nodes) {
		record, result := canReject(n.Op)
		for _, to := range b.refusedTo(n, record, result, topics) {
			if ways++; ways > maxRefused {
				at := diag.Span{File: b.program.Path, Line: n.Place.Line, Column: n.Place.Column, Length: max(1, utf8.RuneCountInString(n.Place.Text))}
				return []diag.Diagnostic{diag.New("too-big", at, "records that are refused have at most %d ways to dead-letter topics, these have more", maxRefused).
					WithHelp("give sources a dead-letter topic together, or read fewer of them in one stream")}
			}
			b.connect(n, to, DeadLetters, n.Place, n.Place)
		}
	}
	return nil
}

// refusedTo lists the dead-letter topics of n. Records go where their own source says, results
// where the strictest source says: to no topic if one of them fails.
func (b *builder) refusedTo(n *Node, record, result bool, topics map[Setting]*Node) []*Node {
	if !record && !result {
		return nil
	}
	var to []*Node
	mode := OnErrorSkip
	for _, s := range b.sourcesOf(n) {
		e := s.Op.(*Source).OnError
		if e.Mode == OnErrorFail || mode != OnErrorFail && e.Mode == OnErrorDLQ {
			mode = e.Mode
		}
		if t := topics[e.Topic]; e.Mode == OnErrorDLQ && !slices.Contains(to, t) {
			to = append(to, t)
		}
	}
	switch {
	case record:
		return to
	case mode != OnErrorDLQ:
		return nil
	}
	return to[:1]
}

// canReject reports whether an operator can refuse a record, and whether it can refuse a result.
func canReject(op Op) (record, result bool) {
	fails := false
	switch op := op.(type) {
	case *Filter:
		return op.Cond.Fallible() && !op.Result, op.Cond.Fallible() && op.Result
	case *Project:
		fails, result = namedFail(op.Items), op.Result
	case *Route:
		for _, r := range op.Routes {
			fails = fails || r.If != nil && r.If.Fallible()
		}
		result = op.Result
	case *Window:
		record = namedFail(op.By)
		for _, a := range op.Aggregates {
			record = record || a.Arg != nil && a.Arg.Fallible() || a.If != nil && a.If.Fallible()
			result = result || CanOverflow(a)
		}
		return record, result
	}
	return fails && !result, fails && result
}

func namedFail(items []ir.Named) bool {
	return slices.ContainsFunc(items, func(i ir.Named) bool { return i.Expr.Fallible() })
}

// CanOverflow reports whether the result of an aggregate can lie beyond its type, so that it has to be
// judged when a window closes. A window has fewer than 10^19 rows, what an int64 can count.
func CanOverflow(a ir.Aggregate) bool {
	if a.Arg == nil {
		return false
	}
	const rowDigits = 19
	t := a.Arg.Type()
	switch {
	case a.Func == ir.Sum && t.Kind == ir.Decimal:
		return t.Precision+rowDigits > a.T.Precision
	case a.Func == ir.Avg && t.Kind == ir.Decimal:
		return t.Precision+rowDigits > 38 || t.Precision-t.Scale > a.T.Precision-a.T.Scale
	case a.Func == ir.Avg && t.Kind == ir.Int:
		return false
	}
	return a.Func == ir.Sum || a.Func == ir.Avg
}

// strongest finds the strongest delivery among the sinks that a node reaches; exactly_once if it reaches none.
func (b *builder) strongest() func(*Node) Delivery {
	next := map[*Node][]*Node{}
	for _, l := range b.links {
		next[l.from] = append(next[l.from], l.to)
	}
	const none = DeliverNone + 1
	known := map[*Node]Delivery{}
	var visit func(*Node) Delivery
	visit = func(n *Node) Delivery {
		if d, ok := known[n]; ok {
			return d
		}
		d := none
		if s, ok := n.Op.(*Sink); ok {
			d = s.Deliver
		}
		for _, to := range next[n] {
			d = min(d, visit(to))
		}
		known[n] = d
		return d
	}
	return func(n *Node) Delivery {
		if d := visit(n); d < none {
			return d
		}
		return DeliverExactlyOnce
	}
}

// topicName is how a topic is called: by its text, or by the variable that it comes from.
func topicName(s Setting) string {
	if s.Env != "" {
		return s.Env
	}
	return s.Text
}
