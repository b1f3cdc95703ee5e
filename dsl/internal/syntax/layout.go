package syntax

import (
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

var (
	declWords   = words("use type source table sink stream job test")
	clauseWords = words("from where let select flatten dedup left full join latest group window aggregate top to")
	// fieldBefore: a clause word in front of one of these is a field. `-` is left out,
	// for `where -x > 0`; so are the words in, like and is, for `from in`.
	fieldBefore = words(", . = ) } + * / % == != < <= > >= && || ??")
	declShape   = words("{ : = from to was")
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// maxNesting of brackets, because parsers recurse and Go cannot survive a full stack.
const maxNesting = 100

// layout applies the rules of line and place. Doing it here, and not in the grammar,
// is what keeps a dangling operator from swallowing the next clause, and what lets
// every other `from` or `window` be a plain name.
func layout(toks []lexer.Token) {
	depth, stream, oneLine := 0, false, false
	for i := range toks {
		t := &toks[i]
		first := i == 0 || toks[i-1].Pos.Line != t.Pos.Line
		switch {
		case first && startsDecl(toks[i:], depth):
			// Depth starts anew: a brace forgotten above costs one declaration, not the file.
			depth, stream = 0, t.Value == "stream"
			t.Type = kindDecl
		case stream && depth == 1 && t.Type == kindID && clauseWords[t.Value]:
			before := toks[i-1]
			begins := first || before.Value == "{" ||
				oneLine && before.Type != kindClause && before.Value+t.Value != "lateto" && before.Value+t.Value != "inwindow"
			// After a comma the list goes on, so no clause can begin there.
			if begins && before.Value != "," && !fieldBefore[toks[i+1].Value] {
				t.Type = kindClause
			}
		case nesting(*t) > 0:
			if depth++; depth > maxNesting {
				t.Type = kindBad
			}
			if depth == 1 {
				oneLine = endsOnLine(toks[i:])
			}
		case nesting(*t) < 0:
			depth = max(0, depth-1)
		}
	}
}

// endsOnLine: the bracket that comes first is closed on its line.
func endsOnLine(toks []lexer.Token) bool {
	depth := 0
	for _, t := range toks {
		if t.Pos.Line != toks[0].Pos.Line {
			break
		}
		if depth += nesting(t); depth == 0 {
			return true
		}
	}
	return false
}

// nesting is 1 for an opening bracket, -1 for a closing one, else 0.
func nesting(t lexer.Token) int {
	if t.Type != kindOp {
		return 0
	}
	switch t.Value {
	case "(", "[", "{":
		return 1
	case ")", "]", "}":
		return -1
	}
	return 0
}

// startsDecl: the word, then its name on the same line. Inside a block, where a name
// might come before another word, only if that cannot be anything else.
func startsDecl(toks []lexer.Token, depth int) bool {
	if toks[0].Type != kindID || !declWords[toks[0].Value] || toks[1].Pos.Line != toks[0].Pos.Line {
		return false
	}
	name := toks[1].Type
	switch toks[0].Value {
	case "test":
		return name == kindStr
	case "use":
		return name == kindStr || name == kindID && toks[2].Type == kindStr
	}
	return (name == kindID || name == kindQ) &&
		(depth == 0 || toks[0].Pos.Column == 1 || declShape[toks[2].Value])
}
