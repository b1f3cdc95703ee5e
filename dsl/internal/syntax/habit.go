package syntax

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/eoc-lang/eoc/internal/diag"
)

// What people bring along from other languages: here is what they mean.
var (
	clauseHabits = map[string]string{
		"filter": "where", "having": "where", "when": "where", "on": "where", "map": "let", "set": "let", "var": "let", "with": "let",
		"project": "select", "return": "select", "yield": "select", "read": "from", "into": "to", "emit": "to", "write": "to", "output": "to",
		"insert": "to", "reduce": "aggregate", "fold": "aggregate",
	}
	declHabits = map[string]string{
		"pipeline": "stream", "query": "stream", "view": "stream", "flow": "stream", "create": "stream", "create table": "source", "create type": "type", "select": "stream", "from": "stream", "insert": "stream", "update": "stream",
		"schema": "type", "record": "type", "struct": "type", "message": "type", "class": "type", "input": "source", "topic": "source",
		"output": "sink", "config": "job", "settings": "job", "options": "job",
	}
	signHabits = map[string]string{"===": "==", "!==": "!=", "<>": "!=", "=<": "<=", "=>": ">=", ":=": "="}
	wordHabits = map[string]string{
		"and": "`&&`", "or": "`||`", "mod": "`%`", "div": "`/`", "equals": "`==`", "between": "two comparisons: `x >= 1 && x <= 9`",
		"case": "`if … then … else …`",
	}
)

// Words that this version compiles: those that are proposed and listed.
var (
	clausesHere = strings.Fields("from where let select window aggregate to")
	declsHere   = strings.Fields("type source sink stream job")
)

// withBrackets are the words with a text in brackets behind them, each with the option that it is a value of, if it is one of a single option.
var withBrackets = map[string]string{"kafka": "", "env": "", "secret": "", "files": "", "dlq": "on_error", "bolt": "store", "group": "start", "timestamp": "start"}

// joinedWords are the words of options and their values that have a `_`.
var joinedWords = strings.Fields("on_error on_null txn_prefix txn_timeout read_committed read_uncommitted exactly_once at_least_once")

// place is where a failure of the grammar is: the token, those around it, the innermost open
// bracket and the clause.
type place struct {
	part         []lexer.Token
	i            int
	want         string
	open, clause *lexer.Token
}

func (p place) at(k int) lexer.Token {
	if j := p.i + k; j >= 0 && j < len(p.part) {
		return p.part[j]
	}
	return lexer.Token{}
}

// in reports whether the failure is in one of these clauses.
func (p place) in(words ...string) bool {
	return p.clause != nil && slices.Contains(words, p.clause.Value)
}

// inStream: directly in the braces of a stream, not in those of a sink in place.
func (p place) inStream() bool {
	if p.part[0].Value != "stream" || p.open == nil || p.open.Value != "{" {
		return false
	}
	first := slices.IndexFunc(p.part, func(t lexer.Token) bool { return t.Type == kindOp && t.Value == "{" })
	return p.part[first].Pos == p.open.Pos
}

// habit explains what is right in another language; ok is false if it is nothing of the kind.
func (f *File) habit(p place) (d diag.Diagnostic, ok bool) {
	for _, try := range []func(place) (diag.Diagnostic, bool){f.headHabit, f.unitHabit, f.typeHabit, f.hostHabit, f.sqlHabit, f.signHabit, f.routeHabit, f.nameHabit, f.wordHabit, f.optionHabit, f.callHabit, f.commaHabit} {
		if d, ok = try(p); ok {
			return d, ok
		}
	}
	return d, false
}

// span marks two tokens of one line and what is between them.
func (f *File) span(a, b lexer.Token) diag.Span {
	s := f.mark(a)
	if b.Pos.Line == a.Pos.Line {
		s.Length = b.Pos.Column - a.Pos.Column + f.mark(b).Length
	}
	return s
}

// nameHabit: the name of a declaration or of a field with a `-` or `.` in it, which is one in backticks alone.
func (f *File) nameHabit(p place) (diag.Diagnostic, bool) {
	first, last := p.at(-1), p.at(0)
	names := declWords[p.at(-2).Value] || p.part[0].Value == "type" && p.want == "`:`"
	if !names || first.Type != kindID || last.Value != "-" && last.Value != "." {
		return diag.Diagnostic{}, false
	}
	name := p.dashed()
	if len(name) == 1 {
		return diag.Diagnostic{}, false
	}
	return diag.New("bad-name", f.span(first, name[len(name)-1]), "a name with `%s` in it stands in backticks", last.Value).
		WithLabel("quote it: `%s`", asWritten(name)), true
}

// dashed are the tokens of a name with `-` or `.` in it, of which the one in front of the failure is one.
func (p place) dashed() []lexer.Token {
	inName := func(t lexer.Token) bool {
		return t.Type == kindID || t.Type == kindNum || t.Value == "-" || t.Value == "."
	}
	sticks := func(k int) bool {
		return inName(p.part[k]) && inName(p.part[k+1]) && p.part[k].Pos.Offset+len(p.part[k].Value) == p.part[k+1].Pos.Offset
	}
	from, to := p.i-1, p.i
	for from > 0 && sticks(from-1) {
		from--
	}
	for to < len(p.part) && sticks(to-1) {
		to++
	}
	return p.part[from:to]
}

// asWritten is the text of tokens, with one space where there are some.
func asWritten(toks []lexer.Token) string {
	var s strings.Builder
	for i, t := range toks {
		if i > 0 && toks[i-1].Pos.Offset+len(toks[i-1].Value) < t.Pos.Offset {
			s.WriteByte(' ')
		}
		s.WriteString(t.Value)
	}
	return s.String()
}

// signHabit: operators and the equals sign of other languages.
func (f *File) signHabit(p place) (diag.Diagnostic, bool) {
	t := p.at(0)
	for _, pair := range [][2]lexer.Token{{p.at(-1), t}, {t, p.at(1)}} {
		a, b := pair[0], pair[1]
		adjacent := a.Type == kindOp && b.Type == kindOp && a.Pos.Offset+len(a.Value) == b.Pos.Offset
		if here := signHabits[a.Value+b.Value]; adjacent && here != "" {
			return diag.New("syntax", f.span(a, b), "`%s` is not an operator", a.Value+b.Value).WithLabel("here it is written `%s`", here), true
		}
	}
	if next := p.at(1); t.Value == "." && next.Type == kindNum && p.want == "an expression" {
		return diag.New("syntax", f.span(t, next), "a number begins with a digit").WithLabel("write `0.%s`", next.Value), true
	}
	if t.Type != kindOp || p.clause == nil || p.in("from") || p.part[0].Value != "stream" {
		return diag.Diagnostic{}, false
	}
	switch {
	case t.Value == "=" && p.want != "an expression":
		return f.fault(t, "syntax", "`=` gives a name, it compares nothing").WithLabel("equality is written `==`"), true
	case t.Value == "?":
		return f.fault(t, "syntax", "`?` does not fit here").WithLabel("a choice is written `if … then … else …`"), true
	}
	return diag.Diagnostic{}, false
}

const (
	fromNames    = "`from` reads a source or a stream by its name"
	declareTopic = "declare the topic, `source name: Type from %s`, and read it, `from name`"
)

// routeHabit: conditions and topics at places where they do not stand.
func (f *File) routeHabit(p place) (diag.Diagnostic, bool) {
	t := p.at(0)
	if p.part[0].Value != "stream" || p.clause == nil {
		return diag.Diagnostic{}, false
	}
	const routes = "a choice between sinks is written `to a if …, b else`"
	switch {
	case p.in("to") && t.Type == kindID && t.Value == "else" && (p.open == nil || p.open.Value == "{"):
		return f.fault(t, "syntax", "`else` stands behind its sink").WithLabel("%s", routes), true
	case p.in("to") && p.inStream() && p.at(-1).Pos.Line == t.Pos.Line && (isWord(t, "when") || isWord(t, "unless")):
		return f.fault(t, "syntax", "`%s` does not fit here", t.Value).WithLabel("the condition of a sink is written `if`"), true
	case p.inStream() && t.Type == kindID && strings.EqualFold(t.Value, "if"):
		return f.fault(t, "unknown-clause", "`%s` is not a clause", t.Value).WithHelp(routes), true
	case p.in("aggregate", "select", "where") && p.inStream() && (isWord(t, "late") && p.at(1).Value == "to" || isWord(t, "grace") && p.at(1).Type == kindDuration):
		return f.fault(t, "syntax", "`%s` stands in `window`", t.Value).WithLabel("as in `window tumbling 1m by user_id grace 10s late to late_rows`"), true
	case p.in("from") && p.inStream() && isWord(t, "as") && p.at(-1).Pos.Line == t.Pos.Line:
		return f.fault(t, "syntax", "`from` gives no other name").
			WithLabel("leave out `%s %s`: fields are written without a prefix", t.Value, p.at(1).Value), true
	case p.in("to") && p.inStream() && t.Type == kindID && p.at(-1).Value == ")" && p.at(-1).Pos.Line == t.Pos.Line && !clauseWords[t.Value]:
		return f.bareOption(t, "sink"), true
	case p.in("from") && t.Value == "(" && p.at(-2).Value == "." && p.at(-2).Pos.Line != p.at(-3).Pos.Line:
		return proposed(f.fault(p.at(-1), "unknown-clause", "`.%s(…)` is not a clause", p.at(-1).Value), p.at(-1).Value, clauseHabits, clausesHere), true
	case p.in("from") && (t.Value == "(" && p.at(-1).Type == kindID || t.Type == kindStr):
		at := p.at(-1)
		topic := `kafka("topic")`
		if t.Type == kindStr {
			at, topic = t, "kafka("+t.Value+")"
		} else if s := p.at(1); s.Type == kindStr {
			topic = "kafka(" + s.Value + ")"
		}
		return f.fault(at, "bad-connector", fromNames).WithHelp(declareTopic, topic), true
	case p.in("from", "to") && p.inStream() && (t.Value == "." || t.Value == "-") && len(p.dashed()) > 1:
		name := p.dashed()
		at, topic := f.span(name[0], name[len(name)-1]), "kafka("+strconv.Quote(asWritten(name))+")"
		if p.in("to") {
			return diag.New("bad-connector", at, "a sink is named, or written in place").WithLabel("a topic is written `%s`", topic), true
		}
		return diag.New("bad-connector", at, fromNames).WithHelp(declareTopic, topic), true
	}
	return diag.Diagnostic{}, false
}

// wordHabit: words in the place of operators, brackets and names.
func (f *File) wordHabit(p place) (diag.Diagnostic, bool) {
	t, before := p.at(0), p.at(-1)
	if p.part[0].Value != "stream" || p.clause == nil || p.in("from") {
		return diag.Diagnostic{}, false
	}
	sameLine := before.Pos.Line == t.Pos.Line
	word := strings.ToLower(t.Value)
	switch {
	case before.Type == kindID && strings.EqualFold(before.Value, "not") && sameLine && p.want != "`null`":
		d := f.fault(before, "syntax", "`%s` is not an operator", before.Value)
		if p.endsItem(1) || isWord(p.at(1), "and") || isWord(p.at(1), "or") || levels[p.at(1).Value] > 0 && levels[p.at(1).Value] < comparison {
			return d.WithLabel("write `!%s`", t.Value), true
		}
		return d.WithLabel("write `!(%s …)`", t.Value), true
	case p.in("aggregate") && before.Type == kindID && sameLine && p.at(-2).Value == "=" && t.Type != kindOp && t.Value != "if" && !t.EOF():
		return diag.New("bad-aggregate", f.span(before, t), "an aggregate has brackets").WithLabel("write `%s(%s)`", before.Value, t.Value), true
	case isWord(before, "case") && sameLine && !t.EOF() && t.Type != kindOp:
		return f.fault(before, "syntax", "there is no `%s`", before.Value).WithLabel("a choice is written `if … then … else …`"), true
	case t.Type != kindID:
		return diag.Diagnostic{}, false
	case wordHabits[word] != "":
		return f.fault(t, "syntax", "`%s` is not an operator", t.Value).WithLabel("write %s", wordHabits[word]), true
	case word != t.Value && (levels[word] > 0 || word == "then" || word == "else"):
		switch {
		case word == "is" && isWord(p.at(1), "not"):
			word = "is not null"
		case word == "is":
			word = "is null"
		}
		return f.fault(t, "syntax", "`%s` does not fit here", t.Value).WithLabel("it is written `%s`", word), true
	case p.want == "`null`" && (word == "null" || word == "nil" || word == "none"):
		return f.fault(t, "syntax", "`%s` does not fit here", t.Value).WithLabel("it is written `null`"), true
	}
	return diag.Diagnostic{}, false
}

// callHabit: what takes a text in brackets, without them.
func (f *File) callHabit(p place) (diag.Diagnostic, bool) {
	t, before := p.at(0), p.at(-1)
	option, known := withBrackets[before.Value]
	if t.Type != kindStr || before.Pos.Line != t.Pos.Line || !known {
		return diag.Diagnostic{}, false
	}
	front := p.at(-2).Value
	here := front == "from" || front == "to" || front == "," && p.in("to") // as for kafka
	switch {
	case option != "":
		here = front == option
	case before.Value != "kafka":
		here = !p.inStream()
	}
	if !here {
		return diag.Diagnostic{}, false // there is none there, with brackets or without
	}
	text := t.Value
	if before.Value == "files" {
		text = "ca: " + text
	}
	return diag.New("syntax", f.span(before, t), "`%s` has its text in brackets", before.Value).WithLabel("write `%s(%s)`", before.Value, text), true
}

// optionHabit: options with signs behind their words, and keys without commas.
func (f *File) optionHabit(p place) (diag.Diagnostic, bool) {
	if p.want != "an expression" || p.open == nil || p.open.Value != "{" || p.inStream() || p.part[0].Value == "test" {
		return diag.Diagnostic{}, false
	}
	t, before := p.at(0), p.at(-1)
	if before.Type == kindID && t.Type == kindOp && (t.Value == "=" || t.Value == ":") {
		return f.fault(t, "syntax", "an option has no `%s` behind its word", t.Value).
			WithLabel("write `%s %s`", before.Value, p.at(1).Value), true
	}
	if first, second, ok := p.bareKeys(); ok {
		return f.fault(second, "option-comma", "between keys stands a comma").
			WithLabel("write `key %s, %s`", first.Value, second.Value), true
	}
	return diag.Diagnostic{}, false
}

// joinWords joins words of options that are written with a `-`, and says so.
func (f *File) joinWords(part []lexer.Token) (joined []lexer.Token, faults []diag.Diagnostic) {
	if !slices.Contains([]string{"source", "sink", "job"}, part[0].Value) {
		return part, nil
	}
	for i := 0; i < len(part); i++ {
		t := part[i]
		if word, n := dashed(part[i:]); n > 1 && slices.Contains(joinedWords, word) {
			faults = append(faults, diag.New("syntax", f.span(t, part[i+n-1]), "`%s` has a `_`", word).WithLabel("write `%s`", word))
			t.Value = word
			i += n - 1
		}
		joined = append(joined, t)
	}
	return joined, faults
}

// dashed is the word that tokens begin with, if it is joined by a `-` to others, with a `_` instead, and of how many tokens it is.
func dashed(toks []lexer.Token) (word string, n int) {
	const most = 5 // at_least_once
	word = toks[0].Value
	for n = 1; n < min(most, len(toks)-1); n += 2 {
		sign, next := toks[n], toks[n+1]
		if toks[0].Type != kindID || next.Type != kindID || sign.Value != "-" || next.Pos.Offset != toks[0].Pos.Offset+len(word)+1 {
			break
		}
		word += "_" + next.Value
	}
	return word, n
}

// bareKeys looks in front for a line that is `key` and names without commas: there the
// second was taken for an option, and those behind it for what they are not.
func (p place) bareKeys() (first, second lexer.Token, ok bool) {
	isName := func(t lexer.Token) bool { return t.Type == kindID || t.Type == kindQ }
	for j := p.i - 3; j > 0 && p.part[j].Pos.Offset > p.open.Pos.Offset; j-- {
		key, a, b, next := p.part[j], p.part[j+1], p.part[j+2], p.part[j+3]
		line := key.Pos.Line
		if key.Value == "key" && key.Type == kindID && isName(a) && isName(b) && a.Pos.Line == line && b.Pos.Line == line &&
			(next.Pos.Line != line || next.Value == "}") {
			return a, b, true
		}
	}
	return first, second, false
}
