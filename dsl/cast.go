package dsl

import (
	"time"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// castable lists what each cast takes, beside its own kind.
var castable = map[string][]ir.Kind{
	"int":       {ir.Float, ir.Decimal, ir.Bool, ir.String},
	"float":     {ir.Int, ir.Decimal, ir.String},
	"string":    {ir.Bool, ir.Int, ir.Float, ir.Decimal, ir.Timestamp, ir.Duration},
	"decimal":   {ir.Int, ir.Float, ir.Decimal, ir.String},
	"timestamp": {ir.Timestamp, ir.String},
}

var castKind = map[string]ir.Kind{"int": ir.Int, "float": ir.Float, "string": ir.String, "decimal": ir.Decimal, "timestamp": ir.Timestamp}

var castForm = map[string]string{"int": "int(x)", "float": "float(x)", "string": "string(x)",
	"decimal": "decimal(x, p, s)", "timestamp": "timestamp(x)"}

func (s scope) cast(e *syntax.Call, name string) operand {
	bad := operand{node: e.Node}
	want := 1
	if name == "decimal" {
		want = 3
	}
	named := false
	for _, a := range e.Args {
		named = named || a.Name != nil
	}
	if len(e.Args) != want || named || e.Distinct {
		s.c.errorf(e.Node, "wrong-arguments", "this cast is written %s", castForm[name])
		return bad
	}
	t := ir.Type{Kind: castKind[name]}
	if name == "decimal" {
		var ok bool
		args := []string{literalText(e.Args[1].Value), literalText(e.Args[2].Value)}
		if t.Precision, t.Scale, ok = s.c.decimalBounds(e.Node, args); !ok {
			return bad
		}
	}
	o := s.check(e.Args[0].Value)
	switch {
	case o.bad():
		return bad
	case o.null:
		s.c.typed(o)
		return bad
	case o.lit != nil && name != "string":
		return s.castLiteral(e, *o.lit, t)
	}
	if o = s.c.typed(o); o.bad() {
		return bad
	}
	if text, ok := o.x.(*ir.Const); ok && name == "timestamp" && o.typ().Kind == ir.String {
		return s.instant(e.Node, text.Value.(string))
	}
	t.Null = o.typ().Null
	if o.typ() == t {
		return operand{x: o.x, node: e.Node}
	}
	for _, k := range castable[name] {
		if k == o.typ().Kind {
			return operand{x: &ir.Cast{X: o.x, T: t}, node: e.Node}
		}
	}
	s.c.errorf(e.Node, "type-mismatch", "%s cannot become %s", o, t)
	return bad
}

func literalText(e syntax.Expr) string {
	if l, ok := e.(*syntax.Literal); ok && l.Kind == "number" {
		return l.Text
	}
	return ""
}

// castLiteral turns a number at once, so that what does not fit is found here.
func (s scope) castLiteral(e *syntax.Call, l literal, t ir.Type) operand {
	switch t.Kind {
	case ir.Int:
		l = l.truncate()
	case ir.Decimal:
		l = l.round(t.Scale)
	case ir.Timestamp:
		s.c.errorf(e.Node, "type-mismatch", "a number cannot become timestamp")
		return operand{node: e.Node}
	}
	k := l.as(t)
	if k == nil {
		s.c.errorf(e.Node, "literal-range", "this number does not fit %s", t)
		return operand{node: e.Node}
	}
	return operand{x: k, node: e.Node}
}

// instant is timestamp("…") of a constant.
func (s scope) instant(n syntax.Node, text string) operand {
	at, ok := s.c.parseTime(n, text)
	if !ok {
		return operand{node: n}
	}
	return operand{x: &ir.Const{Value: at.UnixMicro(), T: ir.Type{Kind: ir.Timestamp}}, node: n}
}

// parseTime reads an RFC 3339 timestamp of the years 1 to 9999 in UTC.
func (c *checker) parseTime(n syntax.Node, text string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, text)
	at = at.UTC()
	if err != nil || !inYears(at) {
		d := diag.New("bad-timestamp", c.at(n), "%q is not a point in time", text).WithLabel("as in \"2026-01-31T23:59:00Z\"")
		if whole := completed(text); whole != "" {
			d = d.WithLabel("with time and zone it is %q", whole)
		}
		c.report(d)
		return time.Time{}, false
	}
	return at, true
}

// inYears says whether a time is in one of the years that timestamps have.
func inYears(at time.Time) bool {
	year := at.UTC().Year()
	return 1 <= year && year <= 9999
}
