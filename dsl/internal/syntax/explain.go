package syntax

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/eoc-lang/eoc/internal/diag"
)

// fault is an error that marks a token.
func (f *File) fault(t lexer.Token, code, format string, args ...any) diag.Diagnostic {
	return diag.New(code, f.mark(t), format, args...)
}

// mark is the span of a token.
func (f *File) mark(t lexer.Token) diag.Span {
	return diag.Span{File: f.Name, Line: t.Pos.Line, Column: t.Pos.Column, Length: max(1, utf8.RuneCountInString(t.Value))}
}

// explain puts a failure of the grammar into words of the language.
func (f *File) explain(part []lexer.Token, m *misfit) diag.Diagnostic {
	i := slices.IndexFunc(part, func(t lexer.Token) bool { return t.Pos.Offset == m.token.Pos.Offset && t.Type == m.token.Type })
	if i <= 0 {
		return f.fault(part[0], "syntax", "%s", m.want)
	}
	t := part[i]
	open, clause := context(part[:i])
	where := place{part, i, m.want, open, clause}

	if m.want == lessNesting {
		return f.fault(t, "nesting", "this expression is too long or too deep").
			WithHelp("name parts of it with `let`")
	}
	if d, ok := f.habit(where); ok {
		return d
	}
	return where.withHead(f.explainPlace(where, m))
}

// explainPlace is explain for what is no habit of other languages.
func (f *File) explainPlace(where place, m *misfit) diag.Diagnostic {
	part, i, open, clause := where.part, where.i, where.open, where.clause
	t, before := part[i], part[i-1]
	first := before.Pos.Line != t.Pos.Line // of its line
	ends := first || t.EOF() || t.Value == "}"
	inStream := where.inStream()
	switch {
	case m.want != "" && before.Type == kindOp && nesting(before) == 0 && before.Value != "?" && ends:
		return f.fault(before, "dangling-operator", "nothing follows this `%s`", before.Value).
			WithRelated(f.mark(t), "%s", comesNext(t))
	case clauseWords[before.Value] && i > 1 && part[i-2].Value == "," && part[i-2].Pos.Line != before.Pos.Line:
		// After a comma a clause word is a field; what follows it here shows that it was none.
		return f.fault(part[i-2], "dangling-comma", "the list goes on after this comma, but a clause follows").
			WithRelated(f.mark(before), "in backticks this would be a field")
	case open != nil && open.Value != "{" && ends:
		return f.fault(*open, "missing-bracket", "this `%s` is not closed", open.Value).
			WithRelated(f.mark(t), "%s", comesNext(t))
	case t.EOF() && open != nil:
		return f.fault(before, "missing-brace", "`}` is missing after this").
			WithRelated(f.mark(*open), "it closes this `{`")
	case m.want == "`{`":
		return f.fault(before, "missing-brace", "`{` is missing after this")
	case open == nil && m.want == "":
		d := f.strayText(part[i:])
		if d.Code == "unknown-declaration" && declShape[where.at(2).Value] {
			return d // it begins a new one
		}
		return d.WithRelated(f.mark(part[0]), "the declaration that begins here has ended before")
	}
	if t.Type == kindID && open != nil && open.Value == "{" {
		if d, ok := f.explainWord(part, i, m, inStream, clause); ok {
			return d
		}
	}
	switch {
	case m.want == "an expression" && t.Value == "}" && i > 3 && part[i-3].Value == ",":
		return f.fault(part[i-3], "option-comma", "the keys go on after this comma").
			WithLabel("leave it out: options need none between them")
	case m.want == "`}`" && t.Value == "," && !inStream && part[0].Value != "type":
		return f.fault(t, "option-comma", "no comma stands between options").
			WithLabel("leave it out").WithHelp("options stand on lines of their own, or side by side: `time at  watermark 5s`")
	case m.want != "" && m.want != "`}`" && first:
		return f.fault(before, "incomplete", "%s is missing after this", m.want).WithRelated(f.mark(t), "%s", comesNext(t))
	}
	if nesting(t) < 0 && t.Value != "}" && (open == nil || open.Value == "{") {
		return f.fault(t, "missing-bracket", "this `%s` closes nothing", t.Value)
	}
	d := f.fault(t, "syntax", "%s does not fit here", describe(t))
	switch {
	case m.want == "":
		return d
	case m.want == "`}`" && inStream:
		return d.WithLabel("expected a clause or `}`")
	}
	return d.WithLabel("expected %s", m.want)
}

// explainWord is explain for a word in braces, which is most likely misspelt or misplaced.
func (f *File) explainWord(part []lexer.Token, i int, m *misfit, inStream bool, clause *lexer.Token) (diag.Diagnostic, bool) {
	t := part[i]
	switch {
	case inStream && part[i-1].Pos.Line != t.Pos.Line:
		d := f.fault(t, "unknown-clause", "`%s` is not a clause", t.Value)
		if p := (place{part, i, m.want, nil, clause}); p.in("let", "select", "aggregate") && ends(p.at(-1)) && p.endsItem(1) {
			d = d.WithLabel("if `%s` goes on here, a `,` is missing above", clause.Value)
		}
		return proposed(d, t.Value, clauseHabits, clausesHere), true
	case inStream && clauseWords[t.Value]:
		d := f.fault(t, "clause-line", "`%s` begins a clause and stands on a new line", t.Value)
		if t.Value == "where" && clause != nil {
			switch clause.Value {
			case "aggregate":
				d = d.WithLabel("the condition of an aggregate is written `if`")
			case "to":
				d = d.WithLabel("the condition of a sink is written `if`")
			}
		}
		return d, true
	case inStream && clause != nil && clause.Value == "window" && m.want == "`}`":
		d := f.fault(t, "unknown-window-option", "`%s` is not a window option", t.Value).
			DidYouMean(t.Value, windowWordsHere).WithNote("here: %s", list(windowWordsHere))
		if before := part[i-1]; f.lastKey(part[:i]) {
			d = d.WithLabel("if it is a key, write `%s, %s`", before.Value, t.Value)
		}
		return d, true
	case part[0].Value == "test" && m.want == "`}`":
		return f.fault(t, "unknown-step", "`%s` is not a step of a test", t.Value).
			DidYouMean(t.Value, []string{"given", "crash", "expect"}), true
	}
	return diag.Diagnostic{}, false
}

// lastKey reports whether tokens of a window end in a name that is one of its keys.
func (f *File) lastKey(toks []lexer.Token) bool {
	isName := func(t lexer.Token) bool { return t.Type == kindID || t.Type == kindQ }
	for i := len(toks) - 1; i > 0 && isName(toks[i]); i -= 2 {
		if before := toks[i-1]; before.Value == "by" && before.Type == kindID {
			return true
		} else if before.Value != "," {
			return false
		}
	}
	return false
}

// context finds the innermost open bracket and the clause at the end of the tokens.
func context(toks []lexer.Token) (open, clause *lexer.Token) {
	var stack []*lexer.Token
	for i := range toks {
		switch t := &toks[i]; {
		case t.Type == kindClause:
			clause = t
		case nesting(*t) > 0:
			stack = append(stack, t)
		case nesting(*t) < 0 && len(stack) > 0:
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) > 0 {
		open = stack[len(stack)-1]
	}
	return open, clause
}

// strayText explains what begins with a token outside of every declaration.
func (f *File) strayText(toks []lexer.Token) diag.Diagnostic {
	t := toks[0]
	switch {
	case t.Value == "}":
		return f.fault(t, "stray-brace", "this `}` closes nothing")
	case clauseWords[t.Value]:
		return f.fault(t, "clause-outside", "`%s` is a clause: it stands inside the braces of a stream", t.Value)
	case heads[t.Value] != "" && len(toks) > 1 && toks[1].Type == kindStr:
		return f.fault(toks[1], "declaration-line", "a name has no quotes").WithHelp("%s", writtenSo(t.Value, "name"))
	case heads[t.Value] != "" && len(toks) > 1 && toks[1].Type == kindOp:
		return f.fault(t, "declaration-line", "a name is missing after this").WithHelp("%s", writtenSo(t.Value, "name"))
	case declWords[t.Value]:
		return f.fault(t, "declaration-line", "`%s` begins a declaration: it stands on a new line, its name beside it", t.Value)
	case t.Type == kindID:
		word := t.Value
		if both := word + " " + toks[min(1, len(toks)-1)].Value; declHabits[strings.ToLower(both)] != "" {
			word = both
		}
		return proposed(f.fault(t, "unknown-declaration", "`%s` is not a declaration", t.Value), word, declHabits, declsHere)
	}
	return f.fault(t, "syntax", "%s stands outside of every declaration", describe(t))
}

// proposed says which word was probably meant, and which there are.
func proposed(d diag.Diagnostic, word string, habits map[string]string, here []string) diag.Diagnostic {
	if meant := habits[strings.ToLower(word)]; meant != "" {
		if heads[meant] != "" {
			d = d.WithHelp("%s", writtenSo(meant, "name"))
		}
		return d.WithLabel("did you mean `%s`?", meant).WithNote("here: %s", list(here))
	}
	return d.DidYouMean(word, here).WithNote("here: %s", list(here))
}

func list(words []string) string { return strings.Join(words, " · ") }

func describe(t lexer.Token) string {
	if t.EOF() {
		return "the end of the declaration"
	}
	return "`" + t.Value + "`"
}

func comesNext(t lexer.Token) string {
	if t.EOF() {
		return "the declaration ends"
	}
	return describe(t) + " comes next"
}

// element is the first element of what participle writes behind "expected".
var element = regexp.MustCompile(`^"(?:\\.|[^"\\])+"|^<\w+>|^\w+`)

// kinds are the names of participle's tokens and of our types, in words.
var kinds = map[string]string{
	"<ident>": "a name", "Name": "a name", "<string>": "a text in double quotes", "Text": "a text in double quotes",
	"<duration>": "a duration such as 10s", "Length": "a duration such as 10s", "<number>": "a number",
	"TypeRef": "a type", "Rows": "a stream's name", "Record": "a record in braces",
	"Operand": "a value", "Expr": "an expression", "Item": "an expression", "Fold": "an aggregate", "Rank": "an expression",
	"StreamRef": "a stream's name", "Target": "a sink", "Route": "a sink", "Case": "a text in double quotes",
}

// inWords translates "(expected …)" of a participle message; it never quotes it. Only
// the first element of each alternative counts, the rest would come later.
func inWords(msg string) string {
	i := strings.LastIndex(msg, " (expected ")
	if i < 0 {
		return ""
	}
	list := msg[i+len(" (expected "):]
	rest := strings.TrimLeft(list, "(")
	var out []string
	for alt := range strings.SplitSeq(rest, " | ") {
		w := element.FindString(strings.TrimLeft(alt, "("))
		if strings.HasPrefix(w, `"`) {
			w = "`" + strings.Trim(w, `"`) + "`"
		} else if w = kinds[w]; w == "" {
			return "" // better silent than a grammar's name
		}
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
		if rest == list { // no group: the alternatives belong to a later element
			break
		}
	}
	return strings.Join(out, " or ")
}

// signs that the language does not have, and what to write instead.
var signs = map[byte]string{
	'"': "a text ends on its line: add the closing \"", '`': "a quoted name ends on its line: add the closing `",
	';': "a clause ends with its line", '\'': "texts stand in double quotes",
	'#': "a comment begins with //", '&': "and is written &&", '|': "or is written ||",
	'@': "a time is written @00:00:05", '^': "powers are not in this version of eoc yet", '~': "patterns are not in this version of eoc yet",
}

// letters are those of units.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// badToken explains a token that the lexer could not place; next is the one behind it.
func (f *File) badToken(t, next lexer.Token) diag.Diagnostic {
	if limit, long := tooLong(t); long {
		what := "name"
		if t.Value[0] == '"' {
			what = "text"
		}
		return f.fault(t, "too-big", "a %s has at most %d bytes, this one has %d", what, limit, len(t.Value))
	}
	switch c := t.Value[0]; {
	case strings.HasPrefix(t.Value, "/*") || strings.HasPrefix(t.Value, "--"):
		d := f.fault(t, "reserved-character", "`%s` begins no comment", t.Value[:2]).WithLabel("comments begin with //")
		first, _, _ := strings.Cut(t.Value, "\n")
		d.Span.Length = utf8.RuneCountInString(first)
		return d
	case t.Value == "(" || t.Value == "[" || t.Value == "{":
		return f.fault(t, "nesting", "brackets are nested more than %d deep", maxNesting)
	case c == '"' && len(t.Value) > 1 && strings.HasSuffix(t.Value, `"`) && strings.Contains(t.Value, `\`):
		return f.fault(t, "bad-escape", "this text has a `\\` that means nothing").WithLabel("a backslash itself is written \\\\")
	case c == '"':
		return f.fault(t, "unclosed-text", "this text has no end").WithLabel("%s", signs[c])
	case c == '`':
		return f.fault(t, "unclosed-name", "this quoted name has no end").WithLabel("%s", signs[c])
	case c >= '0' && c <= '9':
		d := f.fault(t, "bad-number", "`%s` is neither a number nor a duration", t.Value).WithLabel("as in 1.5, 1e3, 90s or 1h30m")
		digits := strings.TrimRight(t.Value, letters)
		if plain := strings.ReplaceAll(t.Value, "_", ""); number.MatchString(plain) || duration.MatchString(plain) {
			return d.WithLabel("write `%s`", plain)
		}
		label, whole := inUnits(digits, t.Value[len(digits):])
		if whole {
			d = f.fault(t, "bad-number", wholeDuration)
		}
		if label != "" {
			d = d.WithLabel("%s", label)
		}
		return d
	case t.Value == "|" && clauseWords[next.Value]:
		return f.fault(t, "reserved-character", "%q has no meaning here", t.Value).WithLabel("a clause begins on a new line, without a sign")
	case t.Value == "|" && strings.EqualFold(next.Value, "null"):
		return f.fault(t, "reserved-character", "%q has no meaning here", t.Value).WithLabel("or is written `||`; that a field may be null, with a `?` behind its type: `string?`")
	case strings.ContainsAny(t.Value, "“”„‘’«»"):
		return f.fault(t, "reserved-character", "%s has no meaning here", t.Value).WithLabel("texts stand in straight quotes: \"")
	case c >= utf8.RuneSelf && len(t.Value) > 1 || ascii.MatchString(string(c)):
		return f.fault(t, "bad-name", "names are plain ASCII").WithLabel("quote it: `%s`", t.Value)
	default:
		return f.fault(t, "reserved-character", "%q has no meaning here", t.Value).WithLabel("%s", signs[c])
	}
}
