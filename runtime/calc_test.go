package runtime

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The tests of arithmetic compare with math/big on random values, many of them at the borders.

// rounds is how many random cases a property is tried on.
const rounds = 5_000

func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func bigOf(x Int128) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(x.Hi), 64)
	return v.Add(v, new(big.Int).SetUint64(x.Lo))
}

func bigOf192(x Int192) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(x.Hi), 128)
	v.Add(v, new(big.Int).Lsh(new(big.Int).SetUint64(x.Mid), 64))
	return v.Add(v, new(big.Int).SetUint64(x.Lo))
}

func bigPow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// of128 is v, which fits.
func of128(v *big.Int) Int128 {
	m := new(big.Int).And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
	return Int128{int64(new(big.Int).Rsh(m, 64).Uint64()), new(big.Int).And(m, new(big.Int).SetUint64(math.MaxUint64)).Uint64()}
}

// randomInt is an int of any size.
func randomInt(r *rand.Rand) int64 {
	edges := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 31, 1 << 53}
	if r.IntN(4) == 0 {
		return edges[r.IntN(len(edges))]
	}
	v := int64(r.Uint64() >> r.IntN(64))
	if r.IntN(2) == 0 {
		return -v
	}
	return v
}

// randomDecimal is the unscaled value of a decimal of up to so many digits.
func randomDecimal(r *rand.Rand, digits int) *big.Int {
	limit := bigPow10(1 + r.IntN(digits))
	v := new(big.Int)
	switch r.IntN(5) {
	case 0:
		v.Sub(limit, big.NewInt(1+int64(r.IntN(3))))
	case 1:
		v.SetInt64(int64(r.IntN(3)))
	default:
		v.SetUint64(r.Uint64())
		v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(r.Uint64())).Mod(v, limit)
	}
	if r.IntN(2) == 0 {
		v.Neg(v)
	}
	return v
}

// halfEven is n / d rounded half-even.
func halfEven(n, d *big.Int) *big.Int {
	q, rem := new(big.Int).QuoRem(n, d, new(big.Int))
	twice := rem.Abs(rem).Lsh(rem, 1)
	if c := twice.CmpAbs(d); c > 0 || c == 0 && q.Bit(0) == 1 {
		if n.Sign()*d.Sign() < 0 {
			return q.Sub(q, big.NewInt(1))
		}
		return q.Add(q, big.NewInt(1))
	}
	return q
}

// checkDecimal compares a result with what it must be, which is a fault if that has too many digits.
func checkDecimal(t *testing.T, c *Calc, got Int128, want *big.Int, digits int, what string, args ...any) {
	t.Helper()
	fits := want.CmpAbs(bigPow10(digits)) < 0
	switch {
	case c.Failed() == fits:
		t.Fatalf(what+": got %s, fault %q; want %s", append(args, bigOf(got), c.Fault().Reason, want)...)
	case fits && bigOf(got).Cmp(want) != 0:
		t.Fatalf(what+": got %s, want %s", append(args, bigOf(got), want)...)
	}
	c.Fault()
}

func TestInts(t *testing.T) {
	r := seeded(t)
	for range rounds {
		l, rr := randomInt(r), randomInt(r)
		for _, op := range []struct {
			name string
			got  func(*Calc) int64
			want func(x, y *big.Int) *big.Int
		}{
			{"+", func(c *Calc) int64 { return c.AddInt(l, rr) }, func(x, y *big.Int) *big.Int { return x.Add(x, y) }},
			{"-", func(c *Calc) int64 { return c.SubInt(l, rr) }, func(x, y *big.Int) *big.Int { return x.Sub(x, y) }},
			{"*", func(c *Calc) int64 { return c.MulInt(l, rr) }, func(x, y *big.Int) *big.Int { return x.Mul(x, y) }},
			{"/", func(c *Calc) int64 { return c.DivInt(l, rr) }, func(x, y *big.Int) *big.Int { return quotient(x, y) }},
			{"%", func(c *Calc) int64 { return c.RemInt(l, rr) }, func(x, y *big.Int) *big.Int { return remainder(x, y) }},
			{"neg", func(c *Calc) int64 { return c.NegInt(l) }, func(x, _ *big.Int) *big.Int { return x.Neg(x) }},
		} {
			var c Calc
			got, want := op.got(&c), op.want(big.NewInt(l), big.NewInt(rr))
			if ok := want != nil && want.IsInt64(); c.Failed() == ok || ok && got != want.Int64() {
				t.Fatalf("%d %s %d: got %d, fault %q; want %v", l, op.name, rr, got, c.Fault().Reason, want)
			}
		}
	}
}

// quotient and remainder are nil where the divisor is 0.
func quotient(x, y *big.Int) *big.Int {
	if y.Sign() == 0 {
		return nil
	}
	return x.Quo(x, y)
}

func remainder(x, y *big.Int) *big.Int {
	if y.Sign() == 0 {
		return nil
	}
	return x.Rem(x, y)
}

// TestSticky shows that the first fault stays until it is asked for.
func TestSticky(t *testing.T) {
	var c Calc
	c.DivInt(1, 0)
	c.AddInt(math.MaxInt64, 1)
	if f := c.Fault(); f.Reason != byZero || string(f.AppendText(nil)) != "division by zero" {
		t.Errorf("got %+v", f)
	}
	if c.Failed() || c.AddInt(1, 2) != 3 || c.Failed() {
		t.Error("not ready again")
	}
}

func TestDecimals(t *testing.T) {
	r := seeded(t)
	var c Calc
	for range rounds {
		lv, rv := randomDecimal(r, 38), randomDecimal(r, 38)
		l, rr := of128(lv), of128(rv)
		ls, rs := r.IntN(39), r.IntN(39)
		scale := max(ls, rs)
		x := new(big.Int).Mul(lv, bigPow10(scale-ls))
		y := new(big.Int).Mul(rv, bigPow10(scale-rs))

		checkDecimal(t, &c, c.AddDecimal(l, ls, rr, rs), new(big.Int).Add(x, y), 38, "%s/%d + %s/%d", lv, ls, rv, rs)
		checkDecimal(t, &c, c.SubDecimal(l, ls, rr, rs), new(big.Int).Sub(x, y), 38, "%s/%d - %s/%d", lv, ls, rv, rs)
		checkDecimal(t, &c, c.MulDecimal(l, rr), new(big.Int).Mul(lv, rv), 38, "%s * %s", lv, rv)

		to := r.IntN(39)
		if rv.Sign() == 0 {
			c.DivDecimal(l, ls, rr, rs, to)
			c.RemDecimal(l, ls, rr, rs)
			if c.Fault().Reason != byZero {
				t.Fatal("no division by zero")
			}
			continue
		}
		checkDecimal(t, &c, c.RemDecimal(l, ls, rr, rs), new(big.Int).Rem(x, y), 38, "%s/%d %% %s/%d", lv, ls, rv, rs)
		// l/10^ls / (r/10^rs) × 10^to
		n := new(big.Int).Mul(lv, bigPow10(rs+to))
		checkDecimal(t, &c, c.DivDecimal(l, ls, rr, rs, to), halfEven(n, new(big.Int).Mul(rv, bigPow10(ls))), 38, "%s/%d / %s/%d to %d", lv, ls, rv, rs, to)
	}
}

// TestHalves is for what random values rarely meet: quotients that lie exactly between two.
func TestHalves(t *testing.T) {
	var c Calc
	for _, x := range []struct{ l, r, want int64 }{
		{1, 2, 0}, {3, 2, 2}, {5, 2, 2}, {-1, 2, 0}, {-3, 2, -2}, {3, -2, -2}, {7, 2, 4}, {1, 3, 0}, {2, 3, 1}, {-2, 3, -1},
	} {
		if got := c.DivDecimal(Wide(x.l), 0, Wide(x.r), 0, 0); got != Wide(x.want) {
			t.Errorf("%d / %d: got %d, want %d", x.l, x.r, Narrow(got), x.want)
		}
		if got := c.Rescale(Wide(x.l*500), 3, 38, 0); got != of128(halfEven(big.NewInt(x.l*500), big.NewInt(1000))) {
			t.Errorf("%d.%03d: got %d", x.l*500/1000, x.l*500%1000, Narrow(got))
		}
	}
}

func TestRescale(t *testing.T) {
	r := seeded(t)
	var c Calc
	for range rounds {
		v := randomDecimal(r, 38)
		from, to, digits := r.IntN(39), r.IntN(39), 1+r.IntN(38)
		want := halfEven(new(big.Int).Mul(v, bigPow10(to)), bigPow10(from))
		checkDecimal(t, &c, c.Rescale(of128(v), from, digits, to), want, digits, "%s from scale %d to decimal(%d, %d)", v, from, digits, to)
		checkDecimal(t, &c, c.Fits(of128(v), digits), v, digits, "%s in %d digits", v, digits)
		want = new(big.Int).Quo(v, bigPow10(from))
		got := c.IntOfDecimal(of128(v), from)
		if c.Failed() == want.IsInt64() || !c.Failed() && got != want.Int64() {
			t.Fatalf("int of %s/%d: got %d, want %s", v, from, got, want)
		}
		c.Fault()
	}
}

// TestSums shows that sums and averages are exact however large they are on the way.
func TestSums(t *testing.T) {
	r := seeded(t)
	var c Calc
	for range 2_000 {
		var narrow Int128
		var wide Int192
		sum, sumWide := new(big.Int), new(big.Int)
		n := 1 + r.IntN(50)
		from := r.IntN(39)
		for range n {
			v := randomInt(r)
			narrow.Add(v)
			sum.Add(sum, big.NewInt(v))
			d := randomDecimal(r, 38)
			wide.Add(of128(d))
			sumWide.Add(sumWide, d)
		}
		if bigOf(narrow).Cmp(sum) != 0 || bigOf192(wide).Cmp(sumWide) != 0 {
			t.Fatalf("got %s and %s, want %s and %s", bigOf(narrow), bigOf192(wide), sum, sumWide)
		}
		if got := c.IntOf128(narrow); c.Failed() == sum.IsInt64() || !c.Failed() && got != sum.Int64() {
			t.Fatalf("got %d, want %s", got, sum)
		}
		c.Fault()
		checkDecimal(t, &c, c.Fits192(wide, 38), sumWide, 38, "sum of %d", n)

		to := max(from, 6)
		avg := func(sum *big.Int) *big.Int {
			return halfEven(new(big.Int).Mul(sum, bigPow10(to-from)), big.NewInt(int64(n)))
		}
		checkDecimal(t, &c, c.AvgDecimal(narrow, int64(n), from, to), avg(sum), 38, "average of %d", n)
		checkDecimal(t, &c, c.AvgDecimal192(wide, int64(n), from, to), avg(sumWide), 38, "average of %d", n)

		count := 1 + r.Int64()>>r.IntN(63)
		want, _ := new(big.Rat).SetFrac(sum, big.NewInt(count)).Float64()
		if got := AvgInt(narrow, count); got != want {
			t.Fatalf("%s / %d: got %v, want %v", sum, count, got, want)
		}
	}
}

// TestKnownToFit is about the operations without a check.
func TestKnownToFit(t *testing.T) {
	r := seeded(t)
	for range rounds {
		x, y := randomDecimal(r, 37), randomDecimal(r, 37)
		a, b := of128(x), of128(y)
		same := func(op string, got Int128, want *big.Int) {
			t.Helper()
			if bigOf(got).Cmp(want) != 0 {
				t.Fatalf("%s %s %s: got %s, want %s", x, op, y, bigOf(got), want)
			}
		}
		same("+", a.Plus(b), new(big.Int).Add(x, y))
		same("-", a.Minus(b), new(big.Int).Sub(x, y))
		same("neg", a.Neg(), new(big.Int).Neg(x))
		if a.Cmp(b) != x.Cmp(y) || a.Sign() != x.Sign() {
			t.Fatalf("%s and %s: compared as %d, sign %d", x, y, a.Cmp(b), a.Sign())
		}
		x, y = randomDecimal(r, 19), randomDecimal(r, 19)
		same("*", of128(x).Times(of128(y)), new(big.Int).Mul(x, y))
		n := r.IntN(20)
		same("up", of128(x).Up(n), new(big.Int).Mul(x, bigPow10(n)))
		v := randomInt(r)
		same("of int", DecimalOfInt(v, n), new(big.Int).Mul(big.NewInt(v), bigPow10(n)))
		if Narrow(Wide(v)) != v {
			t.Fatal(v)
		}
	}
}

func TestDecimalText(t *testing.T) {
	r := seeded(t)
	for range rounds {
		v, scale := randomDecimal(r, 38), r.IntN(39)
		want := new(big.Rat).SetFrac(v, bigPow10(scale)).FloatString(scale)
		if got := string(AppendDecimal128(nil, of128(v), scale)); got != want && strings.TrimLeft(want, "-0.") != "" {
			t.Fatalf("%s, scale %d: got %s, want %s", v, scale, got, want)
		}
		f, _ := new(big.Rat).SetFrac(v, bigPow10(scale)).Float64()
		if got := FloatOfDecimal(of128(v), scale); got != f {
			t.Fatalf("float of %s: got %v, want %v", want, got, f)
		}
		small, scale := r.Int64N(1e18), r.IntN(19)
		if got, want := string(AppendDecimal(nil, small, scale)), new(big.Rat).SetFrac(big.NewInt(small), bigPow10(scale)).FloatString(scale); got != want {
			t.Fatalf("%d, scale %d: got %s, want %s", small, scale, got, want)
		}
	}
}

func TestFloats(t *testing.T) {
	var c Calc
	for _, x := range []struct {
		got  float64
		want float64
		bad  string
	}{
		{c.AddFloat(1, 2), 3, ""},
		{c.SubFloat(1, 2.5), -1.5, ""},
		{c.MulFloat(3, 2), 6, ""},
		{c.DivFloat(1, 4), 0.25, ""},
		{c.RemFloat(-7, 4), -3, ""},
	} {
		if x.got != x.want || c.Failed() {
			t.Errorf("got %v, want %v", x.got, x.want)
		}
	}
	for reason, f := range map[string]func(){
		floatOverflow: func() { c.AddFloat(math.MaxFloat64, math.MaxFloat64) },
		byZero:        func() { c.DivFloat(0, 0) },
	} {
		if f(); c.Fault().Reason != reason {
			t.Errorf("no %s", reason)
		}
	}
	if c.MulFloat(1e200, 1e200); c.Fault().Reason != floatOverflow {
		t.Error("no overflow")
	}
	if c.RemFloat(1, 0); c.Fault().Reason != byZero {
		t.Error("no division by zero")
	}
	if c.Finite(math.NaN()); !c.Failed() {
		t.Error("NaN is finite")
	}
}

func TestCasts(t *testing.T) {
	r := seeded(t)
	var c Calc
	for range rounds {
		f := math.Float64frombits(r.Uint64())
		switch r.IntN(4) {
		case 0:
			f = float64(r.Int64N(1e15)) / math.Pow(2, float64(r.IntN(20)))
		case 1: // near a half, below or above, of some scale
			f = (float64(r.Int64N(1e9)) + 0.5) / math.Pow(10, float64(r.IntN(10)))
		case 2:
			f = math.Nextafter(float64(r.Int64N(1e6))+0.5, math.Inf(1-2*r.IntN(2)))
		}
		if r.IntN(2) == 0 {
			f = -f
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		exact := new(big.Rat).SetFloat64(f)
		digits := 1 + r.IntN(38)
		scale := r.IntN(digits + 1)
		scaled := new(big.Rat).Mul(exact, new(big.Rat).SetInt(bigPow10(scale)))
		checkDecimal(t, &c, c.DecimalOfFloat(f, digits, scale), halfEven(scaled.Num(), scaled.Denom()), digits, "decimal(%v, %d, %d)", f, digits, scale)

		want := new(big.Int).Quo(exact.Num(), exact.Denom())
		if got := c.IntOfFloat(f); c.Failed() == want.IsInt64() || !c.Failed() && got != want.Int64() {
			t.Fatalf("int(%v): got %d, want %s", f, got, want)
		}
		c.Fault()
		text := c.StringOfFloat(f)
		if got := c.FloatOfString(text); got != f || c.Failed() {
			t.Fatalf("float(%q): got %v", text, got)
		}
		v := randomInt(r)
		if got := c.IntOfString(c.StringOfInt(v)); got != v || c.Failed() {
			t.Fatalf("int of %d: got %d", v, got)
		}
		d := randomDecimal(r, digits)
		text = c.StringOfDecimal128(of128(d), scale)
		checkDecimal(t, &c, c.DecimalOfString(text, digits, scale), d, digits, "decimal(%q)", text)
		other := r.IntN(39)
		want = halfEven(new(big.Int).Mul(d, bigPow10(other)), bigPow10(scale))
		checkDecimal(t, &c, c.DecimalOfString(text, 38, other), want, 38, "decimal(%q, 38, %d)", text, other)
		c.freeScratch()
	}
}

// TestCastText is about texts that are no value, and those that are one in spite of their looks.
func TestCastText(t *testing.T) {
	var c Calc
	for _, s := range []string{"", " 1", "1 ", "+1", "01", ".5", "1.", "1e", "0x1", "NaN", "Inf", "1_0", "--1", "-", "1.5.2", "1e5e5", "٣"} {
		c.IntOfString([]byte(s))
		intFault := c.Fault().Reason
		c.FloatOfString([]byte(s))
		floatFault := c.Fault().Reason
		c.DecimalOfString([]byte(s), 38, 2)
		if decimalFault := c.Fault().Reason; intFault == "" || floatFault != notNumber || decimalFault != notNumber {
			t.Errorf("%q: int %q, float %q, decimal %q", s, intFault, floatFault, decimalFault)
		}
	}
	for s, want := range map[string]int64{"1e3": 1000, "-1.0": -1, "-0": 0, "120e-1": 12, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64, "0e999999999999999999999": 0} {
		if got := c.IntOfString([]byte(s)); got != want || c.Failed() {
			t.Errorf("%q: got %d, %q; want %d", s, got, c.Fault().Reason, want)
		}
	}
	for _, s := range []string{"9223372036854775808", "-9223372036854775809", "1.5", "1e-1", "1e99", "1e999999999999999999999", strings.Repeat("9", 5000)} {
		if c.IntOfString([]byte(s)); c.Fault().Reason != notInteger {
			t.Errorf("%q is an int", s)
		}
	}
	for _, s := range []string{"1e309", "-1e999999"} {
		if c.FloatOfString([]byte(s)); c.Fault().Reason != notFloat {
			t.Errorf("%q is a float", s)
		}
	}
	for s, want := range map[string]string{
		"0.005": "0.00", "0.015": "0.02", "-0.025": "-0.02", "0.0250001": "0.03", "1e-400": "0.00", "0.4e-2": "0.00", "0.006": "0.01",
		"1" + strings.Repeat("0", 3000) + "e-3000": "1.00", "0." + strings.Repeat("0", 3000) + "5e3000": "0.50",
	} {
		if got := string(AppendDecimal128(nil, c.DecimalOfString([]byte(s), 38, 2), 2)); got != want || c.Failed() {
			t.Errorf("%.20q: got %s, %q; want %s", s, got, c.Fault().Reason, want)
		}
	}
	for _, s := range []string{"1e36", "-999999999999999999999999999999999999.995", "1e4000000000"} {
		if c.DecimalOfString([]byte(s), 38, 2); c.Fault().Reason != decimalOverflow {
			t.Errorf("%q is a decimal(38, 2)", s)
		}
	}
}

// TestScratch shows that the strings of casts stay as they are until the scratch is freed, although it grows.
func TestScratch(t *testing.T) {
	var c Calc
	var texts [][]byte
	for i := range int64(2000) {
		texts = append(texts, c.StringOfInt(i), c.StringOfTime(Time(i)*Second), c.StringOfDuration(Time(i)*Second), c.StringOfBool(i%2 == 0))
		c.TimeOfString([]byte("2026-01-01T00:00:00Z")) // works in the scratch too
	}
	for i := range int64(2000) {
		at := time.Unix(i, 0).UTC().Format(time.RFC3339)
		four := texts[4*i : 4*i+4]
		if string(four[0]) != strconv.FormatInt(i, 10) || string(four[1]) != at || string(four[3]) != strconv.FormatBool(i%2 == 0) {
			t.Fatalf("%q", four)
		}
		if d, ok := parseDuration(four[2]); !ok || d != Time(i)*Second {
			t.Fatalf("%q", four[2])
		}
	}
	c.freeScratch()
	if n := testing.AllocsPerRun(100, func() { c.StringOfInt(1234567); c.freeScratch() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
