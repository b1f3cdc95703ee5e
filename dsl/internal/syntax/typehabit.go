package syntax

import (
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/eoc-lang/eoc/internal/diag"
)

const nullBehind = "what may be null has a `?` behind its type"

// maybeHabits are words for what may be null.
var maybeHabits = strings.Fields("optional option nullable maybe")

// typeHabit: types of fields as other languages write them.
func (f *File) typeHabit(p place) (diag.Diagnostic, bool) {
	t, before, next := p.at(0), p.at(-1), p.at(1)
	switch {
	case p.part[0].Value != "type" || p.open == nil:
		return diag.Diagnostic{}, false
	case t.Value == "?" && before.Value == ":" && next.Type == kindID:
		return diag.New("syntax", f.span(t, next), "the `?` of what may be null stands behind the type").WithLabel("write `%s?`", next.Value), true
	case t.Value == "?" && before.Type == kindID && next.Value == ":" && p.at(2).Type == kindID:
		return diag.New("syntax", f.span(t, p.at(2)), "the `?` of what may be null stands behind the type").WithLabel("write `: %s?`", p.at(2).Value), true
	case p.at(-3).Value == ":" && slices.Contains(maybeHabits, strings.ToLower(p.at(-2).Value)):
		return diag.New("syntax", f.span(p.at(-2), before), nullBehind).WithLabel("write `%s?`", before.Value), true
	case t.Value == "*" && before.Value == ":" && next.Type == kindID:
		return diag.New("syntax", f.span(t, next), nullBehind).WithLabel("write `%s?`", next.Value), true
	case p.want == "`:`" && isWord(t, "null") && isWord(before, "not") && p.at(-2).Pos.Line == t.Pos.Line:
		return diag.New("syntax", f.span(before, t), "what has no `?` behind its type is never null").WithLabel("leave this out"), true
	case p.want == "`:`" && isWord(before, "null") && p.at(-2).Type == kindID && p.at(-2).Pos.Line == before.Pos.Line:
		return diag.New("syntax", f.span(p.at(-2), before), nullBehind).WithLabel("write `%s?`", p.at(-2).Value), true
	case t.Value == "<" && before.Type == kindID && next.Type == kindID && slices.Contains(maybeHabits, strings.ToLower(before.Value)):
		return diag.New("syntax", f.span(before, next), nullBehind).WithLabel("write `%s?`", next.Value), true
	case t.Type == kindStr && before.Value == "(" && p.at(-2).Value == "timestamp":
		return f.fault(t, "syntax", "the unit of a timestamp has no quotes").WithLabel("write `timestamp(%s)`", strings.Trim(t.Value, `"`)), true
	case t.Type == kindID && before.Type == kindID && p.want == "`:`" && before.Pos.Line == t.Pos.Line:
		return diag.New("syntax", f.span(before, t), "between a field and its type stands a `:`").WithLabel("write `%s: %s`", before.Value, t.Value), true
	}
	return diag.Diagnostic{}, false
}

// follows: before and t are of one list of hosts, in which a space stands behind commas alone.
func follows(before, t lexer.Token) bool {
	ofHost := func(t lexer.Token) bool {
		return t.Type == kindID || t.Type == kindNum || slices.Contains([]string{".", "-", ":", ","}, t.Value)
	}
	return ofHost(before) && ofHost(t) && (before.Value == "," && before.Pos.Line == t.Pos.Line || before.Pos.Offset+len(before.Value) == t.Pos.Offset)
}

// hostHabit: a host and port without quotes.
func (f *File) hostHabit(p place) (diag.Diagnostic, bool) {
	t, port := p.at(0), p.at(1)
	if t.Value != ":" || port.Type != kindNum || p.inStream() {
		return diag.Diagnostic{}, false
	}
	first := -1
	for follows(p.at(first-1), p.at(first)) {
		first--
	}
	if p.at(first-1).Value != "brokers" {
		return diag.Diagnostic{}, false
	}
	last := 1
	for follows(p.at(last), p.at(last+1)) {
		last++
	}
	if p.at(last).Value == "," { // the rest stands on other lines
		last--
	}
	var hosts strings.Builder
	for k := first; k <= last; k++ {
		hosts.WriteString(p.at(k).Value)
	}
	return diag.New("syntax", f.span(p.at(first), p.at(last)), "brokers are a text").WithLabel("write `brokers %q`", hosts.String()), true
}

// UsualType is the type that people mean by a name that other languages have, or "".
func UsualType(name string) string {
	switch strings.ToLower(name) {
	case "integer", "long", "bigint", "smallint", "int32", "int64":
		return "int"
	case "double", "real", "float32", "float64":
		return "float"
	case "numeric", "money":
		return "decimal(12, 2)"
	case "text", "str", "varchar", "char", "uuid":
		return "string"
	case "datetime", "time", "instant", "timestamptz":
		return "timestamp"
	case "boolean":
		return "bool"
	case "interval":
		return "duration"
	}
	return ""
}
