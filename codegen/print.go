package codegen

import (
	"strconv"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// multiline is a composite literal's braces with an item on each line. A comment may end an item's line.
func multiline(items []jen.Code) *jen.Statement {
	var lines []jen.Code
	for _, item := range items {
		lines = append(lines, jen.Add(item).Op(","))
	}
	return braces(lines)
}

// braces is lines between braces, each with its own comma.
func braces(lines []jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Multi: true}, lines...)
}

// maybeLines is multiline, on one line if there is at most one item.
func maybeLines(items []jen.Code) *jen.Statement {
	if len(items) < 2 {
		return jen.Values(items...)
	}
	return multiline(items)
}

// entry is `name: v` of a composite literal.
func entry(name string, v jen.Code) jen.Code { return jen.Id(name).Op(":").Add(v) }

// declaration is the struct type r. Its strings point into what is named.
func (r *record) declaration(into string) *jen.Statement {
	var lines []jen.Code
	for _, f := range r.fields {
		line := jen.Id(f.name).Add(goType(f.typ))
		switch {
		case f.typ.Kind == ir.String:
			line.Comment("// points into " + into)
		case unitNote(f.typ) != "":
			line.Comment("// " + unitNote(f.typ))
		}
		lines = append(lines, line)
	}
	return jen.Type().Id(r.name).Struct(lines...).Line()
}

// columns are the columns of row as fields of the variable v of type r.
func (r *record) columns(row ir.Row, v string) []value {
	list := make([]value, len(row))
	for i, c := range row {
		if f := r.field(c.Name); f != nil {
			list[i] = name(v).dot(f.name)
		}
	}
	return list
}

func calcFailed() jen.Code { return jen.Id("p").Dot("calc").Dot("Failed").Call() }
func calcFault() jen.Code  { return jen.Id("p").Dot("calc").Dot("Fault").Call() }

// method begins a method of pipeline.
func method(n string, params ...jen.Code) *jen.Statement {
	return jen.Func().Params(jen.Id("p").Op("*").Id("pipeline")).Id(n).Params(params...)
}

// setting is the literal of a string option.
func setting(s planner.Setting) jen.Code {
	var items []jen.Code
	if s.Env != "" {
		items = append(items, entry("Env", jen.Lit(s.Env)))
	}
	if s.Env == "" || s.HasDefault {
		items = append(items, entry("Text", jen.Lit(s.Text)))
	}
	if s.HasDefault {
		items = append(items, entry("HasDefault", jen.True()))
	}
	return rt("Setting").Values(items...)
}

// settingText names a topic in a comment.
func settingText(noun string, s planner.Setting) string {
	switch {
	case s.Env != "":
		return "the " + noun + " in $" + oneLine(s.Env)
	case plainWord(s.Text):
		return noun + " " + s.Text
	}
	return noun + " " + strconv.Quote(s.Text)
}

// plainWord reports whether s is one word of letters, digits, dots, dashes and underlines.
func plainWord(s string) bool {
	for _, r := range s {
		if r > 'z' || !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_') {
			return false
		}
	}
	return s != ""
}
