package dsl

import (
	"cmp"
	"slices"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

var sinkOptions = wordsOf("format key deliver", "headers")

// eachSink reads the declared sinks. Their rows and keys follow when streams feed them.
func (c *checker) eachSink() {
	for _, d := range c.file.Decls {
		d, ok := d.(*syntax.Sink)
		if !ok {
			continue
		}
		s := c.sinks[d.Name.String()]
		if s == nil || s.node != d.Node {
			continue
		}
		s.out = &Sink{Name: d.Name.String(), Place: c.head(d.Node)}
		s.out.Topic, _ = c.topic(d.To)
		c.sinkOptions(s, d.Options)
		c.prog.Sinks = append(c.prog.Sinks, s.out)
	}
}

func (c *checker) sinkOptions(s *sinkInfo, opts []*syntax.Option) {
	given := c.options("a sink", c.strayConnection(opts), sinkOptions)
	if o := given["format"]; o != nil {
		c.format(o)
	}
	if o := given["deliver"]; o != nil {
		switch c.plainWord(o, "exactly_once", "at_least_once", "none") {
		case "at_least_once":
			s.out.Deliver = AtLeastOnce
		case "none":
			s.out.Deliver = None
		}
	}
	if o := given["key"]; o != nil {
		s.out.KeyAt = c.place(o.Node)
		s.keys = o.Values
	}
}

// target is the sink of `to` or `late to`: a declared one, or one in place. It is nil after a report.
func (c *checker) target(t *syntax.Target) *sinkInfo {
	ref, ok := t.Sink.(*syntax.Ref)
	if c.enough() {
		return nil
	}
	if choice, isChoice := t.Sink.(*syntax.If); isChoice {
		c.straySink = true
		c.report(diag.New("bad-connector", c.at(choice.Node), "this is a choice, no place for records").
			WithHelp("the condition stands behind its sink: `to %s if %s, %s else`", c.file.Line(choice.Then.Span()),
				c.file.Line(choice.Cond.Span()), c.file.Line(choice.Else.Span())))
		return nil
	}
	if l, isLiteral := t.Sink.(*syntax.Literal); isLiteral && l.Kind == "string" {
		c.straySink = true
		d := diag.New("bad-connector", c.at(l.Node), "a text is no sink")
		if c.sinks[l.Text] != nil {
			c.report(d.WithLabel("a sink is named without quotes: `%s`", l.Text))
		} else {
			c.report(d.WithLabel("a topic is written `kafka(%s)`", c.file.Line(l.Node)))
		}
		return nil
	}
	if !ok {
		return c.inPlace(t)
	}
	if s := c.sinks[ref.Name]; s != nil {
		if len(t.Options) > 0 {
			c.report(diag.New("bad-option", c.at(t.Options[0].Node), "the options of `%s` stand where it is declared", ref.Name).
				WithRelated(c.span(s.out.Place), "here"))
		}
		return s
	}
	c.straySink = true
	switch {
	case c.others[ref.Name] == "lost":
	case c.isInput(ref.Name) || c.types[ref.Name] != nil || c.others[ref.Name] != "":
		c.report(diag.New("unknown-sink", c.at(ref.Node), "`%s` is not a sink", ref.Name).
			WithHelp("declare one, `sink name to kafka(\"topic\")`, or write `kafka(\"topic\")` here"))
	default:
		c.report(diag.New("unknown-sink", c.at(ref.Node), "`%s` is not a sink", ref.Name).DidYouMean(ref.Name, sortedKeys(c.sinks)).
			WithHelp("declare it, `sink %s to kafka(\"topic\")`, or write `kafka(\"topic\")` here", ref.Name))
	}
	return nil
}

// inPlace makes the sink of `kafka("topic") { … }`, which is named after its topic.
func (c *checker) inPlace(t *syntax.Target) *sinkInfo {
	topic, ok := c.topic(t.Sink)
	if !ok {
		return nil
	}
	name := cmp.Or(topic.Env, topic.Text)
	n := t.Sink.Span()
	s := &sinkInfo{out: &Sink{Name: name, Place: c.head(t.Node), Topic: topic}, node: t.Node, inPlace: true}
	c.sinkOptions(s, t.Options)
	if other := c.sinks[name]; other != nil || c.sources[name] != nil {
		var at ir.Place
		if other != nil {
			at = other.out.Place
		} else {
			at = c.sources[name].out.Place
		}
		c.report(diag.New("duplicate-name", c.at(n), "this sink is named after its topic, and `%s` is taken", name).
			WithRelated(c.span(at), "by this").WithHelp("declare it once, with a name of its own: `sink name to %s`", c.file.Line(n)))
		return nil
	}
	c.sinks[name] = s
	c.prog.Sinks = append(c.prog.Sinks, s.out)
	return s
}

// feed says that rows go to a sink. All that feed one sink have equal rows.
func (c *checker) feed(s *sinkInfo, row shape, n syntax.Node, rows string, left []leaving) {
	first := !s.fed
	s.fed = true
	if row.open || s.row.open {
		s.row.open = true // whatever is missing may be there
		return
	}
	if first {
		s.row.row, s.feeder, s.feedAt = plain(row.row), rows, c.at(n)
		s.out.Row = s.row.row
		c.sinkKey(s, left)
		return
	}
	c.compare(s, row.row, rows, c.at(n), "`"+s.out.Name+"`")
}

// compare reports rows that are not like those of s, though both go to the same place.
func (c *checker) compare(s *sinkInfo, row ir.Row, rows string, at diag.Span, place string) {
	what := difference(s.row.row, row, true)
	if what == "" {
		return
	}
	c.report(diag.New("sink-mismatch", at, "%s are not like %s, which %s gets too", rows, s.feeder, place).
		WithLabel("%s", what).WithRelated(s.feedAt, "it gets %s here", s.feeder).
		WithNote("%s: %s", s.feeder, fields(s.row.row)).WithNote("%s: %s", rows, fields(row)).
		WithHelp("make them equal with `select`"))
}

// plain is a row as it is passed to others: without what only its stream knows.
func plain(row ir.Row) ir.Row {
	row = slices.Clone(row)
	for i := range row {
		row[i].Default, row[i].Known = nil, false
	}
	return row
}

// difference says in what two rows differ, "" if in nothing. Unknown types are equal to all.
func difference(a, b ir.Row, ordered bool) string {
	inA, inB := a.Places(), b.Places()
	for i, f := range a {
		j := inB(f.Name, i)
		switch {
		case j < 0:
			return "`" + f.Name + "` is missing"
		case f.Type != b[j].Type && f.Type.Kind != 0 && b[j].Type.Kind != 0:
			return "`" + f.Name + "` is " + b[j].Type.String() + ", not " + f.Type.String()
		case ordered && len(a) == len(b) && i != j:
			return "`" + b[i].Name + "` stands where `" + f.Name + "` does there"
		}
	}
	for i, f := range b {
		if inA(f.Name, i) < 0 {
			return "`" + f.Name + "` is too much"
		}
	}
	return ""
}

// sinkKey resolves the key over the rows that the sink gets.
func (c *checker) sinkKey(s *sinkInfo, left []leaving) {
	seen := map[string]bool{}
	for _, e := range s.keys {
		ref, ok := e.(*syntax.Ref)
		if !ok {
			c.report(diag.New("sink-key", c.at(e.Span()), "a key is made of fields").
				WithHelp("give this value a name with `let`, and write the name here"))
			continue
		}
		sc := scope{c: c, row: s.row.row, of: "the rows of `" + s.out.Name + "`", left: left}
		before := len(c.diags)
		o := sc.check(ref)
		if o.bad() {
			if len(c.diags) > before && s.feeder != "" {
				c.diags[before] = c.diags[before].WithRelated(s.feedAt, "it gets %s here", s.feeder)
			}
			continue
		}
		if seen[ref.Name] {
			c.errorf(ref.Node, "sink-key", "`%s` is in this key twice", ref.Name)
			continue
		}
		seen[ref.Name] = true
		if c.floatKey(ref.Node, o.typ()) {
			continue
		}
		s.out.Key = append(s.out.Key, ir.Named{Name: ref.Name, Expr: o.x, Place: c.place(ref.Node)})
	}
}

// floatKey refuses floats: two that print alike need not be equal.
func (c *checker) floatKey(n syntax.Node, t ir.Type) bool {
	if t.Kind == ir.Float {
		c.report(diag.New("float-key", c.at(n), "a float is not a key").
			WithHelp("its last digits decide which rows belong together: round it with `decimal(…, p, s)` or `int(…)`"))
	}
	return t.Kind == ir.Float
}

// orderSinks puts those in place in the order of the text, behind the declared ones.
func (c *checker) orderSinks() {
	slices.SortStableFunc(c.prog.Sinks, func(a, b *Sink) int {
		x, y := c.sinks[a.Name], c.sinks[b.Name]
		if !x.inPlace || !y.inPlace {
			return cmp.Compare(rank(x), rank(y))
		}
		return cmp.Compare(x.node.Pos.Offset, y.node.Pos.Offset)
	})
}

func rank(s *sinkInfo) int {
	if s.inPlace {
		return 1
	}
	return 0
}
