package syntax

import (
	"fmt"
	"slices"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/eoc-lang/eoc/internal/diag"
)

// heads is how declarations are written, with the name for %s.
var heads = map[string]string{
	"type":   "`type %s { field: string }`",
	"source": "`source %s: Type from kafka(\"topic\")`",
	"sink":   "`sink %s to kafka(\"topic\")`",
	"stream": "`stream %s { from …  to … }`",
	"job":    "`job %s { … }`",
}

// writtenSo says how a declaration of this word and name is written.
func writtenSo(word, name string) string {
	return "a " + word + " is written " + fmt.Sprintf(heads[word], name)
}

// withHead says how a declaration is written, if the fault is in front of its braces.
func (p place) withHead(d diag.Diagnostic) diag.Diagnostic {
	if p.open != nil || p.want == "" || heads[p.part[0].Value] == "" || d.Help != "" || !isName(p.part[1]) {
		return d
	}
	return d.WithHelp("%s", writtenSo(p.part[0].Value, p.part[1].Value))
}

// untyped says of declarations without a type where their rows come from.
var untyped = map[string]string{
	"stream": "its rows have the fields that its clauses make",
	"sink":   "its rows are those that streams write to it",
}

// headHabit: what stands in front of the braces of a declaration, or in the place of them.
func (f *File) headHabit(p place) (diag.Diagnostic, bool) {
	word, t, before, next := p.part[0].Value, p.at(0), p.at(-1), p.at(1)
	if p.open != nil || p.part[0].Type != kindDecl || heads[word] == "" && p.want != "" {
		return diag.Diagnostic{}, false
	}
	switch {
	case p.want == "":
		return f.bareOptions(p)
	case p.i == 2 && t.Value == ":" && untyped[word] != "" && isName(next) && p.at(2).Value != "(":
		return diag.New("syntax", f.span(t, next), "a %s has no type", word).WithLabel("leave it out: %s", untyped[word]).
			WithHelp("%s", writtenSo(word, before.Value)), true
	case p.i == 2 && isName(t) && next.Value == "{":
		return f.fault(t, "syntax", "`%s` does not fit here", t.Value).WithLabel("leave it out").WithHelp("%s", writtenSo(word, before.Value)), true
	case p.i == 2 && word == "source" && t.Value != ":" && isName(t) && t.Value != "from" && t.Pos.Line == before.Pos.Line:
		return diag.New("syntax", f.span(before, t), "between a source and its type stands a `:`").WithLabel("write `%s: %s`", before.Value, t.Value), true
	case p.i == 2 && word == "source" && t.Value != ":":
		return f.fault(before, "incomplete", "the type of its records is missing after this").
			WithHelp("%s", writtenSo(word, before.Value)), true
	case p.want == "`from`" && word == "source":
		return f.fault(before, "incomplete", "`from` and a topic are missing after this").
			WithHelp("%s", writtenSo(word, p.part[1].Value)), true
	}
	return diag.Diagnostic{}, false
}

// bareOptions: options behind the head of a declaration, without braces. On a line of their own they stand further in than a declaration.
func (f *File) bareOptions(p place) (diag.Diagnostic, bool) {
	word, t := p.part[0].Value, p.at(0)
	sameLine := p.at(-1).Pos.Line == t.Pos.Line
	hasBlock := slices.ContainsFunc(p.part[:p.i], func(t lexer.Token) bool { return t.Value == "{" && t.Type == kindOp })
	known := slices.Contains([]string{"source", "sink", "job", "table"}, word)
	switch {
	case !known || hasBlock || t.Type != kindID || clauseWords[t.Value] || declWords[t.Value] || declShape[p.at(2).Value] || !sameLine && t.Pos.Column == 1:
		return diag.Diagnostic{}, false
	case p.at(1).Value == "{":
		return f.fault(t, "syntax", "the `{` stands directly behind").WithLabel("leave `%s` out", t.Value), true
	}
	return f.bareOption(t, word), true
}

// bareOption is about an option of something that is not in braces. Its value is not shown, since it may be a secret.
func (f *File) bareOption(t lexer.Token, of string) diag.Diagnostic {
	return f.fault(t, "missing-brace", "the options of a %s stand in braces", of).WithLabel("write `{ %s … }`", t.Value)
}
