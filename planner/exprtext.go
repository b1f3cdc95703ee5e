package planner

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/ir"
)

// phrase is a piece of an expression as text. One made of an operation needs brackets
// to be an operand.
type phrase struct {
	text      string
	operation bool
}

// exprText writes an expression in one way only, whatever its author's spacing and brackets:
// every operation within another stands in brackets. column names the columns.
func exprText(e ir.Expr, column func(*ir.Column) phrase) phrase {
	p := exprPrinter{column: column}
	p.whole(e)
	return phrase{p.String(), p.isOperation(e)}
}

type exprPrinter struct {
	strings.Builder
	column func(*ir.Column) phrase
}

func (p *exprPrinter) isOperation(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Column:
		return p.column(e).operation
	case *ir.Const:
		return false
	case *ir.Cast:
		return silent(e) && p.isOperation(e.X)
	case *ir.Known:
		return p.isOperation(e.X)
	}
	return true
}

// silent: that a value may be null from here on changes none.
func silent(e *ir.Cast) bool { return e.T.NonNull() == e.X.Type().NonNull() }

// part writes an operand.
func (p *exprPrinter) part(e ir.Expr) {
	if !p.isOperation(e) {
		p.whole(e)
		return
	}
	p.WriteByte('(')
	p.whole(e)
	p.WriteByte(')')
}

// between writes an operation of two operands.
func (p *exprPrinter) between(l ir.Expr, op string, r ir.Expr) {
	p.part(l)
	p.WriteString(" " + op + " ")
	p.part(r)
}

func (p *exprPrinter) whole(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Column:
		p.WriteString(p.column(e).text)
	case *ir.Const:
		p.WriteString(constText(e))
	case *ir.Not:
		p.WriteByte('!')
		p.part(e.X)
	case *ir.Neg:
		p.WriteByte('-')
		p.part(e.X)
	case *ir.Arith:
		p.between(e.L, string(e.Op), e.R)
	case *ir.Compare:
		p.between(e.L, string(e.Op), e.R)
	case *ir.Logic:
		p.between(e.L, pick(e.Or, "||", "&&"), e.R)
	case *ir.In:
		p.part(e.X)
		p.WriteString(pick(e.Neg, " not in [", " in ["))
		for i, x := range e.List {
			p.WriteString(comma(i))
			p.whole(x)
		}
		p.WriteByte(']')
	case *ir.Coalesce:
		p.between(e.X, "??", e.Else)
	case *ir.IsNull:
		p.part(e.X)
		p.WriteString(pick(e.Neg, " is not null", " is null"))
	case *ir.Cond:
		p.WriteString("if ")
		p.whole(e.If)
		p.WriteString(" then ")
		p.whole(e.Then)
		p.WriteString(" else ")
		p.whole(e.Else)
	case *ir.Cast:
		p.cast(e)
	case *ir.Known:
		p.whole(e.X)
	default:
		panic(fmt.Sprintf("planner: unknown expression %T", e))
	}
}

func (p *exprPrinter) cast(e *ir.Cast) {
	if silent(e) {
		p.whole(e.X)
		return
	}
	t := e.T.NonNull()
	if t.Kind != ir.Decimal {
		p.WriteString(t.String() + "(")
		p.whole(e.X)
		p.WriteByte(')')
		return
	}
	p.WriteString("decimal(")
	p.whole(e.X)
	fmt.Fprintf(p, ", %d, %d)", t.Precision, t.Scale)
}

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func constText(c *ir.Const) string {
	switch v := c.Value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return strconv.Quote(v)
	case *big.Int:
		return decimalText(v, c.T.Scale)
	case int64:
		switch c.T.Kind {
		case ir.Duration:
			return durationText(v)
		case ir.Timestamp:
			return strconv.Quote(time.UnixMicro(v).UTC().Format(time.RFC3339Nano))
		}
		return strconv.FormatInt(v, 10)
	}
	panic(fmt.Sprintf("planner: constant %T of type %s", c.Value, c.T))
}

// decimalText writes a decimal without the zeros that its scale asks for: they mean nothing.
func decimalText(v *big.Int, scale int) string {
	digits := new(big.Int).Abs(v).String()
	if pad := scale + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	whole, fraction := digits[:len(digits)-scale], strings.TrimRight(digits[len(digits)-scale:], "0")
	if fraction != "" {
		whole += "." + fraction
	}
	if v.Sign() < 0 {
		return "-" + whole
	}
	return whole
}

// durationText writes a duration of the given microseconds as the language does: 1h30m.
func durationText(us int64) string {
	if us == 0 {
		return "0s"
	}
	text := ""
	left := new(big.Int).Abs(big.NewInt(us)).Uint64()
	if us < 0 {
		text = "-"
	}
	for _, u := range []struct {
		name string
		size uint64
	}{{"d", 24 * 3600e6}, {"h", 3600e6}, {"m", 60e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}} {
		if n := left / u.size; n > 0 {
			text += strconv.FormatUint(n, 10) + u.name
			left %= u.size
		}
	}
	return text
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// nameText writes a field's name, in backticks where the language needs them.
func nameText(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return "`" + name + "`"
}
