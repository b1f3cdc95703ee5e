package codegen

import (
	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// aggregate is one item of an aggregate clause.
type aggregate struct {
	ir.Aggregate
	at    itemPlace // what a comment about it names
	name  string    // of its variable, where it needs one
	arg   *inputField
	state []stateField
}

// stateField is a field of a window's state.
type stateField struct {
	name  string
	typ   *jen.Statement
	note  string
	codec string // AppendState…, ReadState…
	null  bool   // it is an rt.Opt
}

func (w *window) newAggregate(of ir.Aggregate, at itemPlace) *aggregate {
	a := &aggregate{Aggregate: of, at: at, name: unexported(of.Name)}
	if e := argument(of); e != nil {
		a.arg = w.inputOf(e, unexported(of.Name), at)
	}
	field := func(suffix string, t *jen.Statement, codec, note string, null bool) {
		if null {
			t = rt("Opt").Types(t)
		}
		a.state = append(a.state, stateField{w.stateFields.member(a.name + suffix), t, note, codec, null})
	}
	switch of.Func {
	case ir.Count:
		field("", jen.Int64(), "Int", aggregateText(of), false)
	case ir.Sum:
		sum, codec := accumulator(a.arg.typ)
		field("", sum, codec, note(aggregateText(of), unitNote(of.T)), a.arg.typ.Null)
	case ir.Avg:
		sum, codec := accumulator(a.arg.typ)
		field("Sum", sum, codec, note(aggregateText(of), unitNote(a.arg.typ)), false)
		field("Count", jen.Int64(), "Int", "", false)
	case ir.Min, ir.Max:
		t := a.arg.typ.NonNull()
		field("", goType(t), stateCodec(t), note(aggregateText(of), unitNote(of.T)), true)
	default:
		panic(bugf("aggregate %s", of.Func))
	}
	return a
}

// argument is what a row adds, computed before the exchange: the value, null where the row does not count;
// of count, whether it counts. Nil: every row counts.
func argument(a ir.Aggregate) ir.Expr {
	e := a.Arg
	if a.Func == ir.Count {
		if e != nil {
			e = &ir.IsNull{Neg: true, X: nullable(e)}
		}
		if a.If != nil && e != nil {
			e = &ir.Logic{L: a.If, R: e}
		} else if a.If != nil {
			e = a.If
		}
		if e == nil || isTruth(simplify(e), true) {
			return nil
		}
		return simplify(e)
	}
	if a.If != nil {
		t := e.Type().Nullable()
		e = &ir.Cond{If: a.If, Then: nullable(e), Else: &ir.Const{T: t}, T: t}
	}
	return simplify(e)
}

// nullable is e as a T?.
func nullable(e ir.Expr) ir.Expr { return cast(e, e.Type().Nullable()) }

// inputOf is the field for e: one that another aggregate has already, or a new one named after the column
// or the aggregate.
func (w *window) inputOf(e ir.Expr, name string, at itemPlace) *inputField {
	for i := range w.inputs {
		if same(w.inputs[i].expr, e) {
			return w.inputs[i]
		}
	}
	if col, ok := e.(*ir.Column); ok {
		name = unexported(col.Name)
	}
	w.inputs = append(w.inputs, &inputField{w.inputNames.member(name), e, e.Type(), at})
	return w.inputs[len(w.inputs)-1]
}

// aggregateText is the call as it stands in the .eo file, without its condition.
func aggregateText(a ir.Aggregate) string {
	switch e := a.Arg.(type) {
	case nil:
		return string(a.Func) + "()"
	case *ir.Column:
		return string(a.Func) + "(" + oneLine(e.Name) + ")"
	}
	return string(a.Func)
}

func note(text, unit string) string {
	if unit == "" {
		return text
	}
	return text + ", " + unit
}

// accumulator is the type in which values of t are summed up: wide enough for any number of rows.
func accumulator(t ir.Type) (typ *jen.Statement, codec string) {
	switch {
	case t.Kind == ir.Float:
		return jen.Float64(), "Float"
	case t.Wide():
		return rt("Int192"), "Int192"
	case t.Kind == ir.Int || t.Kind == ir.Decimal:
		return rt("Int128"), "Int128"
	}
	panic(bugf("sum of %s", t))
}

// stateCodec names the codec of a value of t.
func stateCodec(t ir.Type) string {
	switch {
	case t.Wide():
		return "Int128"
	case t.Kind == ir.Float:
		return "Float"
	case t.Kind == ir.Timestamp || t.Kind == ir.Duration:
		return "Time"
	case t.Kind == ir.Bool:
		return "Bool"
	case t.Kind == ir.String:
		panic(bugf("%s in the state of a window", t))
	}
	return "Int"
}

// fold adds the row `in` to the state `s`.
func (a *aggregate) fold(c *code) {
	s := func(i int) *jen.Statement { return jen.Id("s").Dot(a.state[i].name) }
	if a.arg == nil {
		c.add(s(0).Op("++"))
		return
	}
	in := name("in").dot(a.arg.name)
	v := in
	if a.arg.typ.Null {
		v = in.dot("V")
	}
	var body []jen.Code
	switch a.Func {
	case ir.Count:
		c.add(jen.If(in.code).Block(s(0).Op("++")))
		return
	case ir.Sum:
		if a.state[0].null {
			body = append(body, accumulate(s(0).Dot("V"), a.arg.typ, v), s(0).Dot("OK").Op("=").True())
		} else {
			body = append(body, accumulate(s(0), a.arg.typ, v))
		}
	case ir.Avg:
		body = append(body, accumulate(s(0), a.arg.typ, v), s(1).Op("++"))
	case ir.Min, ir.Max:
		c.add(a.foldExtreme(in, v))
		return
	}
	if a.arg.typ.Null {
		c.add(jen.If(in.dot("OK").code).Block(body...))
		return
	}
	c.add(body...)
}

func accumulate(sum *jen.Statement, t ir.Type, v value) jen.Code {
	if t.Kind == ir.Float {
		return sum.Op("+=").Add(v.code)
	}
	return sum.Dot("Add").Call(v.code)
}

// foldExtreme keeps the least or greatest value so far.
func (a *aggregate) foldExtreme(in, v value) jen.Code {
	s := name("s").dot(a.state[0].name)
	t := a.arg.typ.NonNull()
	better := compareValues(pick(a.Func == ir.Min, ir.Lt, ir.Gt), v, t, s.dot("V"), t)
	cond := binary(negation(s.dot("OK")), "||", better, precOr)
	next := some(v, t)
	if a.arg.typ.Null {
		cond = binary(in.dot("OK"), "&&", cond, precAnd)
		next = in
	}
	return jen.If(cond.code).Block(jen.Add(s.code).Op("=").Add(next.code))
}

// result is the value of the aggregate in the state `s` of a closed window. It uses Calc where the
// value may not fit its type.
func (a *aggregate) result(c *chain) value {
	s := name("s").dot(a.state[0].name)
	switch a.Func {
	case ir.Count:
		return s
	case ir.Min, ir.Max:
		if a.arg.typ.Null {
			return s
		}
		return s.dot("V")
	case ir.Sum:
		if a.arg.typ.Kind == ir.Decimal && !a.arg.typ.Wide() {
			return s
		}
	}
	c.placeItem(a.at)
	n := c.locals.take(a.name)
	if !a.arg.typ.Null {
		c.add(jen.Id(n).Op(":=").Add(a.judge(c.code, s).code))
		return name(n)
	}
	cond := s.dot("OK")
	if a.Func == ir.Avg {
		cond = binary(name("s").dot(a.state[1].name), ">", intLit(0), precCompare)
	} else {
		s = s.dot("V")
	}
	c.add(
		jen.Var().Id(n).Add(goType(a.T)),
		jen.If(cond.code).Block(jen.Id(n).Op("=").Add(some(a.judge(c.code, s), a.T).code)),
	)
	return name(n)
}

// judge turns a sum, or the sum of an average, into the result.
func (a *aggregate) judge(c *code, sum value) value {
	call := c.scratch
	if planner.CanOverflow(a.Aggregate) {
		call = c.calc
	}
	t := a.arg.typ.NonNull()
	if a.Func == ir.Sum {
		switch {
		case t.Kind == ir.Float:
			return call("Finite", sum.code)
		case t.Kind == ir.Int:
			return call("IntOf128", sum.code)
		}
		return call("Fits192", sum.code, jen.Lit(a.T.Precision))
	}
	count := name("s").dot(a.state[1].name)
	switch t.Kind {
	case ir.Float:
		return call("Finite", jen.Add(sum.code).Op("/").Float64().Call(count.code))
	case ir.Int:
		return callRT("AvgInt", sum.code, count.code)
	}
	return call("AvgDecimal"+pick(t.Wide(), "192", ""), sum.code, count.code, jen.Lit(t.Scale), jen.Lit(a.T.Scale))
}
