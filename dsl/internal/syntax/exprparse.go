package syntax

import (
	"strconv"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// Expressions are parsed by hand. In struct tags every level of precedence is a type
// of its own (ten levels deep for `1`), and rules such as "comparisons do not chain"
// or "a call's bracket stands on the same line" cannot be said.

const (
	comparison = 3 // the level of
	// maxLength bounds the tokens of an expression: a chain of operators is a tree as deep as
	// it is long, and every walk over it recurses.
	maxLength   = 10_000
	lessNesting = "less nesting"
)

var levels = map[string]int{
	"||": 1, "&&": 2,
	"==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "in": 3, "like": 3, "not": 3, "is": 3,
	"??": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
}

func parseExpr(lex *lexer.PeekingLexer) (Expr, error) {
	p := &exprParser{lex: lex}
	return p.binary(1), p.error()
}

func parseOperand(lex *lexer.PeekingLexer) (Operand, error) {
	p := &exprParser{lex: lex}
	return p.unary(), p.error()
}

// Parse makes Record a participle.Parseable, for the rows of a test.
func (r *Record) Parse(lex *lexer.PeekingLexer) error {
	if lex.Peek().Value != "{" {
		return participle.NextMatch
	}
	p := &exprParser{lex: lex}
	*r = *p.record()
	return p.error()
}

// Parse reads an option by hand for the sake of one comma: behind `key a` it goes on
// with the keys, so that between options there can be none.
func (o *Option) Parse(lex *lexer.PeekingLexer) error {
	if t := lex.Peek(); t.Type != kindID {
		return participle.NextMatch
	}
	p := &exprParser{lex: lex}
	start := p.here()
	o.Word = p.name()
	o.Values = append(o.Values, p.binary(1))
	o.Node = p.since(start)
	if l, ok := o.Values[0].(*Literal); ok && l.Kind == "number" && p.unitFollows() {
		p.fail(wantUnit)
	}
	for o.Word.Text == "key" && p.take(",") {
		o.Values = append(o.Values, p.binary(1))
		o.Node = p.since(start)
	}
	return p.error()
}

// unitFollows: `5 s` would else be a number and the option s.
func (p *exprParser) unitFollows() bool {
	t := p.lex.Peek()
	return t.Type == kindID && t.Pos.Line == p.last.Pos.Line && isUnit(t.Value)
}

// exprParser remembers the first failure; after it every method returns at once, so
// the grammar below reads without a line of error handling.
type exprParser struct {
	lex    *lexer.PeekingLexer
	last   lexer.Token
	depth  int
	length int // tokens read
	err    *misfit
}

// misfit is a token that does not fit, and what would. Parse turns it into a diagnostic.
type misfit struct {
	token lexer.Token
	want  string
}

func (m *misfit) Error() string { return m.token.Pos.String() + ": expected " + m.want }

// error avoids the nil pointer in a non-nil interface.
func (p *exprParser) error() error {
	if p.err == nil {
		return nil
	}
	return p.err
}

func (p *exprParser) fail(want string) {
	if p.err == nil {
		p.err = &misfit{*p.lex.Peek(), want}
	}
}

func (p *exprParser) here() lexer.Position { return p.lex.Peek().Pos }

// since is the node of what has been read from there.
func (p *exprParser) since(start lexer.Position) Node { return Node{start, p.here()} }

func (p *exprParser) next() lexer.Token {
	if p.length++; p.length > maxLength {
		p.fail(lessNesting)
	}
	p.last = *p.lex.Next()
	return p.last
}

// is looks for a word or sign. A text in quotes is neither.
func (p *exprParser) is(s string) bool {
	t := p.lex.Peek()
	return p.err == nil && t.Value == s && (t.Type == kindOp || t.Type == kindID)
}

func (p *exprParser) take(s string) bool {
	if p.is(s) {
		p.next()
		return true
	}
	return false
}

func (p *exprParser) need(s string) {
	if !p.take(s) {
		p.fail("`" + s + "`")
	}
}

// second is the token after the next one.
func (p *exprParser) second() lexer.Token {
	at := p.lex.MakeCheckpoint()
	defer p.lex.LoadCheckpoint(at)
	p.lex.Next()
	return *p.lex.Peek()
}

func (p *exprParser) name() Name {
	t := *p.lex.Peek()
	if t.Type != kindID && t.Type != kindQ {
		p.fail("a name")
		return Name{}
	}
	p.next()
	return Name{p.since(t.Pos), ident(unquoteName(t.Value))}
}

// operator returns the level of the operator that comes next, 0 if none does.
func (p *exprParser) operator() int {
	t := p.lex.Peek()
	if p.err != nil || t.Type != kindOp && t.Type != kindID {
		return 0
	}
	switch next := p.second().Value; {
	case t.Value == "in" && next == "window": // the bound of a join, never a list called window
		return 0
	case t.Value == "not" && next != "in" && next != "like":
		return 0
	}
	return levels[t.Value]
}

func (p *exprParser) binary(level int) Expr {
	start := p.here()
	x := p.unary()
	for l := p.operator(); l >= level; l = p.operator() {
		op := p.next()
		switch op.Value {
		case "is":
			not := p.take("not")
			p.need("null")
			x = &IsNull{p.since(start), x, not}
		case "not":
			word := "not " + p.next().Value
			r := p.binary(l + 1)
			x = &Binary{p.since(start), word, op.Pos, x, r}
		default:
			r := p.binary(l + 1)
			x = &Binary{p.since(start), op.Value, op.Pos, x, r}
		}
		if l == comparison && p.operator() == comparison {
			p.fail("`&&` or `||`: comparisons do not chain")
		}
	}
	return x
}

// unary is the only way down, so it counts the depth for all of them.
func (p *exprParser) unary() Expr {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNesting {
		p.fail(lessNesting)
	}
	start := p.here()
	if p.is("-") || p.is("!") {
		op := p.next().Value
		x := p.unary()
		return &Unary{p.since(start), op, x}
	}
	x := p.primary()
	for p.err == nil {
		t := *p.lex.Peek()
		_, isRef := x.(*Ref)
		_, isDot := x.(*Dot)
		sameLine := t.Pos.Line == p.last.Pos.Line
		switch {
		case p.take("."):
			name := p.name()
			x = &Dot{p.since(start), x, name}
		case sameLine && (isRef || isDot) && p.is("("):
			x = p.call(start, x)
		case sameLine && p.take("["):
			by := p.binary(1)
			p.need("]")
			x = &Index{p.since(start), t.Pos, x, by}
		default:
			return x
		}
	}
	return x
}

func (p *exprParser) primary() Expr {
	t := *p.lex.Peek()
	if p.err != nil {
		return nil
	}
	switch t.Type {
	case kindStr:
		s, _ := strconv.Unquote(p.next().Value) // classify has refused wrong ones
		return &Literal{p.since(t.Pos), "string", s}
	case kindNum:
		return p.literal("number")
	case kindDuration:
		return p.literal("duration")
	case kindQ:
		p.next()
		return &Ref{p.since(t.Pos), unquoteName(t.Value), true}
	case kindID:
		switch t.Value {
		case "true", "false":
			return p.literal("bool")
		case "null":
			return p.literal("null")
		case "if":
			return p.conditional()
		}
		p.next()
		return &Ref{p.since(t.Pos), t.Value, false}
	}
	switch {
	case p.take("("):
		x := p.binary(1)
		p.need(")")
		return x
	case p.take("["):
		l := &List{}
		p.sequence("]", func() { l.Items = append(l.Items, p.binary(1)) })
		l.Node = p.since(t.Pos)
		return l
	case p.is("{"):
		return p.record()
	}
	p.fail("an expression")
	return nil
}

func (p *exprParser) literal(kind string) Expr {
	t := p.next()
	return &Literal{p.since(t.Pos), kind, t.Value}
}

// sequence reads what stands between commas up to the closing bracket; the last comma is free.
func (p *exprParser) sequence(closing string, item func()) {
	for p.err == nil && !p.take(closing) {
		item()
		if !p.take(",") && !p.is(closing) {
			p.fail("`,` or `" + closing + "`")
		}
	}
}

func (p *exprParser) conditional() Expr {
	x := &If{}
	start := p.next().Pos
	x.Cond = p.binary(1)
	p.need("then")
	x.Then = p.binary(1)
	p.need("else")
	x.Else = p.binary(1)
	x.Node = p.since(start)
	return x
}

func (p *exprParser) call(start lexer.Position, fun Expr) Expr {
	c := &Call{Open: p.next().Pos, Fun: fun}
	// `count(distinct x)`, but `count(distinct)` counts a field of that name.
	if p.is("distinct") {
		if k := p.second().Type; k == kindID || k == kindQ {
			c.Distinct = true
			p.next()
		}
	}
	p.sequence(")", func() { c.Args = append(c.Args, p.arg(p.second().Value == ":")) })
	c.Node = p.since(start)
	return c
}

func (p *exprParser) record() *Record {
	r := &Record{}
	start := p.next().Pos
	p.sequence("}", func() { r.Pairs = append(r.Pairs, p.arg(true)) })
	r.Node = p.since(start)
	return r
}

func (p *exprParser) arg(named bool) *Arg {
	a := &Arg{}
	start := p.here()
	if named {
		n := p.name()
		a.Name = &n
		p.need(":")
	}
	a.Value = p.binary(1)
	a.Node = p.since(start)
	return a
}

func unquoteName(s string) string {
	if s[0] == '`' {
		return s[1 : len(s)-1]
	}
	return s
}
