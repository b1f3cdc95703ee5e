package dsl

import (
	"slices"
	"time"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// leastWindow: the time of a result is its window's end - 1 ms, which must lie inside.
const leastWindow = time.Millisecond

func (w *streamWalk) windowed(n *syntax.Window) {
	if w.lost || w.window != nil {
		return
	}
	if kind := n.Kind.String(); kind != "tumbling" {
		if slices.Contains([]string{"hopping", "cumulate", "session", "sliding", "same"}, kind) {
			w.report(diag.New("not-yet", w.at(n.Node), "a %s window is not in this version of eoc yet", kind).WithNote("here: tumbling"))
		}
		w.lose()
		return
	}
	out := &Window{Place: w.place(n.Node), Row: w.row.row}
	w.window, w.waiting = out, n
	if n.Size == nil || n.Size.Text == "all" {
		w.report(diag.New("bad-window", w.at(n.Kind.Node), "a tumbling window has a size").WithLabel("as in `tumbling 1m`"))
	} else {
		out.Size, _ = w.duration(n.Size.Node, n.Size.Text, "the size of a window", leastWindow, longest)
	}
	for _, o := range n.Options {
		w.windowOption(out, n, o)
	}
	w.needWatermark(n)
	w.add(out)
}

func (w *streamWalk) windowOption(out *Window, n *syntax.Window, o *syntax.WindowOption) {
	switch {
	case o.By != nil:
		w.by(out, o.By)
	case o.Offset != nil:
		if out.Offset, _ = w.duration(o.Offset.Node, o.Offset.Text, "`offset`", 0, longest); out.Size > 0 && out.Offset >= out.Size {
			w.errorf(o.Offset.Node, "out-of-range", "the offset is less than the size of the window, %s", durationText(out.Size))
		}
	case o.Grace != nil:
		out.Grace, _ = w.duration(o.Grace.Node, o.Grace.Text, "`grace`", 0, longest)
	case o.Late != nil:
		w.late(out, o)
	case o.Every != nil || o.Max != nil:
		w.report(diag.New("bad-window", w.at(o.Node), "a tumbling window has no `%s`", o.Word()).
			WithHelp("`hopping 5m every 1m` and `session 10m max 1h` have"))
	default: // zone, early
		w.notYet(o.Node, "`"+o.Word()+"` of a window")
	}
}

// by reads the keys. Fields of these names begin the result.
func (w *streamWalk) by(out *Window, items []*syntax.Item) {
	row := &w.keys
	for _, item := range items {
		x := w.scope().value(item.Value)
		name, ok := w.itemName(item, false)
		if !ok {
			row.open = true
			continue
		}
		row.open = row.open || w.misnamed(item, name)
		if x != nil && w.floatKey(item.Node, x.Type()) {
			x = nil
		}
		w.append(row, &out.By, item, name, x)
	}
}

// late reads `late to`: a sink that gets the rows as they reached the clause.
func (w *streamWalk) late(out *Window, o *syntax.WindowOption) {
	out.LatePlace = w.place(o.Node)
	if ref, ok := o.Late.Sink.(*syntax.Ref); ok && w.sinks[ref.Name] == nil && w.streams[ref.Name] == nil &&
		w.sources[ref.Name] == nil && w.isRead(ref.Name) {
		w.notYet(o.Node, "`late to` a new stream")
		return
	}
	if sink := w.target(o.Late); sink != nil {
		out.Late = sink.out
		w.feed(sink, w.row, o.Node, "the late rows of "+w.s.out.Name, w.left)
	}
}

// needWatermark: without one on every source that reaches it a window would never close. The
// first window says so for all behind the source.
func (w *streamWalk) needWatermark(n *syntax.Window) {
	for _, s := range w.s.sources {
		if s.out.HasWatermark || s.asked || w.file.Broken[s.decl] {
			continue
		}
		s.asked = true
		at := w.at(n.Node)
		at.Length = len("window")
		w.report(diag.New("no-watermark", at, "a window needs to know when it is complete, and `%s` has no watermark", s.out.Name).
			WithRelated(w.span(s.out.Place), "`%s` is declared here", s.out.Name).
			WithHelp("say there how far out of order its records are: `watermark 5s`"))
	}
}

// needAggregate reports a window that next follows instead of its aggregate; meant says that next is one with the wrong word.
func (w *streamWalk) needAggregate(next syntax.Clause) (meant bool) {
	n := w.waiting
	w.waiting = nil
	if w.s.broken {
		return false // it may be in the part that is not understood
	}
	folds := func(i *syntax.Item) bool { return isAggregate(i.Value) }
	at := w.at(n.Node)
	at.Length = len("window")
	switch next := next.(type) {
	case *syntax.Top: // a window followed by top is not compiled yet
	case *syntax.Select:
		if meant = slices.ContainsFunc(next.Items, folds); meant {
			word := w.at(next.Node)
			word.Length = len("select")
			w.report(diag.New("bad-window", word, "`select` has no aggregates").
				WithLabel("behind a window write `aggregate`; its keys are in the results without being named"))
			break
		}
		w.notAggregated(at)
	default:
		w.notAggregated(at)
	}
	w.lose()
	return meant
}

func (w *streamWalk) notAggregated(at diag.Span) {
	w.report(diag.New("bad-window", at, "`aggregate` follows a window directly").
		WithHelp("say what to calculate for each window: `aggregate n = count()`; `where` and `let` stand before the window or behind the aggregate"))
}

func (w *streamWalk) aggregate(n *syntax.Aggregate) {
	if w.lost {
		return
	}
	at := w.at(n.Node)
	at.Length = len("aggregate")
	if w.waiting == nil {
		if w.window == nil {
			w.report(diag.New("bad-window", at, "`aggregate` stands behind a window").
				WithHelp("say which rows belong together: `window tumbling 1m by key`"))
		}
		w.lose()
		return
	}
	w.waiting = nil
	row := shape{slices.Clone(w.keys.row), w.keys.open}
	instant := ir.Type{Kind: ir.Timestamp}
	for _, name := range []string{"window_start", "window_end"} {
		w.addField(&row, ir.Field{Name: name, Type: instant}, n.Node, anotherName)
	}
	out := &Aggregate{Place: w.place(n.Node)}
	for _, item := range n.Items {
		w.fold(&row, out, item)
	}
	w.left = append(w.left, leaving{w.row.row, leftByAggregate})
	out.Row, w.row, w.of = row.row, row, w.s.out.Name
	w.s.out.Windowed = true
	w.add(out)
}
