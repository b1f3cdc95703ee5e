// Package syntax turns the text of a .eo file into a tree, says in words of the
// language what is wrong with it, and formats it. It knows no types and no meaning.
//
// The way is scan (text to tokens), layout (which words open clauses and
// declarations), split (one part per declaration) and participle, which reads each
// part by the grammar in the tags of the tree's types.
package syntax

import (
	"io"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// The rules never fail: what fits nothing becomes a Bad token that is reported
// with the others. An error of the lexer itself would end the parse at once.
var rules = lexer.MustStateful(lexer.Rules{"Root": {
	{Name: "Space", Pattern: `[\s\x{FEFF}]+`},
	{Name: "Comment", Pattern: `//[^\n]*`},
	// The comments of other languages are one wrong token, so that their text is not read as
	// program. No expression has `/*` or `--` with a space behind it in canonical form.
	{Name: "Foreign", Pattern: `/\*(?s:.*?)(?:\*/|\z)|--[ \t][^\n]*`},
	{Name: "String", Pattern: `"(?:\\.|[^"\\\n])*"`},
	{Name: "Quoted", Pattern: "`[^`\n]+`"},
	{Name: "Time", Pattern: `@[0-9][0-9T:.Z+-]*`},
	// Wide on purpose: `1.5s` or `12abc` shall be one wrong number, not two tokens.
	{Name: "Number", Pattern: `[0-9](?:[eE][+-][0-9]|[\pL\pN_.])*`},
	{Name: "Ident", Pattern: `[\pL_][\pL\pN_]*`},
	{Name: "Op", Pattern: `\?\?|==|!=|<=|>=|&&|\|\||[-+*/%<>=!?.,:(){}\[\]]`},
	{Name: "Bad", Pattern: `"[^\n]*|` + "`[^\n]*" + `|[\s\S]`},
}})

// Kinds that the rules cannot know, because they depend on the neighbours.
const (
	kindDuration lexer.TokenType = -1000 - iota
	kindClause                   // a clause word that opens a clause
	kindDecl                     // a declaration word that opens a declaration
)

var (
	symbols = rules.Symbols()
	kindOp  = symbols["Op"]
	kindID  = symbols["Ident"]
	kindQ   = symbols["Quoted"]
	kindStr = symbols["String"]
	kindNum = symbols["Number"]
	kindBad = symbols["Bad"]

	number   = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	duration = regexp.MustCompile(`^([0-9]+(us|ms|s|m|h|d))+$`)
	ascii    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Comment is kept beside the tree. Its place is the token that it stands before,
// so it can be compared between two layouts of the same text.
type Comment struct {
	Pos  lexer.Position
	Text string
	Next int  // index of the following token
	Own  bool // alone on its line, else behind a token
}

// scan returns the tokens that matter, ending with EOF, and the comments.
func scan(name, src string) ([]lexer.Token, []Comment) {
	var toks []lexer.Token
	var comments []Comment
	lex, _ := rules.LexString(name, src) // cannot fail: it only wraps the text
	for {
		t, err := lex.Next()
		if err != nil { // cannot happen with a rule that takes anything
			t = lexer.Token{Type: kindBad, Value: err.Error(), Pos: t.Pos}
			return append(toks, t, lexer.EOFToken(t.Pos)), comments
		}
		switch t.Type {
		case symbols["Space"]:
		case symbols["Comment"]:
			own := len(toks) == 0 || toks[len(toks)-1].Pos.Line != t.Pos.Line
			comments = append(comments, Comment{t.Pos, strings.TrimRight(t.Value, " \t\r"), len(toks), own})
		default:
			toks = append(toks, classify(t))
		}
		if t.EOF() {
			layout(toks)
			return toks, comments
		}
	}
}

// How long a name and a text may be in the file. Both stand in the generated program as often as they are used or passed on, so without a limit a file of
// 1 MiB could become a program of gigabytes.
const (
	maxName = 255
	maxText = 64 << 10
)

// tooLong says whether a token is a name or a text beyond its limit.
func tooLong(t lexer.Token) (limit int, long bool) {
	switch c := t.Value[0]; {
	case c == '"':
		limit = maxText
	case c == '`' || c == '_' || c >= utf8.RuneSelf || 'a' <= c|0x20 && c|0x20 <= 'z':
		limit = maxName
	default:
		return 0, false
	}
	return limit, len(t.Value) > limit
}

// classify tells durations from numbers and finds what only looks like a token.
func classify(t lexer.Token) lexer.Token {
	ok := true
	switch t.Type {
	case symbols["Foreign"]:
		ok = false
	case kindNum:
		if duration.MatchString(t.Value) {
			t.Type = kindDuration
		} else {
			ok = number.MatchString(t.Value)
		}
	case kindID:
		ok = ascii.MatchString(t.Value)
	case kindStr:
		_, err := strconv.Unquote(t.Value)
		ok = err == nil
	}
	if t.EOF() {
		return t
	}
	if _, long := tooLong(t); long || !ok {
		t.Type = kindBad
	}
	return t
}

// definition tells participle the token kinds. Parse feeds it tokens by itself.
type definition struct{}

func (definition) Symbols() map[string]lexer.TokenType {
	m := maps.Clone(symbols)
	m["Duration"], m["Clause"], m["Decl"] = kindDuration, kindClause, kindDecl
	return m
}

func (definition) Lex(name string, r io.Reader) (lexer.Lexer, error) {
	b, err := io.ReadAll(r)
	toks, _ := scan(name, string(b))
	return &replay{toks}, err
}

// replay is a lexer over tokens that exist already; the last one is EOF.
type replay struct{ toks []lexer.Token }

func (r *replay) Next() (lexer.Token, error) {
	t := r.toks[0]
	if !t.EOF() {
		r.toks = r.toks[1:]
	}
	return t, nil
}
