package syntax

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/internal/diag"
)

// WordOf is the word that a clause begins with.
func WordOf(c Clause) string {
	switch c := c.(type) {
	case *From:
		return "from"
	case *Where:
		return "where"
	case *Let:
		return "let"
	case *Select:
		return "select"
	case *Flatten:
		return "flatten"
	case *GroupBy:
		return "group"
	case *Latest:
		return "latest"
	case *Window:
		return "window"
	case *Aggregate:
		return "aggregate"
	case *Join:
		return cmp.Or(c.Kind, "join")
	case *Dedup:
		return "dedup"
	case *Top:
		return "top"
	}
	return "to"
}

var afterFold = words("where let select top to")

// checkOrder holds the rules about words and order that need no types. They are here,
// not in the grammar, so that they can name what was meant.
func checkOrder(f *File, d Decl) []diag.Diagnostic {
	s, ok := d.(*Stream)
	if !ok {
		return nil
	}
	var faults []diag.Diagnostic
	var seen clausesSeen
	for i, c := range s.Clauses {
		if at, d := seen.misplaced(f, c); at != nil {
			// What would be said of the clauses behind depends on this one.
			s.Clauses = s.Clauses[:slices.Index(s.Clauses[:i+1], at)]
			return append(faults, d)
		}
		switch c := c.(type) {
		case *From:
			seen.from = true
		case *Window:
			seen.window = c
			faults = append(faults, checkWindow(f, c)...)
		case *GroupBy:
			seen.group = c
		case *Aggregate:
			seen.folded = seen.window != nil || seen.group != nil // without one it is at fault itself
		case *To:
			seen.to = c
		}
	}
	return faults
}

// clausesSeen are the clauses in front of one.
type clausesSeen struct {
	from, folded bool
	window       *Window
	group        *GroupBy
	to           *To
}

// misplaced finds the clause that does not fit when c comes next, and says why; it is nil if all do.
func (s *clausesSeen) misplaced(f *File, c Clause) (Clause, diag.Diagnostic) {
	word := WordOf(c)
	wrong := func(c Clause, format string, args ...any) (Clause, diag.Diagnostic) {
		at := f.At(c.Span())
		at.Length = len(WordOf(c))
		return c, diag.New("clause-order", at, format, args...)
	}
	_, isGroup := c.(*GroupBy)
	_, isWindow := c.(*Window)
	switch {
	case !s.from && word != "from":
		return wrong(c, "a stream begins with `from`")
	case s.from && word == "from":
		return wrong(c, "a stream has one `from`; several streams are written `from a, b`")
	case s.to != nil && word == "to":
		c, d := wrong(c, "a stream has one `to`; several sinks are written `to a, b`")
		return c, d.WithRelated(f.At(s.to.Node), "here is one")
	case s.to != nil:
		c, d := wrong(c, "`to` is the last clause")
		return c, d.WithRelated(f.At(s.to.Node), "this one is not")
	case s.folded && !afterFold[word]:
		return wrong(c, "after aggregate come where, let, select, top and to; for `%s` begin a new stream", word)
	case isWindow && s.group != nil:
		c, d := wrong(s.group, "`group by` does not stand beside a window")
		return c, d.WithHelp(keysInside)
	case isGroup && s.window != nil:
		c, d := wrong(c, "`group by` does not stand beside a window")
		return c, d.WithHelp(keysInside)
	case isWindow && s.window != nil, isGroup && s.group != nil:
		return wrong(c, "a stream has one window")
	}
	return nil, diag.Diagnostic{}
}

const keysInside = "the keys of a window stand in it: `window tumbling 1m by user_id`"

var windowKinds = strings.Fields("tumbling hopping cumulate session sliding same")

// checkWindow also sorts the options: their order in the text means nothing.
func checkWindow(f *File, w *Window) []diag.Diagnostic {
	var faults []diag.Diagnostic
	kind := w.Kind.String()
	if !slices.Contains(windowKinds, kind) {
		faults = append(faults, diag.New("unknown-window", f.At(w.Kind.Node), "`%s` is not a window", kind).
			DidYouMean(kind, windowKinds[:1]).WithNote("here: %s", windowKinds[0]))
	}
	seen := map[string]*WindowOption{}
	for _, o := range w.Options {
		at := f.At(o.Node)
		at.Length = len(o.Word())
		if first := seen[o.Word()]; first != nil {
			faults = append(faults, diag.New("repeated-option", at, "`%s` is given twice", o.Word()).
				WithRelated(f.At(first.Node), "first here"))
			continue
		}
		seen[o.Word()] = o
	}
	slices.SortStableFunc(w.Options, func(a, b *WindowOption) int { return cmp.Compare(a.rank(), b.rank()) })
	return faults
}
