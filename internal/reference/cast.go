package reference

import (
	"errors"
	"math/big"
	"regexp"

	"github.com/eoc-lang/eoc/internal/ir"
)

// cast turns v into a value of type to. A null stays null.
func cast(v any, from, to ir.Type) any {
	if v == nil {
		return nil
	}
	switch to.Kind {
	case ir.String:
		return castString(v, from)
	case ir.Int:
		return must(castInt(v, from))
	case ir.Float:
		return must(castFloat(v, from))
	case ir.Decimal:
		return must(castDecimal(v, from, to))
	case ir.Timestamp:
		if s, ok := v.(string); ok {
			return must(parseTime(s))
		}
	}
	return v // between types that differ in null or unit only
}

// castString is v as written to JSON, without quotes and escapes.
func castString(v any, from ir.Type) string {
	if s, ok := v.(string); ok {
		return s
	}
	text := string(appendValue(nil, from, v))
	if text[0] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

// jsonNumber is the form of a number in text: that of JSON.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

func castInt(v any, from ir.Type) (*big.Int, error) {
	i := new(big.Int)
	switch v := v.(type) {
	case bool:
		if v {
			i.SetInt64(1)
		}
	case float64:
		r := new(big.Rat).SetFloat64(v)
		i.Quo(r.Num(), r.Denom())
	case string:
		if !jsonNumber.MatchString(v) {
			return nil, errors.New("not a number")
		}
		return parseInt([]byte(v))
	case *big.Int:
		i.Set(v)
		if from.Kind == ir.Decimal {
			i.Quo(i, pow10(from.Scale))
		}
	}
	return fits(i, ir.Type{Kind: ir.Int})
}

func castFloat(v any, from ir.Type) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case string:
		if !jsonNumber.MatchString(v) {
			return 0, errors.New("not a number")
		}
		return parseFloat(v)
	}
	f, _ := new(big.Rat).SetFrac(v.(*big.Int), pow10(from.Scale)).Float64()
	return f, nil
}

// castDecimal rounds half-even.
func castDecimal(v any, from, to ir.Type) (*big.Int, error) {
	r := new(big.Rat)
	switch v := v.(type) {
	case string:
		if !jsonNumber.MatchString(v) {
			return nil, errors.New("not a number")
		}
		var err error
		if r, err = parseNumber(v); err != nil {
			return nil, err
		}
	case float64:
		r.SetFloat64(v)
	case *big.Int:
		r.SetFrac(v, pow10(from.Scale)) // an int has scale 0
	}
	r.Mul(r, new(big.Rat).SetInt(pow10(to.Scale)))
	return fits(halfEven(r.Num(), r.Denom()), to)
}
