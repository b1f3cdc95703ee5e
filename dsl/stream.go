package dsl

import (
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// stream checks a stream behind those that it reads. via are the streams on the way to it.
func (c *checker) stream(s *streamInfo, via []*streamInfo) {
	switch s.state {
	case done:
		return
	case underWay:
		c.cycle(s, via)
		return
	}
	s.state = underWay
	via = append(via, s)
	d := s.decl
	s.out = &Stream{Name: d.Name.String(), Place: c.head(d.Node)}
	if d.Was != nil {
		c.notYet(d.Was.Node, "`was`, which carries state over a new name")
	}
	walk := &streamWalk{checker: c, s: s, of: s.out.Name}
	walk.row.open = true
	for _, clause := range d.Clauses {
		walk.clause(clause, via)
	}
	walk.finish()
	s.row = walk.row
	s.row.open = s.row.open || s.broken
	s.out.Row = s.row.row
	s.state = done
	c.prog.Streams = append(c.prog.Streams, s.out)
}

// cycle reports that a stream reads itself, at the stream that closes the circle.
func (c *checker) cycle(s *streamInfo, via []*streamInfo) {
	const most = 10 // more is not read
	circle := append(slices.Clone(via[slices.Index(via, s):]), s)
	var path []string
	for i, v := range circle[1:] {
		if i == most {
			path = append(path, "…")
			break
		}
		path = append(path, circle[i].out.Name+" reads "+v.out.Name)
	}
	last := via[len(via)-1]
	for _, clause := range last.decl.Clauses {
		from, ok := clause.(*syntax.From)
		if !ok {
			continue
		}
		for _, r := range from.Streams {
			if r.Name.String() == s.out.Name {
				c.report(diag.New("cycle", c.at(r.Node), "this stream reads itself").
					WithNote("%s", strings.Join(path, ", ")))
				return
			}
		}
	}
}

// streamWalk goes through the clauses of one stream.
type streamWalk struct {
	*checker
	s      *streamInfo
	row    shape  // as the last clause left it
	of     string // whose fields they are, for messages
	window *Window
	// waiting is the window's clause until its aggregate comes.
	waiting *syntax.Window
	keys    shape                // of the window
	left    []leaving            // clauses so far
	reached map[*sourceInfo]bool // those of s.sources
	lost    bool                 // a clause is not understood: nothing is known behind it
}

func (w *streamWalk) scope() scope {
	return scope{c: w.checker, row: w.row.row, open: w.row.open, of: w.of, left: w.left}
}

func (w *streamWalk) add(c Clause) {
	w.s.out.Clauses = append(w.s.out.Clauses, c)
}

func (w *streamWalk) clause(clause syntax.Clause, via []*streamInfo) {
	if _, isAggregate := clause.(*syntax.Aggregate); w.waiting != nil && !isAggregate && w.needAggregate(clause) {
		return
	}
	switch n := clause.(type) {
	case *syntax.From:
		w.from(n, via)
	case *syntax.Where:
		w.where(n)
	case *syntax.Let:
		w.let(n)
	case *syntax.Select:
		w.selected(n)
	case *syntax.Window:
		w.windowed(n)
	case *syntax.Aggregate:
		w.aggregate(n)
	case *syntax.To:
		w.to(n)
	default:
		w.notYet(clause.Span(), "`"+fullName(syntax.WordOf(clause))+"`")
		if _, ok := clause.(*syntax.GroupBy); ok {
			last := &w.diags[len(w.diags)-1]
			*last = last.WithHelp("rows are brought together by a window: `window tumbling 1m by user_id`")
		}
		w.lose()
	}
}

// fullName of a clause is its word with the one that belongs to it.
func fullName(word string) string {
	switch word {
	case "group", "latest", "dedup":
		return word + " by"
	case "left", "full":
		return word + " join"
	}
	return word
}

// lose says that nothing is known of the rows from here on.
func (w *streamWalk) lose() { w.row, w.lost = shape{open: true}, true }

func (w *streamWalk) finish() {
	if w.waiting != nil {
		w.needAggregate(nil)
	}
	if len(w.s.decl.Clauses) == 0 && !w.s.broken {
		w.errorf(w.s.decl.Name.Node, "clause-order", "a stream begins with `from`")
	}
}

func (w *streamWalk) where(n *syntax.Where) {
	sc := w.scope()
	cond := sc.condition(n.Cond, "a condition")
	proved, row, own := sc.proved(n.Cond, true), w.row.row, false
	for i := range row {
		if row[i].Type.Null && !row[i].Known && proved.has(i) {
			if !own {
				row, own = slices.Clone(row), true
			}
			row[i].Known = true
		}
	}
	w.row.row = row
	w.add(&Where{Place: w.place(n.Node), Cond: cond, Row: row})
}

func (w *streamWalk) let(n *syntax.Let) {
	row := shape{slices.Clip(w.row.row), w.row.open}
	out := &Let{Place: w.place(n.Node)}
	for _, item := range n.Items {
		sc := scope{c: w.checker, row: row.row, open: row.open, of: w.of}
		x := sc.value(item.Value)
		name, ok := w.itemName(item, true)
		if !ok {
			continue
		}
		w.append(&row, &out.Items, item, name, x)
	}
	out.Row, w.row = row.row, row
	w.add(out)
}

func (w *streamWalk) selected(n *syntax.Select) {
	var row shape
	out := &Select{Place: w.place(n.Node)}
	for _, item := range n.Items {
		x := w.scope().value(item.Value)
		if name, ok := w.itemName(item, false); ok {
			w.append(&row, &out.Items, item, name, x)
			row.open = row.open || w.misnamed(item, name)
		} else {
			row.open = true
		}
	}
	w.left = append(w.left, leaving{w.row.row, leftBySelect})
	out.Row, w.row, w.of = row.row, row, w.s.out.Name
	w.add(out)
}

// append adds a value to a row and to the items that make it.
func (w *streamWalk) append(row *shape, items *[]ir.Named, item *syntax.Item, name string, x ir.Expr) {
	f := ir.Field{Name: name}
	if x != nil {
		f.Type = x.Type()
	}
	at := item.Node
	if item.Name != nil {
		at = item.Name.Node
	}
	w.addField(row, f, at, anotherName)
	*items = append(*items, ir.Named{Name: name, Expr: x, Place: w.place(item.Node)})
}

// misnamed: the item is named by a field that is not there, so that its name is not what was meant.
func (w *streamWalk) misnamed(item *syntax.Item, name string) bool {
	return item.Name == nil && w.row.row.Index(name) < 0
}

// itemName is the name of an item: the one before `=`, else the field's.
func (w *streamWalk) itemName(item *syntax.Item, needed bool) (string, bool) {
	if item.Name != nil {
		return item.Name.String(), true
	}
	switch x := item.Value.(type) {
	case *syntax.Ref:
		if !needed {
			return x.Name, true
		}
	case *syntax.Dot:
		if !needed {
			return x.Name.String(), true
		}
	case *syntax.List:
		return "", false // that it is one has been reported
	}
	w.report(diag.New("unnamed", w.at(item.Node), "this value has no name").
		WithLabel("`name = %s`", w.file.Line(item.Node)))
	return "", false
}

func (w *streamWalk) to(n *syntax.To) {
	out := &To{Place: w.place(n.Node), Row: w.row.row}
	var condition bool
	var otherwise *syntax.Route
	seen := map[*sinkInfo]*syntax.Route{}
	for _, r := range n.Routes {
		route := Route{Else: r.Else, Place: w.place(r.Node)}
		if r.If != nil {
			condition = true
			route.If = w.scope().condition(r.If, "what stands behind `if`")
		}
		if r.Else {
			otherwise = r
		}
		sink := w.target(r.Target)
		if sink == nil {
			continue
		}
		if first := seen[sink]; first != nil {
			w.report(diag.New("repeated-target", w.at(r.Node), "`%s` is a target of this clause already", sink.out.Name).
				WithRelated(w.at(first.Node), "here").WithHelp("one target has one condition: join them with `||`"))
			continue
		}
		seen[sink] = r
		w.feed(sink, w.row, r.Node, "the rows of "+w.s.out.Name, w.left)
		route.Sink = sink.out
		out.Routes = append(out.Routes, route)
	}
	if otherwise != nil && !condition {
		w.report(diag.New("else-without-if", w.at(otherwise.Node), "`else` takes the rows for which no `if` holds, and there is none").
			WithHelp("give another target an `if`, or leave out the `else`"))
	}
	w.add(out)
}
