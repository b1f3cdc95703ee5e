package syntax

import (
	"strconv"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The grammar is strictly predictive: look-ahead 0 means that an alternative which
// has taken one token is final, so the first failure is the place of the fault.
// Words are matched as names wherever a typo is likely, and are checked afterwards.
var parser = participle.MustBuild[declaration](
	participle.Lexer(definition{}),
	participle.UseLookahead(0),
	participle.Union[Decl](&Use{}, &Type{}, &Source{}, &Sink{}, &Stream{}, &Job{}, &Test{}),
	participle.Union[Clause](&From{}, &Where{}, &Let{}, &Select{}, &Flatten{}, &Window{}, &GroupBy{}, &Latest{},
		&Aggregate{}, &Join{}, &Dedup{}, &Top{}, &To{}),
	participle.ParseTypeWith(parseExpr),
	participle.ParseTypeWith(parseOperand),
)

// Decl is a *Use, *Type, *Source, *Sink, *Stream, *Job or *Test.
type Decl interface {
	Span() Node
	decl()
}

// Clause is one operator of a stream: *From, *Where …
type Clause interface {
	Span() Node
	clause()
}

// Node is what everything in the tree shares: the place of its first token and that
// of the token behind its last.
type Node struct{ Pos, EndPos lexer.Position }

// Span returns the node itself, for those who have it as an interface.
func (n Node) Span() Node { return n }

type declaration struct {
	Decl Decl `parser:"@@"`
}

// Name is a name as it is meant: without the backticks.
type Name struct {
	Node
	Text ident `parser:"@(Ident | Quoted)"`
}

func (n Name) String() string { return string(n.Text) }

type ident string

// Capture takes the backticks off.
func (n *ident) Capture(v []string) error {
	*n = ident(unquoteName(v[0]))
	return nil
}

// Text is a text in double quotes.
type Text struct {
	Node
	Value text `parser:"@String"`
}

type text string

// Capture resolves the escapes; classify has refused wrong ones.
func (s *text) Capture(v []string) error {
	u, err := strconv.Unquote(v[0])
	*s = text(u)
	return err
}

// Scalar is a word, number or duration as written.
type Scalar struct {
	Node
	Text string `parser:"@(Duration | Number | Ident)"`
}

// Length is a duration as written.
type Length struct {
	Node
	Text string `parser:"@Duration"`
}

// Declarations.
type (
	// Use is `use alias "path"`.
	Use struct {
		Node
		Alias *Name `parser:"'use':Decl @@?"`
		Path  Text  `parser:"@@"`
	}
	// Type is a record type or a union of them.
	Type struct {
		Node
		Name   Name     `parser:"'type':Decl @@"`
		Tag    Operand  `parser:"( '=' 'union' 'by' @@"` // of a union
		Cases  []*Case  `parser:"  '{' (@@ ','?)* '}'"`
		Fields []*Field `parser:"| '{' (@@ ','?)* '}' )"`
	}
	// Case is one of a union's.
	Case struct {
		Node
		Values []text `parser:"( @String (',' @String)*"`
		Else   bool   `parser:"| @'else' )"`
		Type   Name   `parser:"':' @@"` // or skip
	}
	// Field is one of a record type's.
	Field struct {
		Node
		Name    Name     `parser:"@@ ':'"`
		Type    *TypeRef `parser:"@@"`
		From    Operand  `parser:"( (?! 'from' ':') 'from' @@ )?"` // the next field may be called from
		Default Operand  `parser:"( '=' @@ )?"`
	}
	// TypeRef keeps its list and map prefixes flat, outermost first, so a long row of
	// `[]` cannot exhaust the stack. `?` is about the whole: `[]T?` is a list or null.
	TypeRef struct {
		Node
		Wraps  []*Wrap  `parser:"@@*"`
		Record bool     `parser:"( @'{'"`
		Fields []*Field `parser:"  (@@ ','?)* '}'"`
		Group  *TypeRef `parser:"| '(' @@ ')'"`
		Name   *Name    `parser:"| @@"`
		Args   []string `parser:"  ('(' @(Number | Ident) (',' @(Number | Ident))* ')')? )"`
		Null   bool     `parser:"@'?'?"`
	}
	// Wrap is `[]` or `map[string]` before a type.
	Wrap struct {
		Node
		Map bool `parser:"( '[' | @'map' '[' 'string' ) ']'"`
	}
	// Source is a source or a table.
	Source struct {
		Node
		Kind    string    `parser:"@('source':Decl | 'table':Decl)"`
		Name    Name      `parser:"@@ ':'"`
		Type    Name      `parser:"@@ 'from'"`
		From    Operand   `parser:"@@"`
		Options []*Option `parser:"('{' @@* '}')?"`
	}
	// Sink is a declared one.
	Sink struct {
		Node
		Name    Name      `parser:"'sink':Decl @@ 'to'"`
		To      Operand   `parser:"@@"`
		Options []*Option `parser:"('{' @@* '}')?"`
	}
	// Job is how the pipeline runs.
	Job struct {
		Node
		Name    Name      `parser:"'job':Decl @@"`
		Options []*Option `parser:"('{' @@* '}')?"`
	}
	// Option is a word and its value; only `key` takes several. See its Parse.
	Option struct {
		Node
		Word   Name
		Values []Expr
	}
	// Stream is a chain of clauses.
	Stream struct {
		Node
		Name    Name     `parser:"'stream':Decl @@"`
		Was     *Name    `parser:"('was' @@)?"`
		Clauses []Clause `parser:"'{' @@* '}'"`
	}
	// Test is a test block.
	Test struct {
		Node
		Title Text    `parser:"'test':Decl @@"`
		Steps []*Step `parser:"'{' @@* '}'"`
	}
	// Step is one of given, crash and expect.
	Step struct {
		Node
		Given  *Rows   `parser:"  'given' @@"`
		Crash  Operand `parser:"| 'crash' @@"`
		Expect *Rows   `parser:"| 'expect' @@"`
	}
	// Rows are those of a stream in a test.
	Rows struct {
		Of      Name   `parser:"@@"`
		Nothing bool   `parser:"@'nothing'?"`
		Rows    []*Row `parser:"@@*"`
	}
	// Row is a record, perhaps with its time.
	Row struct {
		Node
		Time   string  `parser:"@Time?"`
		Record *Record `parser:"@@"`
	}
)

func (*Use) decl()    {}
func (*Type) decl()   {}
func (*Source) decl() {}
func (*Sink) decl()   {}
func (*Job) decl()    {}
func (*Stream) decl() {}
func (*Test) decl()   {}
