package syntax

import (
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/eoc-lang/eoc/internal/diag"
)

// inHabit: the list of `in` in round brackets, or with the words turned round.
func (f *File) inHabit(p place) (diag.Diagnostic, bool) {
	t, before := p.at(0), p.at(-1)
	switch {
	case p.open.Value == "(" && t.Value == "," && p.want == "`)`" && isWord(p.beforeOpen(), "in"):
		return f.fault(*p.open, "syntax", "the list of `in` stands in square brackets").
			WithLabel("write `in [%s, …]`", before.Value), true
	case p.open.Value == "(" && t.Value == "," && p.want == "`)`" && (p.beforeOpen().Type == kindClause || isWord(p.beforeOpen(), "by")):
		return f.fault(*p.open, "syntax", "a list has no brackets").WithLabel("write `%s, …`", before.Value), true
	case p.open.Value == "(" && t.Value == "," && p.want == "`)`" && isWord(p.beforeOpen(), "if"):
		return f.fault(p.beforeOpen(), "syntax", "`if` is not a function").WithLabel("a choice is written `if … then … else …`"), true
	case p.open.Value == "[" && isWord(p.beforeOpen(), "not") && isWord(p.beforeOpenBy(2), "in"):
		return f.fault(p.beforeOpenBy(2), "syntax", "`in not` is not an operator").WithLabel("write `not in [%s, …]`", before.Value), true
	}
	return diag.Diagnostic{}, false
}

// asHabit: the name of a value behind it, with `as` or without.
func (f *File) asHabit(p place) (diag.Diagnostic, bool) {
	t, name := p.at(0), p.at(0)
	isAs := isWord(t, "as")
	if isAs {
		name = p.at(1)
	}
	bare := p.in("aggregate") && isName(t) && p.at(-1).Value == ")" && p.endsItem(1) // an aggregate without a name, so this is one
	if next := p.at(1); t.Value == ":" && next.Value != "=" && p.inStream() && p.in("let", "select", "aggregate") && len(p.item()) == 1 && isName(p.at(-1)) {
		return f.fault(t, "syntax", "between a name and its value stands a `=`").WithLabel("write `%s = …`", p.at(-1).Value), true
	}
	if !p.inStream() || !p.in("let", "select", "aggregate", "window") || p.at(-1).Pos.Line != t.Pos.Line || !isAs && !bare {
		return diag.Diagnostic{}, false
	}
	value := asWritten(p.item())
	if strings.Contains(value, " = ") {
		value = "…" // it has one in front, too
	}
	return f.fault(t, "syntax", "a name stands in front of its value").WithLabel("write `%s = %s`", name.Value, value), true
}

// item are the tokens in front of the failure that belong to its item of a list.
func (p place) item() []lexer.Token {
	depth, from := 0, p.i
	for from > 0 {
		t := p.part[from-1]
		depth -= nesting(t)
		if depth < 0 || depth == 0 && (t.Value == "," || t.Type == kindClause || p.in("window") && isWord(t, "by")) {
			break
		}
		from--
	}
	return p.part[from:p.i]
}

// endsItem: the token so far behind the failure ends an item of a list.
func (p place) endsItem(k int) bool {
	t := p.at(k)
	return t.Value == "," || t.Value == "}" || t.Value == ")" || t.Type == kindClause || t.Pos.Line != p.at(k-1).Pos.Line
}

func isName(t lexer.Token) bool { return t.Type == kindID || t.Type == kindQ }

// commaHabit: lists without their commas. It comes last, since a word may stand there for another reason.
func (f *File) commaHabit(p place) (diag.Diagnostic, bool) {
	t, before, next := p.at(0), p.at(-1), p.at(1)
	if !p.inStream() || !p.in("from", "let", "select", "aggregate", "to") || !isName(t) || clauseWords[before.Value] || !ends(before) {
		return diag.Diagnostic{}, false
	}
	named := next.Value == "=" && next.Type == kindOp
	if p.in("let", "aggregate") && !named || !named && (before.Pos.Line != t.Pos.Line || clauseWords[t.Value]) {
		return diag.Diagnostic{}, false
	}
	if p.in("let") && len(p.item()) == 1 {
		return f.fault(t, "syntax", "a value has the type that it has").WithLabel("write `%s = …`", before.Value), true
	}
	d := f.fault(before, "syntax", "`,` is missing after this").WithRelated(f.mark(t), "this item of `%s` comes next", p.clause.Value)
	switch {
	case p.in("from"):
		d = d.WithHelp("if `%s` shall be another name for `%s`, leave it out: fields are written without a prefix", t.Value, before.Value)
	case p.in("select") && !named && p.endsItem(1):
		if value := asWritten(p.item()); !strings.Contains(value, " = ") {
			d = d.WithHelp("if `%[1]s` shall be the name of `%[2]s`, it stands in front: `%[1]s = %[2]s`", t.Value, value)
		}
	}
	return d, true
}

// ends: a value may end with this token.
func ends(t lexer.Token) bool {
	if t.Type == kindOp {
		return slices.Contains([]string{")", "]", "}"}, t.Value)
	}
	return !isWord(t, "not") && !isWord(t, "case") && !isWord(t, "distinct")
}

// castHabit: casts as SQL writes them, `cast(x as int)` and `x::int`.
func (f *File) castHabit(p place) (diag.Diagnostic, bool) {
	t, before := p.at(0), p.at(-1)
	fun := p.beforeOpen()
	switch {
	case isWord(t, "as") && p.open.Value == "(" && (isWord(fun, "cast") || isWord(fun, "try_cast") || isWord(fun, "safe_cast")):
		end := p.i + 1
		for depth := 1; end < len(p.part)-1; end++ {
			if depth += nesting(p.part[end]); depth == 0 {
				break
			}
		}
		return diag.New("unknown-function", f.span(fun, p.part[end]), "`%s` is not a function", fun.Value).
			WithLabel("write `%s`", castTo(asWritten(p.item()), p.part[p.i+1:end])).WithHelp("casts are named after their types"), true
	case t.Value == ":" && p.at(1).Value == ":" && isName(before):
		to := p.part[p.i+2:]
		if len(to) > 1 && to[1].Value != "(" {
			to = to[:1]
		} else if closed := slices.IndexFunc(to, func(t lexer.Token) bool { return t.Value == ")" }); closed >= 0 {
			to = to[:closed+1]
		}
		value := "…"
		if isName(p.at(-1)) && p.at(-2).Value != "." {
			value = before.Value
		}
		return diag.New("syntax", f.span(t, p.at(1)), "`::` is not an operator").WithLabel("write `%s`", castTo(value, to)), true
	}
	return diag.Diagnostic{}, false
}

// castTo is the cast of a value to a type, whose tokens may be those of another language.
func castTo(value string, to []lexer.Token) string {
	if len(to) == 0 || to[0].Type != kindID {
		return "int(" + value + ")"
	}
	name, digits := strings.ToLower(to[0].Value), "p, s"
	if usual := UsualType(name); usual != "" {
		name, _, _ = strings.Cut(usual, "(")
	}
	if name != "decimal" {
		return name + "(" + value + ")"
	}
	if len(to) > 3 { // decimal(p) is decimal(p, 0)
		digits = to[2].Value + ", 0"
	}
	if len(to) > 5 {
		digits = to[2].Value + ", " + to[4].Value
	}
	return "decimal(" + value + ", " + digits + ")"
}
