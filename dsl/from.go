package dsl

import (
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
)

func (w *streamWalk) from(n *syntax.From, via []*streamInfo) {
	out := From{Place: w.place(n.Node)}
	w.reached = map[*sourceInfo]bool{}
	var row shape
	seen := map[string]*syntax.StreamRef{}
	var firstRef *syntax.StreamRef
	for _, r := range n.Streams {
		name := r.Name.String()
		if first := seen[name]; first != nil {
			w.report(diag.New("duplicate-name", w.at(r.Node), "`%s` is read twice", name).WithRelated(w.at(first.Node), "first here"))
			continue
		}
		seen[name] = r
		in, got := w.input(r, via)
		in.Place = w.place(r.Node)
		out.Inputs = append(out.Inputs, in)
		switch {
		case firstRef == nil:
			row, firstRef = shape{slices.Clone(got.row), got.open}, r
		case got.open || row.open:
			row.open = true
		default:
			if what := difference(row.row, got.row, false); what != "" {
				w.report(diag.New("union-mismatch", w.at(r.Node), "`%s` and `%s` have different rows", firstRef.Name, r.Name).
					WithLabel("%s", what).WithRelated(w.at(firstRef.Node), "%s: %s", firstRef.Name, fields(row.row)).
					WithNote("%s: %s", r.Name, fields(got.row)).
					WithHelp("make them equal with `select`, in a stream of its own"))
				row.open = true
			}
			at := got.row.Places()
			for i := range row.row {
				j := at(row.row[i].Name, i)
				row.row[i].Known = row.row[i].Known && j >= 0 && got.row[j].Known
			}
		}
	}
	if len(out.Inputs) == 1 && firstRef != nil {
		w.of = firstRef.Name.String()
	}
	out.Row, w.row = row.row, row
	w.s.out.From = out
}

// input is what a stream reads, and its rows as they arrive.
func (w *streamWalk) input(r *syntax.StreamRef, via []*streamInfo) (Input, shape) {
	name, unknown := r.Name.String(), shape{open: true}
	if w.enough() {
		return Input{}, unknown
	}
	if r.Case != nil {
		w.part(r)
		return Input{}, unknown
	}
	if s := w.sources[name]; s != nil {
		s.read = true
		w.reaches(s)
		return Input{Source: s.out}, shape{plain(s.row.row), s.row.open}
	}
	if s := w.streams[name]; s != nil {
		s.read = true
		w.stream(s, via)
		if s.state == underWay {
			return Input{}, unknown // the cycle has been reported
		}
		if s.out.Windowed {
			w.notYet(r.Node, "`from` a stream that aggregates")
			return Input{}, unknown
		}
		for _, src := range s.sources {
			w.reaches(src)
		}
		return Input{Stream: s.out}, s.row
	}
	if w.others[name] != "" || w.lateStream(name) {
		return Input{}, unknown
	}
	w.strayInput = true
	known := slices.DeleteFunc(w.readable(), func(other string) bool { return other == w.s.out.Name })
	d := diag.New("unknown-stream", w.at(r.Node), "`%s` is neither a source nor a stream", name).DidYouMean(name, known)
	if len(known) > 0 {
		d = d.WithNote("here: %s", strings.Join(known[:min(len(known), mostNames)], " · "))
	}
	w.report(d)
	return Input{}, unknown
}

// part reports `from a.b`. In the language b is a case of a union of types; who means the topic or the schema of a database has no such source.
func (w *streamWalk) part(r *syntax.StreamRef) {
	s, whole := w.sources[r.Name.String()], w.file.Line(r.Node)
	if s != nil {
		s.read = true
		if t := w.types[s.decl.Type.String()]; t == nil || t.decl.Tag != nil {
			w.notYet(r.Node, "a case of a union of types")
			return
		}
	}
	w.strayInput = true
	d := diag.New("unknown-stream", w.at(r.Node), "`%s` is neither a source nor a stream", whole)
	switch inner := r.Case.String(); {
	case w.isInput(inner):
		d = d.WithLabel("write `%s`", inner)
	case w.isInput(r.Name.String()):
		d = d.WithLabel("write `%s`", r.Name)
	default:
		d = d.WithHelp("declare the topic, `source name: Type from kafka(%q)`, and read it, `from name`", whole)
	}
	w.report(d)
}

// reaches notes a source that the stream reads, directly or not.
func (w *streamWalk) reaches(s *sourceInfo) {
	if !w.reached[s] {
		w.reached[s] = true
		w.s.sources = append(w.s.sources, s)
	}
}

// mostNames is how many a note lists: more is not read.
const mostNames = 12

// readable are the names that from may read.
func (c *checker) readable() []string {
	return append(sortedKeys(c.sources), sortedKeys(c.streams)...)
}

// lateStream: the name is that of a stream that a `late to` makes. What makes it says that
// this is not compiled yet.
func (c *checker) lateStream(name string) bool { return c.mentions().late[name] }

// isRead: some stream reads the name.
func (c *checker) isRead(name string) bool { return c.mentions().read[name] }

// mentions are the names that streams read and that `late to` writes, found when the first is asked for.
func (c *checker) mentions() *mentioned {
	if c.named != nil {
		return c.named
	}
	c.named = &mentioned{read: map[string]bool{}, late: map[string]bool{}}
	for _, s := range c.order {
		for _, clause := range s.decl.Clauses {
			switch clause := clause.(type) {
			case *syntax.From:
				for _, r := range clause.Streams {
					c.named.read[r.Name.String()] = true
				}
			case *syntax.Window:
				for _, o := range clause.Options {
					if o.Late == nil {
						continue
					}
					if ref, ok := o.Late.Sink.(*syntax.Ref); ok {
						c.named.late[ref.Name] = true
					}
				}
			}
		}
	}
	return c.named
}

type mentioned struct{ read, late map[string]bool }
