package planner

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/internal/ir"
)

// state writes down what the contents of a checkpoint mean, and nothing else: an edit that leaves
// the forms as they are keeps the state, any other is refused.
//
//   - A window's is its size, offset and grace (which windows are closed follows from it), the sources that
//     reach it, its keys and its aggregates, both in terms of the sources' fields: a let may be renamed
//     or moved. Aggregates have no names here, but an order. `where` is no part of it: it says which
//     rows are taken from now on.
//   - A source's is its topic, the event time that its watermarks are in, and the fields that these and the
//     keys and aggregates of windows come from. Other fields may come, go and change.
//
// It comes after order, so that columns can be traced back along Node.In.
func state(g *Graph) {
	t := tracer{leaves: map[*Node]columns{}, texts: map[*Node][]phrase{}}
	for _, n := range g.Nodes {
		if w, ok := n.Op.(*Window); ok {
			g.State = append(g.State, StateForm{ID: n.ID, Place: n.Place, Form: t.window(n, w)})
		}
	}
	for _, n := range g.Nodes {
		if s, ok := n.Op.(*Source); ok {
			g.State = append(g.State, StateForm{ID: n.ID, Place: n.Place, Form: t.source(n, s)})
		}
	}
	slices.SortFunc(g.State, func(x, y StateForm) int { return strings.Compare(x.ID, y.ID) })
}

// tracer follows columns back to the fields of sources.
type tracer struct {
	leaves map[*Node]columns // the fields of each source that were come to
	texts  map[*Node][]phrase
}

// maxTrace is how long the text of a column may be. One that is twice the column before it, and so on for sixty lets, would
// be longer than any memory; of a longer text stands its hash.
const maxTrace = 1 << 10

func (t *tracer) window(n *Node, w *Window) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tumbling %s", durationText(w.Size.Microseconds()))
	if w.Offset != 0 {
		fmt.Fprintf(&b, " offset %s", durationText(w.Offset.Microseconds()))
	}
	if w.Grace != 0 {
		fmt.Fprintf(&b, " grace %s", durationText(w.Grace.Microseconds()))
	}
	b.WriteString(" of ")
	for i, s := range w.Sources {
		b.WriteString(comma(i) + s.ID)
	}
	input := t.columnsOf(n.In[0])
	for i, k := range w.By {
		if i == 0 {
			b.WriteString(" by ")
		}
		b.WriteString(comma(i) + exprText(k.Expr, input).text + " " + k.Expr.Type().String())
	}
	b.WriteString(":")
	for i, a := range w.Aggregates {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(" " + t.aggregate(a, input))
	}
	return b.String()
}

func (t *tracer) aggregate(a ir.Aggregate, input func(*ir.Column) phrase) string {
	text := string(a.Func) + "("
	if a.Arg != nil {
		text += exprText(a.Arg, input).text
	}
	text += ") " + a.T.String()
	if a.If != nil {
		text += " if " + exprText(a.If, input).text
	}
	return text
}

func (t *tracer) source(n *Node, s *Source) string {
	var b strings.Builder
	b.WriteString("kafka(" + settingText(s.Topic) + ")")
	if s.HasWatermark && s.Time != nil {
		b.WriteString(" time " + exprText(s.Time, t.columnsOf(n)).text)
	}
	var fields []string
	for i, used := range t.leaves[n] {
		if used {
			fields = append(fields, fieldText(n.Row[i]))
		}
	}
	slices.Sort(fields)
	for i, f := range fields {
		b.WriteString(pick(i == 0, ": ", ", ") + f)
	}
	return b.String()
}

// columnsOf names the columns of the rows of n.
func (t *tracer) columnsOf(n *Node) func(*ir.Column) phrase {
	return func(c *ir.Column) phrase { return t.column(n, c.Index) }
}

// column is column i of the rows of n as an expression over fields of sources, found once: there may be more ways to a source
// than can be gone.
func (t *tracer) column(n *Node, i int) phrase {
	if t.texts[n] == nil {
		t.texts[n] = make([]phrase, len(n.Row))
	}
	if p := t.texts[n][i]; p.text != "" {
		return p
	}
	p := t.traced(n, i)
	if len(p.text) > maxTrace {
		p = phrase{text: fmt.Sprintf("sha256(%x)", sha256.Sum256([]byte(p.text)))}
	}
	t.texts[n][i] = p
	return p
}

// traced is column without a memory. Through a union a column is what all inputs agree on, else `{a | b}`, sorted: their
// order means nothing.
func (t *tracer) traced(n *Node, i int) phrase {
	switch op := n.Op.(type) {
	case *Source:
		if t.leaves[n] == nil {
			t.leaves[n] = make(columns, len(n.Row))
		}
		t.leaves[n][i] = true
		return phrase{text: nameText(n.Row[i].Name)}
	case *Union:
		var one phrase
		var texts []string
		for _, in := range n.In {
			at := i
			if at >= len(in.Row) || in.Row[at].Name != n.Row[i].Name {
				at = in.Row.Index(n.Row[i].Name)
			}
			one = t.column(in, at)
			texts = append(texts, one.text)
		}
		slices.Sort(texts)
		if texts = slices.Compact(texts); len(texts) == 1 {
			return one
		}
		return phrase{text: "{" + strings.Join(texts, " | ") + "}"}
	case *Project:
		kept := 0
		if op.Append {
			kept = len(n.Row) - len(op.Items)
		}
		if i < kept {
			return t.column(n.In[0], i)
		}
		return exprText(op.Items[i-kept].Expr, func(c *ir.Column) phrase {
			if op.Append && c.Index >= kept {
				return t.column(n, c.Index)
			}
			return t.column(n.In[0], c.Index)
		})
	case *Window:
		return phrase{text: n.ID + "." + nameText(n.Row[i].Name)}
	}
	return t.column(n.In[0], i)
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// settingText writes a setting as the language does.
func settingText(s Setting) string {
	switch {
	case s.Env == "":
		return fmt.Sprintf("%q", s.Text)
	case s.HasDefault:
		return fmt.Sprintf("env(%q, %q)", s.Env, s.Text)
	}
	return fmt.Sprintf("env(%q)", s.Env)
}
