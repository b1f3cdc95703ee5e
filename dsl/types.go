package dsl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// maxFields of a type: the decoder of a generated program marks the fields that it has
// seen in one 64-bit word.
const maxFields = 64

const maxPrecision = 38 // digits of a decimal, as many as 128 bits hold

func (c *checker) eachType() {
	for _, d := range c.file.Decls {
		if d, ok := d.(*syntax.Type); ok {
			if t := c.types[d.Name.String()]; t != nil && t.decl == d {
				t.row = c.recordType(d)
			}
		}
	}
}

func (c *checker) recordType(d *syntax.Type) shape {
	row := shape{open: c.file.Broken[d]}
	if d.Tag != nil {
		c.notYet(c.file.Head(d.Node), "a union of types")
		return shape{open: true}
	}
	if len(d.Fields) == 0 && !row.open {
		c.errorf(d.Name.Node, "empty-type", "`%s` has no fields", d.Name)
		return shape{open: true}
	}
	for _, f := range d.Fields {
		if f.From != nil {
			c.notYet(f.From.Span(), "a field from the key or a header")
		}
		t := c.fieldType(f.Type)
		field := ir.Field{Name: f.Name.String(), Type: t}
		if f.Default != nil && t.Kind != 0 {
			field.Default = c.defaultValue(f, t)
			switch {
			case isNull(f.Default):
				field.Type.Null = true // who writes null means a null
			case t.Null:
				field.Type = ir.Type{} // it has both, which is reported: which was meant is not known
			}
		}
		c.addField(&row, field, f.Name.Node, "a type has each field once")
	}
	if len(row.row) > maxFields {
		c.notYet(d.Name.Node, "a type with more than "+strconv.Itoa(maxFields)+" fields")
	}
	return row
}

var scalarTypes = strings.Fields("bool int float decimal string timestamp duration")

var units = map[string]ir.Unit{"s": ir.Seconds, "ms": ir.Millis, "us": ir.Micros, "ns": ir.Nanos}

// fieldType is the type that is written, or the zero Type if it is wrong.
func (c *checker) fieldType(r *syntax.TypeRef) ir.Type {
	switch {
	case len(r.Wraps) > 0 && r.Wraps[0].Map:
		c.notYet(r.Node, "a field that is a map")
		return ir.Type{}
	case len(r.Wraps) > 0:
		c.notYet(r.Node, "a field that is a list")
		return ir.Type{}
	case r.Record:
		c.notYet(r.Node, "a field that is a record")
		return ir.Type{}
	case r.Group != nil:
		t := c.fieldType(r.Group)
		t.Null = (t.Null || r.Null) && t.Kind != 0
		return t
	}
	t := ir.Type{Null: r.Null}
	name := r.Name.String()
	if c.enough() {
		return ir.Type{}
	}
	switch name {
	case "bytes", "date", "json":
		c.notYet(r.Node, "the type `"+name+"`")
		return ir.Type{}
	case "decimal":
		p, s, ok := c.decimalBounds(r.Node, r.Args)
		if !ok {
			return ir.Type{}
		}
		t.Kind, t.Precision, t.Scale = ir.Decimal, p, s
		return t
	case "timestamp":
		t.Kind = ir.Timestamp
		if len(r.Args) == 0 {
			return t
		}
		unit, ok := units[r.Args[0]]
		if !ok || len(r.Args) > 1 {
			c.errorf(r.Node, "bad-type", "a timestamp has one unit: s, ms, us or ns; without one it is RFC 3339 text")
			return ir.Type{}
		}
		t.Unit = unit
		return t
	}
	if !slices.Contains(scalarTypes, name) {
		if c.types[name] != nil {
			c.notYet(r.Node, "a field that is a record")
			return ir.Type{}
		}
		if c.others[name] != "lost" {
			d := diag.New("unknown-type", c.at(r.Name.Node), "`%s` is not a type", name)
			if meant := syntax.UsualType(name); meant != "" {
				d = d.WithLabel("did you mean `%s`?", meant)
			} else {
				d = d.DidYouMean(name, append(sortedKeys(c.types), scalarTypes...))
			}
			c.report(d.WithNote("here: %s", strings.Join(scalarTypes, " · ")))
		}
		return ir.Type{}
	}
	if len(r.Args) > 0 {
		c.errorf(r.Node, "bad-type", "`%s` has nothing in brackets", name)
		return ir.Type{}
	}
	t.Kind = map[string]ir.Kind{"bool": ir.Bool, "int": ir.Int, "float": ir.Float, "string": ir.String, "duration": ir.Duration}[name]
	return t
}

// decimalBounds reads the two numbers of decimal(p, s).
func (c *checker) decimalBounds(n syntax.Node, args []string) (p, s int, ok bool) {
	if len(args) == 2 {
		var err1, err2 error
		p, err1 = strconv.Atoi(args[0])
		s, err2 = strconv.Atoi(args[1])
		if err1 == nil && err2 == nil && 1 <= p && p <= maxPrecision && 0 <= s && s <= p {
			return p, s, true
		}
	}
	c.report(diag.New("bad-type", c.at(n), "a decimal is decimal(p, s): p digits, 1 to %d, of which s, 0 to p, stand behind the point", maxPrecision).
		WithLabel("such as decimal(12, 2)"))
	return 0, 0, false
}

// defaultValue is the constant that a field has when it is missing.
func (c *checker) defaultValue(f *syntax.Field, t ir.Type) *ir.Const {
	n := f.Default.Span()
	null := isNull(f.Default)
	switch {
	case null && t.Null:
		c.report(diag.New("bad-default", c.at(n), "no default is null").WithHelp("leave it out: `%s` may be null, and is when it is missing", f.Name))
		return nil
	case null:
		c.report(diag.New("bad-default", c.at(n), "no default is null").
			WithHelp("write a `?` behind the type instead: then `%s` may be null, and is when it is missing", f.Name))
		return nil
	case t.Null:
		c.report(diag.New("bad-default", c.at(n), "`%s` has a default or may be null, not both", f.Name).
			WithHelp("with a default a null becomes the default: leave out the `?`"))
		return nil
	}
	if !constant(f.Default) {
		c.report(diag.New("bad-default", c.at(n), "a default is a constant").WithLabel("such as 0, \"none\", true or 5s"))
		return nil
	}
	o := scope{c: c}.check(f.Default)
	if k, ok := o.x.(*ir.Const); ok && k.T.Kind == ir.Timestamp && t.Kind == ir.Timestamp {
		return &ir.Const{Value: k.Value, T: t} // the unit is about reading and writing only
	}
	k, _ := c.fit(o, t, "the default of `"+f.Name.String()+"`").(*ir.Const)
	return k
}

func isNull(e syntax.Expr) bool {
	literal, ok := e.(*syntax.Literal)
	return ok && literal.Kind == "null"
}

// constant: a literal, perhaps with a sign, or a cast of one.
func constant(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Literal:
		return true
	case *syntax.Unary:
		return e.Op == "-" && constant(e.X)
	case *syntax.Call:
		ref, ok := e.Fun.(*syntax.Ref)
		return ok && ref.Name == "timestamp" && len(e.Args) == 1 && constant(e.Args[0].Value)
	}
	return false
}
