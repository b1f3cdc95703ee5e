package dsl

import (
	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// mismatch reports two sides whose types have none in common. why is the reason, if there is
// one beside their kinds.
func (c *checker) mismatch(at syntax.Node, a, b operand, why string) {
	if b.node.Pos.Offset < a.node.Pos.Offset {
		a, b = b, a
	}
	d := diag.New("type-mismatch", c.at(at), "%s and %s do not go together", a, b)
	if why == "" {
		why = c.bridge(a, b)
	}
	if why != "" {
		d = d.WithHelp("%s", why)
	}
	c.report(d)
}

// bridge says how two sides of different kinds are brought together.
func (c *checker) bridge(a, b operand) string {
	// One rule serves both orders: first the side that decides.
	for _, p := range [][2]operand{{a, b}, {b, a}} {
		if help := c.bridgeTo(p[0], p[1]); help != "" {
			return help
		}
	}
	return ""
}

// bridgeTo looks at x first: a text, truth value, time or length beside the other side.
func (c *checker) bridgeTo(x, other operand) string {
	text, otherText := c.file.Line(x.node), c.file.Line(other.node)
	number := other.lit != nil || isNumber(other.typ())
	constant, isConst := x.x.(*ir.Const)
	switch kind := x.typ().Kind; {
	case kind == ir.String && other.typ().Kind == ir.Timestamp:
		return "a point in time is written `timestamp(\"2026-01-31T00:00:00Z\")`"
	case kind == ir.String && isConst && number:
		return unquoted(constant.Value.(string), otherText)
	case kind == ir.String && isConst && other.typ().Kind == ir.Bool:
		return "true and false are written without quotes"
	case kind == ir.String && other.lit != nil:
		return "a text stands in quotes, `\"" + otherText + "\"`; a number is made of one by `" + c.numberOf(text, other) + "`"
	case kind == ir.String && number:
		return "make a number of the text, `" + c.numberOf(text, other) + "`, or a text of the number, `string(" + otherText + ")`"
	case kind == ir.Bool && number:
		return "a bool is a condition by itself: `" + text + "` or `!" + text + "`"
	case kind == ir.Duration && other.lit != nil:
		return hasUnit
	case kind == ir.Duration && number:
		return c.seconds(other)
	case kind == ir.Duration && other.typ().Kind == ir.Timestamp:
		return "a timestamp goes with timestamps; what lies between two of them is a duration: `" + otherText + " - …`"
	case kind == ir.Timestamp && number:
		return "a timestamp goes with timestamps, `timestamp(\"2026-01-31T00:00:00Z\")`; the type `timestamp(ms)` reads numbers as times"
	case kind == ir.String && other.typ().Kind != ir.String && !other.null:
		return "make a text of the other side: `string(" + otherText + ")`"
	}
	return ""
}

const joinedTexts = "texts are joined by `concat(a, b)`, which is not in this version of eoc yet"

const hasUnit = "a duration has a unit, as in 90s or 1h30m"

// seconds says how a number becomes a duration.
func (c *checker) seconds(number operand) string {
	text := c.file.Line(number.node)
	_, isColumn := number.x.(*ir.Column)
	switch {
	case number.typ().Kind != ir.Int:
		text = "int(" + text + ")"
	case !isColumn:
		text = "(" + text + ")"
	}
	return "a duration has a unit, as in `90s`; a number of seconds becomes one by `" + text + " * 1s`"
}

// noArithmetic says what helps where there is no such operator between the two.
func (c *checker) noArithmetic(op string, l, r operand) string {
	a, b := l.typ().Kind, r.typ().Kind
	left, right := c.file.Line(l.node), c.file.Line(r.node)
	sum := op == "+" || op == "-"
	switch {
	case op == "+" && (a == ir.String || b == ir.String):
		return joinedTexts
	case a == ir.String || b == ir.String:
		return c.bridge(l, r)
	case a == ir.Bool || b == ir.Bool:
		return "a bool becomes 0 or 1 by `int(x)`"
	case op == "+" && a == ir.Timestamp && b == ir.Timestamp:
		return "what lies between the two is `" + left + " - " + right + "`"
	case op == "-" && a == ir.Duration && b == ir.Timestamp:
		return "a duration is taken from a timestamp: `" + right + " - " + left + "`"
	case sum && (l.lit != nil || r.lit != nil):
		return hasUnit
	case sum && isNumber(l.typ()):
		return c.seconds(l)
	case sum && isNumber(r.typ()):
		return c.seconds(r)
	case a == ir.Timestamp || b == ir.Timestamp:
		return "a timestamp is moved by a duration, `t + 5s`, and taken from another, `t - u`"
	case op == "*":
		return "a duration is multiplied by an int: a number becomes one by `int(x)`"
	case op == "/":
		return "a duration is divided by an int alone"
	}
	return ""
}

// unquoted is about a text in the file beside a number.
func unquoted(text, otherText string) string {
	if _, ok := parseLiteral(text); ok && text != "" {
		return "a number has no quotes: `" + text + "`"
	}
	return "one side is a text, the other a number: make a text of it, `string(" + otherText + ")`"
}

// numberOf is the cast of a text to the kind of the number.
func (c *checker) numberOf(text string, number operand) string {
	switch t := number.typ(); {
	case t.Kind == ir.Float:
		return "float(" + text + ")"
	case t.Kind == ir.Decimal || number.lit != nil && number.lit.as(ir.Type{Kind: ir.Int}) == nil:
		return "decimal(" + text + ", p, s)"
	}
	return "int(" + text + ")"
}
