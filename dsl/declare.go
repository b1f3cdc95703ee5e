package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

type (
	typeInfo struct {
		decl *syntax.Type
		row  shape
	}
	sourceInfo struct {
		decl *syntax.Source
		out  *Source
		row  shape
		read bool
		// asked: it lacks a watermark, and a window has said so.
		asked bool
	}
	sinkInfo struct {
		out     *Sink
		node    syntax.Node
		inPlace bool
		keys    []syntax.Expr
		fed     bool
		feeder  string // which rows it got first: the rows of a stream
		feedAt  diag.Span
		row     shape
	}
	streamInfo struct {
		decl   *syntax.Stream
		out    *Stream
		row    shape
		state  progress
		read   bool
		broken bool // its text has faults
		// sources reach it, directly or not.
		sources []*sourceInfo
	}
	progress uint8
)

const (
	untouched progress = iota
	underWay
	done
)

// plainName is what the names of declarations are made of. Those of fields may be anything.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// declare notes every name and what it stands for. Types, sources, sinks, tables and
// streams share one space of names.
func (c *checker) declare() {
	c.types, c.sources = map[string]*typeInfo{}, map[string]*sourceInfo{}
	c.sinks, c.streams = map[string]*sinkInfo{}, map[string]*streamInfo{}
	c.others = map[string]string{}
	taken := namespace{map[string]syntax.Name{}, map[string]syntax.Name{}}
	if n := len(c.file.Decls); n > maxDecls {
		c.errorf(c.file.Decls[maxDecls].Span(), "too-big", "a pipeline has at most %d declarations, this one has %d", maxDecls, n)
		c.file.Decls = c.file.Decls[:maxDecls]
		c.faulty = true
	}
	for _, n := range c.file.Lost {
		c.others[n.String()] = "lost"
		taken.exact[n.String()] = n
	}
	for _, d := range c.file.Decls {
		switch d := d.(type) {
		case *syntax.Use:
			c.notYet(d.Node, "`use` of a Go package")
		case *syntax.Test:
			if !c.file.Broken[d] {
				c.notYet(c.file.Head(d.Node), "`test`")
			}
		case *syntax.Type:
			if c.take(taken, d.Name, true) {
				c.types[d.Name.String()] = &typeInfo{decl: d}
			}
		case *syntax.Source:
			if !c.take(taken, d.Name, false) {
				continue
			}
			if d.Kind == "table" {
				c.notYet(c.file.Head(d.Node), "`table`")
				c.others[d.Name.String()] = "table"
				continue
			}
			c.sources[d.Name.String()] = &sourceInfo{decl: d}
		case *syntax.Sink:
			if c.take(taken, d.Name, false) {
				c.sinks[d.Name.String()] = &sinkInfo{node: d.Node}
			}
		case *syntax.Stream:
			s := &streamInfo{decl: d, broken: c.file.Broken[d]}
			c.order = append(c.order, s)
			if c.take(taken, d.Name, false) {
				c.streams[d.Name.String()] = s
			}
		}
	}
	if len(c.order) == 0 && !c.faulty {
		start := diag.Span{File: c.file.Name, Line: 1, Column: 1, Length: 1}
		c.report(diag.New("empty-program", start, "this pipeline has no stream").
			WithHelp("a stream says what becomes of the records: `stream name { from source  to sink }`"))
	}
}

// namespace holds the names that are declared. Each is declared once. Names of one kind that
// differ only in case are too much alike; a type and a source may be Order and order.
type namespace struct {
	exact, folded map[string]syntax.Name
}

// take takes a name; it reports whether it now stands for what takes it.
func (c *checker) take(taken namespace, n syntax.Name, isType bool) bool {
	if !plainName.MatchString(n.String()) {
		c.report(diag.New("bad-name", c.at(n.Node), "`%s` cannot be the name of a declaration", n).
			WithHelp("names of operators and metrics are made of it: letters, digits, `_`, `-` and `.`"))
	}
	if first, ok := taken.exact[n.String()]; ok {
		c.duplicate(n.Node, n.String(), first.String(), c.at(first.Node))
		return false
	}
	taken.exact[n.String()] = n
	folded := fmt.Sprintf("%s %t", strings.ToLower(n.String()), isType)
	if first, ok := taken.folded[folded]; ok {
		c.duplicate(n.Node, n.String(), first.String(), c.at(first.Node))
	}
	taken.folded[folded] = n
	return true
}

// duplicate reports a name that is there already, perhaps in other case.
func (c *checker) duplicate(n syntax.Node, name, first string, at diag.Span) {
	d := diag.New("duplicate-name", c.at(n), "`%s` is declared twice", name)
	if name != first {
		d = diag.New("duplicate-name", c.at(n), "`%s` and `%s` differ only in case", name, first)
	}
	if at.Line > 0 {
		d = d.WithRelated(at, "`%s` is declared here", first)
	}
	c.report(d)
}

// maxRow is the number of fields of a row, and maxDecls that of declarations: far above
// what is written by hand, and low enough for work that grows with their square.
const (
	maxRow   = 256
	maxDecls = 1000
)

// anotherName is what helps when a clause would make a field that is there.
const anotherName = "use another name: no clause changes a field that is there"

// addField appends a field to a row, unless its name is taken.
func (c *checker) addField(s *shape, f ir.Field, n syntax.Node, help string) {
	if len(s.row) == maxRow {
		if !s.open {
			c.errorf(n, "too-big", "a row has at most %d fields", maxRow)
			s.open = true
		}
		return
	}
	for i, old := range s.row {
		if strings.EqualFold(old.Name, f.Name) {
			d := diag.New("duplicate-name", c.at(n), "there is a field `%s` already", old.Name)
			if old.Name != f.Name {
				d = diag.New("duplicate-name", c.at(n), "`%s` and the field `%s` differ only in case", f.Name, old.Name)
			}
			c.report(d.WithHelp("%s", help))
			// Behind it the name may mean this field or the old one.
			s.row = slices.Clone(s.row)
			s.row[i].Type = ir.Type{}
			return
		}
	}
	s.row = append(s.row, f)
}
