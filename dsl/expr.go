package dsl

import (
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// scope is where an expression stands: the row whose fields it sees.
type scope struct {
	c    *checker
	row  ir.Row
	open bool   // there may be any other field
	of   string // whose fields they are
	// known are fields that are not null here, beside those that row says.
	known facts
	// left are clauses that have left fields behind, for messages.
	left []leaving
	// besideText: what is checked is compared with a text.
	besideText bool
}

// leaving is a clause behind which fields of the row in front of it are no more.
type leaving struct {
	row  ir.Row
	help string // with the field for %s
}

const (
	leftBySelect    = "behind `select` only its own fields are left: add `%s` to it"
	leftByAggregate = "behind `aggregate` only keys and results are left: add `%s` to the keys, or aggregate it"
)

// check types an expression.
func (s scope) check(e syntax.Expr) operand {
	n := e.Span()
	if s.c.enough() {
		return operand{node: n}
	}
	switch e := e.(type) {
	case *syntax.Ref:
		return s.ref(e)
	case *syntax.Literal:
		return s.literal(e)
	case *syntax.Unary:
		return s.unary(e)
	case *syntax.Binary:
		return s.binary(e)
	case *syntax.IsNull:
		return s.isNull(e)
	case *syntax.If:
		return s.conditional(e)
	case *syntax.Dot:
		return s.dot(e)
	case *syntax.Call:
		return s.call(e)
	case *syntax.Index:
		if dot, ok := e.X.(*syntax.Dot); ok {
			return s.check(dot)
		}
		s.c.notYet(n, "an index")
	case *syntax.List:
		s.c.notYet(n, "a list outside of `in`")
	case *syntax.Record:
		s.c.notYet(n, "a record")
	}
	return operand{node: n}
}

// value types an expression that must have a type of its own.
func (s scope) value(e syntax.Expr) ir.Expr { return s.c.typed(s.check(e)).x }

// condition types a bool.
func (s scope) condition(e syntax.Expr, what string) ir.Expr {
	o := s.check(e)
	if o.bad() {
		return nil
	}
	switch {
	case o.null:
		s.c.nonNull(o)
		return nil
	case o.x == nil || o.typ().Kind != ir.Bool:
		d := diag.New("type-mismatch", s.c.at(o.node), "%s is true or false, this is %s", what, o).
			WithLabel("compare it with something")
		if o.typ().Kind == ir.String && strings.Contains(what, "||") {
			d = d.WithHelp("`||` is the or of conditions; %s", joinedTexts)
		}
		s.c.report(d)
		return nil
	}
	return s.c.nonNullOr(o, s.c.eitherNull).x
}

func (s scope) ref(e *syntax.Ref) operand {
	bad := operand{node: e.Node}
	if e.Name == "kafka" && !e.Quoted {
		s.c.notYet(e.Node, "record metadata (`kafka.…`)")
		return bad
	}
	i := s.row.Index(e.Name)
	if i < 0 {
		if !s.open {
			d := diag.New("unknown-field", s.c.at(e.Node), "`%s` is not a field of %s", e.Name, s.of).
				DidYouMean(e.Name, names(s.row))
			if meant := wordHabits[strings.ToLower(e.Name)]; meant != "" && !e.Quoted {
				d = d.WithLabel("%s", meant)
			} else if s.besideText && !e.Quoted {
				d = d.WithLabel("if it is a text, it stands in quotes: %q", e.Name)
			}
			if len(s.row) > 0 {
				d = d.WithNote("here: %s", fields(s.row))
			}
			for _, clause := range slices.Backward(s.left) {
				if clause.row.Index(e.Name) >= 0 {
					d = d.WithHelp(clause.help, e.Name)
					break
				}
			}
			s.c.report(d)
		}
		return bad
	}
	f := s.row[i]
	if f.Type.Kind == 0 {
		return bad
	}
	var x ir.Expr = &ir.Column{Index: i, Name: f.Name, T: f.Type}
	if f.Type.Null && (f.Known || s.known.has(i)) {
		x = &ir.Known{X: x}
	}
	return operand{x: x, node: e.Node}
}

func (s scope) literal(e *syntax.Literal) operand {
	o := operand{node: e.Node}
	switch e.Kind {
	case "null":
		o.null = true
	case "bool":
		o.x = &ir.Const{Value: e.Text == "true", T: ir.Type{Kind: ir.Bool}}
	case "string":
		o.x = &ir.Const{Value: e.Text, T: ir.Type{Kind: ir.String}}
	case "duration":
		us, ok := parseDuration(e.Text)
		if !ok {
			s.c.errorf(e.Node, "literal-range", "`%s` is longer than 292 years, the longest duration", e.Text)
			break
		}
		o.x = &ir.Const{Value: us, T: ir.Type{Kind: ir.Duration}}
	case "number":
		l, ok := parseLiteral(e.Text)
		if !ok {
			s.c.tooBig(e.Node)
			break
		}
		o.lit = &l
	}
	return o
}

func (s scope) unary(e *syntax.Unary) operand {
	bad := operand{node: e.Node}
	if e.Op == "!" {
		x := s.condition(e.X, "what `!` turns")
		if x == nil {
			return bad
		}
		return operand{x: &ir.Not{X: x}, node: e.Node}
	}
	o := s.c.nonNull(s.check(e.X))
	switch k := o.typ().Kind; {
	case o.bad():
		return bad
	case o.lit != nil:
		l := o.lit.negated()
		return operand{lit: &l, node: e.Node}
	case k == ir.Duration:
		if d, ok := o.x.(*ir.Const); ok {
			return operand{x: &ir.Const{Value: -d.Value.(int64), T: d.T}, node: e.Node}
		}
	case !isNumber(o.typ()):
		s.c.errorf(e.Node, "type-mismatch", "`-` turns numbers and durations, this is %s", o)
		return bad
	}
	return operand{x: &ir.Neg{X: o.x}, node: e.Node}
}

func (s scope) binary(e *syntax.Binary) operand {
	switch e.Op {
	case "&&", "||":
		return s.logic(e)
	case "??":
		return s.coalesce(e)
	case "in", "not in":
		return s.in(e)
	case "like", "not like":
		s.c.notYet(e.Node, "`like`")
		return operand{node: e.Node}
	case "+", "-", "*", "/", "%":
		return s.arithmetic(e)
	}
	return s.compare(e)
}

// logic: the right side of && is only reached when the left holds, that of || when it does not.
func (s scope) logic(e *syntax.Binary) operand {
	o, _ := s.chained(e)
	return o
}

// chained is logic, with the scope of what is reached when every operand so far holds, or fails. Of a && b && c it
// looks at each operand once: what a && b proves is known when c is looked at.
func (s scope) chained(e *syntax.Binary) (operand, scope) {
	side := "a side of `" + e.Op + "`"
	var l ir.Expr
	behind := s
	if inner, ok := e.L.(*syntax.Binary); ok && inner.Op == e.Op {
		if !s.c.enough() {
			var o operand
			o, behind = s.chained(inner)
			l = o.x
		}
	} else {
		l, behind = s.condition(e.L, side), s.after(e.L, e.Op == "&&")
	}
	r := behind.condition(e.R, side)
	behind = behind.after(e.R, e.Op == "&&")
	if l == nil || r == nil {
		return operand{node: e.Node}, behind
	}
	return operand{x: &ir.Logic{Or: e.Op == "||", L: l, R: r}, node: e.Node}, behind
}

func (s scope) compare(e *syntax.Binary) operand {
	bad := operand{node: e.Node}
	l := s.check(e.L)
	if _, ok := e.R.(*syntax.Ref); ok && !l.bad() && !l.null {
		s.besideText = l.typ().Kind == ir.String
	}
	r := s.check(e.R)
	if l.bad() || r.bad() {
		return bad
	}
	if l.null != r.null && (e.Op == "==" || e.Op == "!=") {
		s.c.equalsNull(e, l, r)
		return bad
	}
	help := s.c.whereNull
	if l.typ().Null != r.typ().Null { // with two of them it would be true or false in too many ways
		help = s.c.decidedNull(e.Node)
	}
	l, r = s.c.nonNullOr(l, help), s.c.nonNullOr(r, help)
	if l.bad() || r.bad() {
		return bad
	}
	t := s.c.common(e.Node, l, r)
	if t.Kind == 0 {
		return bad
	}
	op := ir.CompareOp(e.Op)
	if t.Kind == ir.Bool && op != ir.Eq && op != ir.Ne {
		s.c.errorf(e.Node, "type-mismatch", "true and false have no order: `%s` does not compare them", e.Op)
		return bad
	}
	return operand{x: &ir.Compare{Op: op, L: l.convert(t), R: r.convert(t)}, node: e.Node}
}

func (s scope) in(e *syntax.Binary) operand {
	bad := operand{node: e.Node}
	x := s.check(e.L)
	list, ok := e.R.(*syntax.List)
	if l, isLiteral := e.R.(*syntax.Literal); isLiteral {
		s.c.report(diag.New("type-mismatch", s.c.at(l.Node), "`%s` looks in a list, this is one value", e.Op).
			WithLabel("write `[%s]`", s.c.file.Line(l.Node)))
		return bad
	}
	if !ok {
		s.c.notYet(e.R.Span(), "`in` with anything but a list in brackets")
		return bad
	}
	if len(list.Items) == 0 {
		s.c.errorf(list.Node, "empty-list", "nothing is in an empty list")
		return bad
	}
	ops := []operand{x}
	for _, item := range list.Items {
		ops = append(ops, s.check(item))
	}
	for i := range ops {
		if ops[i].bad() {
			return bad
		}
		help := s.c.whereNull
		if i == 0 {
			help = s.c.decidedNull(e.Node)
		}
		if ops[i] = s.c.nonNullOr(ops[i], help); ops[i].bad() {
			return bad
		}
	}
	t := s.c.common(e.Node, ops...)
	if t.Kind == 0 {
		return bad
	}
	in := &ir.In{Neg: e.Op == "not in", X: ops[0].convert(t)}
	for _, o := range ops[1:] {
		in.List = append(in.List, o.convert(t))
	}
	return operand{x: in, node: e.Node}
}

// dot: there are no records yet, so this is metadata, or the name of a stream in front of a field.
func (s scope) dot(e *syntax.Dot) operand {
	bad := operand{node: e.Node}
	ref, ok := e.X.(*syntax.Ref)
	if !ok {
		s.check(e.X)
		return bad
	}
	i := s.row.Index(ref.Name)
	switch {
	case ref.Name == "kafka" && !ref.Quoted:
		s.c.notYet(e.Node, "record metadata (`kafka.…`)")
	case i >= 0 && s.row[i].Type.Kind != 0:
		d := diag.New("type-mismatch", s.c.at(e.Node), "`%s` is %s, it has no fields", ref.Name, s.row[i].Type)
		if s.row[i].Type.Kind == ir.Timestamp {
			d = d.WithHelp("parts of a time are not in this version of eoc yet; a window such as `tumbling 1h` brings together what lies in one hour")
		}
		s.c.report(d)
	case i < 0 && s.c.isInput(ref.Name):
		s.c.report(diag.New("unknown-field", s.c.at(e.Node), "`%s` is what is read, not a field", ref.Name).
			WithHelp("a field stands alone: `%s`", e.Name))
	case i < 0 && !s.open && s.row.Index(e.Name.String()) >= 0:
		s.c.report(diag.New("unknown-field", s.c.at(e.Node), "`%s` is not a field of %s", ref.Name, s.of).
			WithLabel("a field stands alone: `%s`", e.Name))
	default:
		s.check(ref)
	}
	return bad
}

func (c *checker) isInput(name string) bool { return c.sources[name] != nil || c.streams[name] != nil }

// functions of the language that this version does not have.
var functions = strings.Fields(`lower upper trim split substr replace length starts_with contains regexp_extract
	regexp_matches concat format time year month day hour date date_trunc format_time parse_time abs round floor ceil pow
	sqrt hash md5 sha256 json`)

// aggregates of the language, and those of this version.
var (
	aggregates     = strings.Fields("count sum min max avg first last any stddev approx_distinct percentile collect")
	aggregatesHere = aggregates[:5]
)

var casts = strings.Fields("int float string decimal timestamp")

func (s scope) call(e *syntax.Call) operand {
	bad := operand{node: e.Node}
	fun, ok := e.Fun.(*syntax.Ref)
	if !ok {
		s.packaged(e)
		return bad
	}
	switch {
	case slices.Contains(casts, fun.Name):
		return s.cast(e, fun.Name)
	case slices.Contains(aggregates, fun.Name):
		s.c.report(diag.New("aggregate-place", s.c.at(e.Node), "`%s` is an aggregate: it stands in `aggregate`, behind a window", fun.Name).
			WithLabel("`aggregate name = %s`", s.c.file.Line(e.Node)))
	case slices.Contains(functions, fun.Name):
		d := diag.New("not-yet", s.c.at(e.Node), "the function `%s` is not in this version of eoc yet", fun.Name)
		if fun.Name == "round" {
			d = d.WithHelp("`decimal(x, 38, 2)` rounds to two digits, half-even")
		}
		s.c.report(d)
	default:
		d := diag.New("unknown-function", s.c.at(fun.Node), "`%s` is not a function", fun.Name)
		if here := functionHabits[strings.ToLower(fun.Name)]; here != "" {
			d = d.WithHelp("%s", here)
		} else {
			d = d.DidYouMean(fun.Name, casts)
		}
		s.c.report(d.WithNote("here: %s", strings.Join(casts, " · ")))
	}
	return bad
}
