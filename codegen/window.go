package codegen

import (
	"cmp"

	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// window is a tumbling window with its aggregates.
type window struct {
	stream *stream
	node   *planner.Node
	op     *planner.Window

	field                  string // of pipeline
	fold, close            string // methods of pipeline
	input, state           string // types
	appendState, readState string
	readKey                string // takes a key apart; "" for one string, whose bytes are the key
	keyName                string // variable of the bytes of the key

	inputs                  []*inputField
	aggregates              []*aggregate
	inputNames, stateFields scope

	reject   string // method that refuses a result whose aggregate fails; "" if none can
	rejected []*rejected
}

// inputField is what a row adds to its window: the argument of an aggregate, or a condition.
type inputField struct {
	name string
	expr ir.Expr // simplified
	typ  ir.Type
	at   itemPlace // of the first aggregate that needs it
}

func newWindow(s *stream, n *planner.Node, op *planner.Window) *window {
	return &window{stream: s, node: n, op: op, inputNames: newScope(), stateFields: newScope()}
}

// exchange is the node in front of the window.
func (w *window) exchange() *planner.Node { return w.node.In[0] }

// name deals the names, before those of streams that are written behind this one.
func (w *window) name() {
	p, s := w.stream.program, w.stream.name
	w.field = p.members.member(unexported(s))
	w.fold = p.members.member("fold" + exported(s))
	w.close = p.members.member("close" + exported(s))
	w.input = p.names.take(unexported(s) + "Input")
	w.state = p.names.take(unexported(s) + "State")
	w.appendState = p.names.take("append" + exported(s) + "State")
	w.readState = p.names.take("read" + exported(s) + "State")
	if len(w.op.By) > 0 && !w.plainKey() {
		w.readKey = p.names.take("read" + exported(s) + "Key")
	}
}

func (w *window) resolve() {
	at := clause{at: w.op.AggregatePlace}
	for _, a := range w.op.Aggregates {
		at.items = append(at.items, a.Place)
	}
	for i, a := range w.op.Aggregates {
		w.aggregates = append(w.aggregates, w.newAggregate(a, at.of(i)))
	}
}

// plainKey reports whether the key is one string that is never null.
func (w *window) plainKey() bool {
	return len(w.op.By) == 1 && w.op.By[0].Expr.Type() == ir.Type{Kind: ir.String}
}

// addToWindow writes the end of the way of a record: the key, what it adds, and where it goes if
// it is late. Whatever can fail does so here, before the exchange.
func (c *chain) addToWindow(exchange *planner.Node) {
	w := c.program.streamOf[exchange.Stream].window
	input := c.windowInput(w)
	c.place(exchange.Place)
	key := c.windowKey(w)
	c.check(w.node, c.present())
	add := jen.Id("p").Dot(w.field).Dot("Add").Call(jen.Id("in"), key, c.time(), input)
	for _, e := range w.node.Out {
		if e.Kind == planner.Late {
			c.said.at = e.Clause
			add = jen.If(jen.Op("!").Add(add)).Block(c.pass(e))
		}
	}
	c.add(add)
}

// windowInput is the literal of what the row adds.
func (c *chain) windowInput(w *window) jen.Code {
	var values []jen.Code
	for _, f := range w.inputs {
		if !isPlace(f.expr) {
			c.placeItem(f.at)
		}
		values = append(values, c.item(f.name, f.expr).code)
	}
	if len(values) <= 2 {
		return jen.Id(w.input).Values(values...)
	}
	for i, f := range w.inputs {
		values[i] = entry(f.name, values[i])
	}
	return jen.Id(w.input).Add(multiline(values))
}

func (w *window) printTypes(f *jen.File) {
	s := w.stream
	p := s.program
	var lines []jen.Code
	for _, in := range w.inputs {
		lines = append(lines, noted(jen.Id(in.name).Add(goType(in.typ)), unitNote(in.typ)))
	}
	f.Comment("// " + w.input + " is what " + a(s.record.noun) + " adds to its window.")
	f.Type().Id(w.input).Struct(lines...).Line()

	lines = nil
	for _, a := range w.aggregates {
		for _, sf := range a.state {
			lines = append(lines, noted(jen.Id(sf.name).Add(sf.typ), sf.note))
		}
	}
	f.Comment("// " + w.state + " is what is kept for " + w.keyPhrase() + " in one window (" + p.place(w.op.AggregatePlace) + ").")
	f.Type().Id(w.state).Struct(lines...).Line()
}

func noted(line *jen.Statement, note string) *jen.Statement {
	if note != "" {
		line.Comment("// " + note)
	}
	return line
}

func (w *window) keyPhrase() string {
	switch len(w.op.By) {
	case 0:
		return "all rows"
	case 1:
		return "one " + phrase(w.op.By[0].Name)
	}
	return "one key"
}

func (w *window) print(f *jen.File) {
	w.printFold(f)
	w.printClose(f)
	if w.readKey != "" {
		w.printReadKey(f)
	}
	if w.reject != "" {
		w.printRejectAggregate(f)
	}
	for _, r := range w.rejected {
		w.printRejectRow(f, r)
	}
	w.printCodec(f)
}

func (w *window) printFold(f *jen.File) {
	p := w.stream.program
	c := &code{program: p, locals: p.names.inner("p", "s", "in")}
	for _, a := range w.aggregates {
		c.placeItem(a.at)
		a.fold(c)
	}
	vars := jen.List(jen.Id("s"), jen.Id("in"))
	if len(w.inputs) == 0 {
		vars = jen.Id("s")
	}
	f.Comment("// " + w.fold + " adds the rows of a batch to the states of their windows.")
	f.Add(method(w.fold).Block(
		jen.For(vars.Op(":=").Range().Id("p").Dot(w.field).Dot("Pending").Call()).Block(c.list...)))
	f.Line()
}

// pane is the type of the window as the runtime keeps it.
func (w *window) pane() *jen.Statement { return jen.Op("*").Add(rt("Pane")).Types(jen.Id(w.state)) }

// printClose prints the loop over a closed window, with the clauses behind the aggregate.
func (w *window) printClose(f *jen.File) {
	p := w.stream.program
	c := &chain{code: &code{program: p, locals: p.names.inner("p", "w", "s", "key")}, row: w.node.Row, window: w}
	c.time = func() jen.Code { return jen.Id("w").Dot("End").Op("-").Add(rt("Millisecond")) }
	live := p.live[w.node]
	c.columns = make([]value, len(w.node.Row))
	key := w.readKeys(c, live)
	at := len(w.op.By)
	c.columns[at] = name("w").dot("Start")
	c.columns[at+1] = name("w").dot("End")
	state := false
	for i, a := range w.aggregates {
		switch {
		case live[at+2+i]:
			c.columns[at+2+i] = a.result(c)
			state = true
		case planner.CanOverflow(a.Aggregate): // whether it fits is judged all the same
			c.add(jen.Id("_").Op("=").Add(a.result(c).code))
			state = true
		}
	}
	c.check(w.node, c.present())
	c.send(w.node)

	f.Comment("// " + w.close + " sends the results of a window that has closed.")
	f.Add(method(w.close, jen.Id("w").Add(w.pane())).Block(overAll(key, state).Block(c.list...)))
	f.Line()
}

// overAll is the head of the loop over a closed window, with the variables that are used.
func overAll(key string, state bool) *jen.Statement {
	all := jen.Range().Id("w").Dot("All").Call()
	switch {
	case state:
		return jen.For(jen.List(jen.Id(cmp.Or(key, "_")), jen.Id("s")).Op(":=").Add(all))
	case key != "":
		return jen.For(jen.Id(key).Op(":=").Add(all))
	}
	return jen.For(all)
}
