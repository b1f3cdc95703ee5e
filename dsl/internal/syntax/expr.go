package syntax

import "github.com/alecthomas/participle/v2/lexer"

// Expr is a *Ref, *Literal, *Unary, *Binary, *IsNull, *If, *Dot, *Call, *Index, *List or *Record.
type Expr interface {
	Span() Node
	expr()
}

// Operand is an Expr without binary operators. It is a type of its own because
// participle binds one parse function to one interface.
type Operand interface{ Expr }

type (
	// Ref is a name.
	Ref struct {
		Node
		Name   string
		Quoted bool // in backticks: never a word with a meaning
	}
	// Literal is a constant.
	Literal struct {
		Node
		Kind, Text string // string, number, duration, bool or null; without quotes
	}
	// Unary is - or !.
	Unary struct {
		Node
		Op string
		X  Expr
	}
	// Binary is L Op R.
	Binary struct {
		Node
		Op   string
		At   lexer.Position // of the operator
		L, R Expr
	}
	// IsNull is X is [not] null.
	IsNull struct {
		Node
		X   Expr
		Not bool
	}
	// If is if Cond then Then else Else.
	If struct {
		Node
		Cond, Then, Else Expr
	}
	// Dot is X.Name.
	Dot struct {
		Node
		X    Expr
		Name Name
	}
	// Call is Fun(Args).
	Call struct {
		Node
		Open     lexer.Position // of the bracket
		Fun      Expr           // a Ref or a Dot
		Distinct bool
		Args     []*Arg
	}
	// Arg is one of a call's, or a pair of a record.
	Arg struct {
		Node
		Name  *Name
		Value Expr
	}
	// Index is X[By].
	Index struct {
		Node
		Open  lexer.Position // of the bracket
		X, By Expr
	}
	// List is [Items…].
	List struct {
		Node
		Items []Expr
	}
	// Record is { Pairs… }.
	Record struct {
		Node
		Pairs []*Arg
	}
)

func (*Ref) expr()     {}
func (*Literal) expr() {}
func (*Unary) expr()   {}
func (*Binary) expr()  {}
func (*IsNull) expr()  {}
func (*If) expr()      {}
func (*Dot) expr()     {}
func (*Call) expr()    {}
func (*Index) expr()   {}
func (*List) expr()    {}
func (*Record) expr()  {}
