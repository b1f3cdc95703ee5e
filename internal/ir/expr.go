package ir

// Expr is a typed expression: *Column, *Const, *Not, *Neg, *Arith, *Compare, *Logic,
// *In, *Coalesce, *IsNull, *Cond, *Cast or *Known.
//
// Operands have the types that their operator needs: the checker has put a Cast
// wherever a value is widened, so nothing that reads an Expr converts by itself.
// Only Coalesce.X, IsNull.X, Known.X, Cast and Cond branches may be nullable.
type Expr interface {
	Type() Type
	// Fallible reports whether evaluating it can be a record error: overflow,
	// division by zero, a bad cast, a float that is not finite.
	Fallible() bool
}

type (
	// Column is the field Index of the row that the clause takes.
	Column struct {
		Index int
		Name  string
		T     Type
	}
	// Const is a literal. Value is, by kind: bool; int64 for int, duration and
	// timestamp (microseconds); float64; string; *big.Int for a decimal (unscaled).
	// A null has Value nil and a nullable type.
	Const struct {
		Value any
		T     Type
	}
	// Not is !X.
	Not struct{ X Expr }
	// Neg is -X of an int, float, decimal or duration.
	Neg struct{ X Expr }
	// Arith is L Op R with the result T:
	// int with int; float with float; decimal with decimal of any precision and scale
	// (see T for the result's, division and only division rounds, half-even); timestamp - timestamp =
	// duration; timestamp ± duration = timestamp; duration ± duration; duration * int;
	// duration / int. Integer and duration division truncates. % has the sign of L.
	Arith struct {
		Op   ArithOp
		L, R Expr
		T    Type
	}
	// Compare is L Op R. Both sides have the same kind; decimals have the same scale,
	// timestamps may differ in Unit, which means nothing here.
	Compare struct {
		Op   CompareOp
		L, R Expr
	}
	// Logic is L && R or L || R; R is evaluated only if it decides.
	Logic struct {
		Or   bool
		L, R Expr
	}
	// In is X in [List…], or not in. All have the kind of X (decimals its scale).
	In struct {
		Neg  bool
		X    Expr
		List []Expr
	}
	// Coalesce is X ?? Else. Else is evaluated only if X is null.
	Coalesce struct {
		X, Else Expr
		T       Type
	}
	// IsNull is X is null, or is not null.
	IsNull struct {
		Neg bool
		X   Expr
	}
	// Cond is if If then Then else Else.
	Cond struct {
		If, Then, Else Expr
		T              Type
	}
	// Cast turns X into T, written by the user or put in by the checker. To a wider
	// type (int to decimal that holds it, decimal to a larger one, T to T?) it cannot fail.
	// Casts of the language: int(x) of float, decimal (truncated), bool (0, 1), string; float(x) of int,
	// decimal, string; string(x) of everything, as written to JSON but without quotes;
	// decimal(x, p, s) of int, float, decimal (rounded half-even), string; timestamp(x) of string (RFC 3339).
	// A null stays null where T is nullable.
	Cast struct {
		X Expr
		T Type
	}
	// Known is X, a T?, as a T where it is known not to be null.
	Known struct{ X Expr }
)

// ArithOp is an operator of Arith: one of + - * / %.
type ArithOp byte

const (
	Add ArithOp = '+'
	Sub ArithOp = '-'
	Mul ArithOp = '*'
	Div ArithOp = '/'
	Rem ArithOp = '%'
)

// CompareOp is an operator of Compare, as written.
type CompareOp string

const (
	Eq CompareOp = "=="
	Ne CompareOp = "!="
	Lt CompareOp = "<"
	Le CompareOp = "<="
	Gt CompareOp = ">"
	Ge CompareOp = ">="
)

var boolean = Type{Kind: Bool}

func (e *Column) Type() Type   { return e.T }
func (e *Const) Type() Type    { return e.T }
func (e *Not) Type() Type      { return boolean }
func (e *Neg) Type() Type      { return e.X.Type() }
func (e *Arith) Type() Type    { return e.T }
func (e *Compare) Type() Type  { return boolean }
func (e *Logic) Type() Type    { return boolean }
func (e *In) Type() Type       { return boolean }
func (e *Coalesce) Type() Type { return e.T }
func (e *IsNull) Type() Type   { return boolean }
func (e *Cond) Type() Type     { return e.T }
func (e *Cast) Type() Type     { return e.T }
func (e *Known) Type() Type    { return e.X.Type().NonNull() }

func (e *Column) Fallible() bool  { return false }
func (e *Const) Fallible() bool   { return false }
func (e *Not) Fallible() bool     { return e.X.Fallible() }
func (e *Compare) Fallible() bool { return e.L.Fallible() || e.R.Fallible() }
func (e *Logic) Fallible() bool   { return e.L.Fallible() || e.R.Fallible() }
func (e *Coalesce) Fallible() bool {
	return e.X.Fallible() || e.Else.Fallible()
}
func (e *IsNull) Fallible() bool { return e.X.Fallible() }
func (e *Cond) Fallible() bool   { return e.If.Fallible() || e.Then.Fallible() || e.Else.Fallible() }
func (e *Known) Fallible() bool  { return e.X.Fallible() }

// Fallible: the negative of the least int is no int. Floats and decimals are symmetric.
func (e *Neg) Fallible() bool {
	k := e.Type().Kind
	return k == Int || k == Duration || e.X.Fallible()
}

func (e *In) Fallible() bool {
	for _, x := range e.List {
		if x.Fallible() {
			return true
		}
	}
	return e.X.Fallible()
}

// Fallible: a decimal sum, difference or product whose exact precision fits its type
// cannot overflow, nor can the time between two timestamps; everything else can.
func (e *Arith) Fallible() bool {
	return e.overflows() || e.L.Fallible() || e.R.Fallible()
}

// overflows reports whether the operation can itself fail. It is asked first: the operands of a long sum are many.
func (e *Arith) overflows() bool {
	l, r := e.L.Type(), e.R.Type()
	switch {
	case l.Kind == Timestamp && r.Kind == Timestamp:
		return false
	case e.T.Kind != Decimal || e.Op == Div || e.Op == Rem:
		return true
	}
	exact := l.Precision + r.Precision
	if e.Op != Mul {
		exact = max(l.Precision-l.Scale, r.Precision-r.Scale) + max(l.Scale, r.Scale) + 1
	}
	return exact > e.T.Precision
}

// Fallible: see Cast for what cannot fail.
func (e *Cast) Fallible() bool {
	if e.X.Fallible() {
		return true
	}
	from, to := e.X.Type().NonNull(), e.T.NonNull()
	switch {
	case from == to || to.Kind == String || from.Kind == Bool && to.Kind == Int:
		return false
	case from.Kind == Timestamp && to.Kind == Timestamp:
		return false
	case from.Kind == Int && to.Kind == Float:
		return false
	case from.Kind == Decimal && to.Kind == Float:
		return false
	case from.Kind == Int && to.Kind == Decimal:
		return to.Precision-to.Scale < 19
	case from.Kind == Decimal && to.Kind == Decimal:
		return to.Scale < from.Scale || to.Precision-to.Scale < from.Precision-from.Scale
	}
	return true
}

// Named is a value with the name that it has in the result.
type Named struct {
	Name  string
	Expr  Expr
	Place Place
}

// AggFunc is an aggregate.
type AggFunc string

const (
	Count AggFunc = "count" // of rows, or of the rows whose Arg is not null
	Sum   AggFunc = "sum"   // decimal(p, s) gives decimal(38, s), int gives int, float gives float
	Min   AggFunc = "min"
	Max   AggFunc = "max"
	Avg   AggFunc = "avg" // float of int and float, decimal(38, max(s, 6)) of decimal
)

// Aggregate is `Name = Func(Arg) if If`. Nulls are skipped; of a T? it gives a T?,
// which is null if there was no value. Sums and averages of int and decimal accumulate in
// 128 bits and are judged when the window closes: a sum beyond its type is a result error.
// With If the result of sum, min, max and avg is nullable too, since no row may pass it.
type Aggregate struct {
	Name  string
	Func  AggFunc
	Arg   Expr // nil for count()
	If    Expr // nil: every row
	T     Type
	Place Place
}
