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

func (p phrase) operand() string {
	if p.operation {
		return "(" + p.text + ")"
	}
	return p.text
}

// exprText writes an expression in one way only, whatever its author's spacing and brackets:
// every operation within another stands in brackets. column names the columns.
func exprText(e ir.Expr, column func(*ir.Column) phrase) phrase {
	whole := func(e ir.Expr) string { return exprText(e, column).text }
	part := func(e ir.Expr) string { return exprText(e, column).operand() }
	operation := func(format string, args ...any) phrase { return phrase{fmt.Sprintf(format, args...), true} }
	switch e := e.(type) {
	case *ir.Column:
		return column(e)
	case *ir.Const:
		return phrase{text: constText(e)}
	case *ir.Not:
		return operation("!%s", part(e.X))
	case *ir.Neg:
		return operation("-%s", part(e.X))
	case *ir.Arith:
		return operation("%s %c %s", part(e.L), e.Op, part(e.R))
	case *ir.Compare:
		return operation("%s %s %s", part(e.L), e.Op, part(e.R))
	case *ir.Logic:
		return operation("%s %s %s", part(e.L), pick(e.Or, "||", "&&"), part(e.R))
	case *ir.In:
		items := make([]string, len(e.List))
		for i, x := range e.List {
			items[i] = whole(x)
		}
		return operation("%s %s [%s]", part(e.X), pick(e.Neg, "not in", "in"), strings.Join(items, ", "))
	case *ir.Coalesce:
		return operation("%s ?? %s", part(e.X), part(e.Else))
	case *ir.IsNull:
		return operation("%s %s", part(e.X), pick(e.Neg, "is not null", "is null"))
	case *ir.Cond:
		return operation("if %s then %s else %s", whole(e.If), whole(e.Then), whole(e.Else))
	case *ir.Cast:
		t := e.T.NonNull()
		switch {
		case t == e.X.Type().NonNull():
			return exprText(e.X, column) // that it may be null from here on changes no value
		case t.Kind == ir.Decimal:
			return phrase{text: fmt.Sprintf("decimal(%s, %d, %d)", whole(e.X), t.Precision, t.Scale)}
		}
		return phrase{text: t.String() + "(" + whole(e.X) + ")"}
	case *ir.Known:
		return exprText(e.X, column)
	}
	panic(fmt.Sprintf("planner: unknown expression %T", e))
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
