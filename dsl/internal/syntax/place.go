package syntax

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/eoc-lang/eoc/internal/diag"
)

// tokensOf are the tokens of a node.
func (f *File) tokensOf(n Node) []lexer.Token {
	find := func(offset int) int {
		i, _ := slices.BinarySearchFunc(f.tokens, offset, func(t lexer.Token, o int) int { return cmp.Compare(t.Pos.Offset, o) })
		return i
	}
	return f.tokens[find(n.Pos.Offset):find(n.EndPos.Offset)]
}

// At is the span of a node, as far as it stands on its first line.
func (f *File) At(n Node) diag.Span {
	s := diag.Span{File: f.Name, Line: n.Pos.Line, Column: n.Pos.Column, Length: 1}
	for _, t := range f.tokensOf(n) {
		if t.Pos.Line == n.Pos.Line {
			s.Length = t.Pos.Column + utf8.RuneCountInString(t.Value) - s.Column
		}
	}
	return s
}

// Head is the part of a declaration or target in front of its block.
func (f *File) Head(n Node) Node {
	for _, t := range f.tokensOf(n) {
		if t.Value == "{" && t.Type == kindOp {
			return Node{n.Pos, t.Pos}
		}
	}
	return n
}

// Line is the text of a node on one line, without comments and what stands in braces, spaced
// as the formatter does.
func (f *File) Line(n Node) string {
	var s strings.Builder
	var before lexer.Token
	braces := 0
	for _, t := range f.tokensOf(n) {
		if t.Type == kindOp && t.Value == "{" {
			braces++
		}
		if braces > 0 {
			if t.Type == kindOp && t.Value == "}" {
				braces--
			}
			continue
		}
		if before.Value != "" && !f.glue[t.Pos.Offset] && spaced(before, t) {
			s.WriteByte(' ')
		}
		s.WriteString(t.Value)
		before = t
	}
	return s.String()
}

// markGlue finds the tokens that stick to the one before: what the tokens alone do not tell.
func (f *File) markGlue() {
	f.glue = map[int]bool{}
	after := func(offset, n int) {
		i, _ := slices.BinarySearchFunc(f.tokens, offset, func(t lexer.Token, o int) int { return cmp.Compare(t.Pos.Offset, o) })
		for ; n > 0; n-- {
			i++
			f.glue[f.tokens[i].Pos.Offset] = true
		}
	}
	Walk(f.Decls, func(node any) {
		switch n := node.(type) {
		case *TypeRef:
			if n.Args != nil {
				after(n.Name.Pos.Offset, 1)
			}
		case *Wrap:
			size := 2 // [ ]
			if n.Map {
				size = 4 // map [ string ]
			}
			after(n.Pos.Offset, size)
		case *Unary:
			after(n.Pos.Offset, 1)
		case *Call:
			f.glue[n.Open.Offset] = true
		case *Index:
			f.glue[n.Open.Offset] = true
		}
	})
}

// spaced: there is a space between two tokens that do not stick together.
func spaced(a, b lexer.Token) bool {
	switch {
	case a.Type == kindOp && (a.Value == "(" || a.Value == "[" || a.Value == "."):
		return false
	case a.Value == "{" && b.Value == "}":
		return false
	}
	return b.Type != kindOp || !slices.Contains([]string{")", "]", ",", ".", ":", "?"}, b.Value)
}
