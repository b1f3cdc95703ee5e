package codegen

import (
	"encoding/json"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// sink is a topic that is written.
type sink struct {
	program *program
	node    *planner.Node
	field   string // of pipeline
	write   string // method of pipeline
	record  *record
	own     bool // record is made for this sink
}

// addSink names a sink and decides on the type of its rows, when those of the streams are known.
func (p *program) addSink(n *planner.Node) {
	s := &sink{program: p, node: n, field: p.members.member(unexported(n.ID))}
	s.write = p.members.member("write" + exported(n.ID))
	p.sinks, p.sinkOf[n] = append(p.sinks, s), s
	if s.record = p.shared(p.inputs(n, planner.Rows, planner.Late)); s.record == nil {
		s.own = true
		s.record = p.newRecord(p.names.take(exported(s.node.ID)+"Row"), "row", s.node.Row, all(s.node.Row))
	}
}

// sinksFile prints one encoder for each sink.
func (p *program) sinksFile(f *jen.File) {
	for i, s := range p.sinks {
		if i > 0 {
			f.Line()
		}
		s.print(f)
	}
}

func (s *sink) print(f *jen.File) {
	p := s.program
	op := s.node.Op.(*planner.Sink)
	if s.own {
		f.Comment("// " + s.record.name + " is a row of sink " + oneLine(s.node.ID) + ".")
		f.Add(s.record.declaration("the batch or window"))
	}
	c := &code{program: p, locals: p.names.inner("p", "r", "at", "b"), columns: s.record.columns(s.node.Row, "r")}
	if op.KeyAt.Line > 0 {
		c.place(op.KeyAt)
	}
	key := s.key(c, op.Key)
	if c.fallible {
		panic(bugf("the key of sink %s can fail", s.node.ID))
	}
	c.add(jen.Id("b").Op(":=").Id("p").Dot(s.field).Dot("Begin").Call(key))
	var fields []jsonField
	for i, f := range s.node.Row {
		fields = append(fields, jsonField{f.Name, c.columns[i], f.Type})
	}
	c.object(nil, fields)
	c.add(jen.Id("b").Op("=").Append(jen.Id("b"), jen.LitRune('}')))
	c.add(jen.Id("p").Dot(s.field).Dot("End").Call(jen.Id("b"), jen.Id("at")))
	f.Comment("// " + s.write + " sends " + a(s.record.noun) + " to " + settingText("topic", op.Topic) + ".")
	f.Add(method(s.write, jen.Id("r").Op("*").Id(s.record.name), jen.Id("at").Add(rt("Time"))).Block(c.list...))
}

// key is the key of a record: null without any, the bytes of one string, the JSON text of another scalar, a JSON
// array of several.
func (s *sink) key(c *code, keys []ir.Named) jen.Code {
	switch len(keys) {
	case 0:
		return jen.Nil()
	case 1:
		return s.scalarKey(c, keys[0])
	}
	c.program.usesKey = true
	key := jen.Id("p").Dot("key")
	c.add(jen.Add(key).Op("=").Append(jen.Add(key).Index(jen.Empty(), jen.Lit(0)), jen.LitRune('[')))
	for i, k := range keys {
		if i > 0 {
			c.add(jen.Add(key).Op("=").Append(key, jen.LitRune(',')))
		}
		c.appendJSON(key, c.simple(unexported(k.Name), simplify(k.Expr)), k.Expr.Type())
	}
	c.add(jen.Add(key).Op("=").Append(key, jen.LitRune(']')))
	return key
}

func (s *sink) scalarKey(c *code, k ir.Named) jen.Code {
	t := k.Expr.Type()
	v := c.simple(unexported(k.Name), simplify(k.Expr))
	if t.Kind == ir.String && !t.Null {
		return v.code
	}
	var set func(v value)
	var key jen.Code
	if t.Kind == ir.String {
		key = jen.Id(c.locals.take("key"))
		set = func(v value) { c.add(jen.Add(key).Op("=").Add(v.code)) }
	} else {
		c.program.usesKey = true
		scratch := jen.Id("p").Dot("key")
		if !t.Null {
			c.add(jen.Add(scratch).Op("=").Add(appendValue(jen.Add(scratch).Index(jen.Empty(), jen.Lit(0)), v, t)))
			return scratch
		}
		key = jen.Id(c.locals.take("key"))
		set = func(v value) {
			c.add(jen.Add(scratch).Op("=").Add(appendValue(jen.Add(scratch).Index(jen.Empty(), jen.Lit(0)), v, t.NonNull())))
			c.add(jen.Add(key).Op("=").Add(scratch))
		}
	}
	c.add(jen.Var().Add(key).Index().Byte())
	c.add(jen.If(v.dot("OK").code).Block(c.block(func() { set(v.dot("V")) })...))
	return key
}

// jsonField is a field of a row that is written.
type jsonField struct {
	name string
	v    value
	typ  ir.Type
}

// object appends a row to b as JSON, up to its last brace. Where it is the first thing there, b begins as
// start.
func (c *code) object(start jen.Code, fields []jsonField) {
	for i, f := range fields {
		switch {
		case i > 0:
			c.member(f.name)
		case start != nil:
			c.add(jen.Id("b").Op(":=").Append(start, memberText("{", f.name)))
		default:
			c.add(jen.Id("b").Op("=").Append(jen.Id("b"), memberText("{", f.name)))
		}
		c.appendJSON(jen.Id("b"), f.v, f.typ)
	}
}

// member appends the name of another field to b.
func (c *code) member(name string) {
	c.add(jen.Id("b").Op("=").Append(jen.Id("b"), memberText(",", name)))
}

func memberText(before, name string) jen.Code {
	return jen.Add(rawText(before + quoteJSON(name) + ":")).Op("...")
}

// quoteJSON is a name as a JSON string.
func quoteJSON(name string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(name); err != nil {
		panic(bugf("field name %q: %v", name, err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// appendJSON appends v, of type t, to the slice b.
func (c *code) appendJSON(b jen.Code, v value, t ir.Type) {
	if !t.Null {
		c.add(jen.Add(b).Op("=").Add(appendValue(b, v, t)))
		return
	}
	c.add(jen.If(v.dot("OK").code).Block(
		jen.Add(b).Op("=").Add(appendValue(b, v.dot("V"), t.NonNull())),
	).Else().Block(
		jen.Add(b).Op("=").Append(b, jen.Lit("null").Op("...")),
	))
}

// appendValue is the call that appends v, which is not null.
func appendValue(b jen.Code, v value, t ir.Type) jen.Code {
	call := func(f string, more ...jen.Code) jen.Code {
		return rt(f).Call(append([]jen.Code{b, v.code}, more...)...)
	}
	switch t.Kind {
	case ir.Bool:
		return call("AppendBool")
	case ir.Int:
		return call("AppendInt")
	case ir.Float:
		return call("AppendFloat")
	case ir.String:
		return call("AppendString")
	case ir.Duration:
		return call("AppendDuration")
	case ir.Decimal:
		return call("AppendDecimal"+pick(t.Wide(), "128", ""), jen.Lit(t.Scale))
	case ir.Timestamp:
		if t.Unit == ir.Text {
			return call("AppendTime")
		}
		return call("AppendTimeUnit", unit(t.Unit))
	}
	panic(bugf("no way to write %s", t))
}
