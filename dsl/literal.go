package dsl

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/eoc-lang/eoc/internal/ir"
)

// literal is a number as written, exactly: n / 10^scale. It has no type until it meets
// one: it takes the kind of the other side, and of a decimal no more digits than it has.
type literal struct {
	n     *big.Int
	scale int // >= 0
}

// maxDigits bounds what is calculated with: beyond every type of the language, and small.
const maxDigits = 400

// parseLiteral reads a number; ok is false if it is beyond every type.
func parseLiteral(s string) (l literal, ok bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exp := 0
	if exponent != "" {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil {
			return literal{}, false
		}
	}
	if len(whole)+len(fraction) > maxDigits || exp > maxDigits || exp < -maxDigits {
		return literal{}, false
	}
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return literal{}, false
	}
	scale := len(fraction) - exp
	if scale < 0 {
		n.Mul(n, pow10(-scale))
		scale = 0
	}
	return literal{n, scale}, true
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func (l literal) isInt() bool { return l.scale == 0 }

func (l literal) negated() literal { return literal{new(big.Int).Neg(l.n), l.scale} }

func digits(n *big.Int) int { return len(new(big.Int).Abs(n).String()) }

// decimal is the smallest decimal type that holds the literal; ok is false if none does.
func (l literal) decimal() (ir.Type, bool) {
	p := max(digits(l.n), l.scale)
	return ir.Type{Kind: ir.Decimal, Precision: p, Scale: l.scale}, p <= maxPrecision
}

// alone is the literal's type where nothing else gives one.
func (l literal) alone() (ir.Type, bool) {
	if l.isInt() && l.n.IsInt64() {
		return ir.Type{Kind: ir.Int}, true
	}
	return l.decimal()
}

// as is the literal as a constant of a type; nil if it does not fit exactly. A float is the nearest one.
func (l literal) as(t ir.Type) *ir.Const {
	switch t.Kind {
	case ir.Int:
		if l.isInt() && l.n.IsInt64() {
			return &ir.Const{Value: l.n.Int64(), T: t}
		}
	case ir.Decimal:
		if l.scale > t.Scale {
			return nil
		}
		n := new(big.Int).Mul(l.n, pow10(t.Scale-l.scale))
		if digits(n) <= t.Precision {
			return &ir.Const{Value: n, T: t}
		}
	case ir.Float:
		f, _ := new(big.Rat).SetFrac(l.n, pow10(l.scale)).Float64()
		if !math.IsInf(f, 0) {
			return &ir.Const{Value: f, T: t}
		}
	}
	return nil
}

// calculate is + - or * of two literals, exactly; ok is false if it is beyond every type.
func calculate(op string, a, b literal) (literal, bool) {
	if op == "*" {
		l := literal{new(big.Int).Mul(a.n, b.n), a.scale + b.scale}
		return l, digits(l.n) <= maxDigits && l.scale <= maxDigits
	}
	scale := max(a.scale, b.scale)
	x := new(big.Int).Mul(a.n, pow10(scale-a.scale))
	y := new(big.Int).Mul(b.n, pow10(scale-b.scale))
	if op == "-" {
		y.Neg(y)
	}
	l := literal{x.Add(x, y), scale}
	return l, digits(l.n) <= maxDigits
}

// round is the literal with another scale, half-even.
func (l literal) round(scale int) literal {
	if scale >= l.scale {
		return literal{new(big.Int).Mul(l.n, pow10(scale-l.scale)), scale}
	}
	unit := pow10(l.scale - scale)
	q, r := new(big.Int).QuoRem(l.n, unit, new(big.Int))
	twice := r.Abs(r).Lsh(r, 1)
	if c := twice.Cmp(unit); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(int64(l.n.Sign())))
	}
	return literal{q, scale}
}

// truncate is the literal without what stands behind the point.
func (l literal) truncate() literal {
	return literal{new(big.Int).Quo(l.n, pow10(l.scale)), 0}
}

// durationUnits are those of the lexer.
var durationUnits = map[string]int64{"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6, "d": 86400e6}

// parseDuration reads 1h30m as microseconds; ok is false beyond 292 years, what time.Duration holds.
func parseDuration(s string) (us int64, ok bool) {
	const most = math.MaxInt64 / 1000
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		j := i + 1
		for j < len(s) && (s[j] < '0' || s[j] > '9') {
			j++
		}
		n, err := strconv.ParseInt(s[:i], 10, 64)
		unit := durationUnits[s[i:j]]
		if err != nil || n > (most-us)/unit {
			return 0, false
		}
		us += n * unit
		s = s[j:]
	}
	return us, true
}
