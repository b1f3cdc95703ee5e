package dsl

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// MaxSource is the largest file in bytes; Check says of a larger one that it is too big.
const MaxSource = syntax.MaxSource

// shown is the path of a file with ? for what cannot be shown, such as a line break, or bytes that are no UTF-8. It stands in diagnostics, and its
// last part in the program, its log and its metrics.
func shown(file string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(file, "?"))
}

// Check reads a .eo file and checks it. file is its path as the user knows it: it stands in
// the diagnostics, and its base name is the pipeline's name where no job gives another.
// With an error among the diagnostics there is no program, else it is complete.
func Check(file string, src []byte) (*Program, []diag.Diagnostic) {
	file = shown(file)
	tree, faults := syntax.Parse(file, src)
	c := &checker{file: tree, diags: faults, prog: &Program{File: filepath.Base(file), Path: file}}
	c.faulty = len(faults) > 0
	if len(tree.Decls)+len(tree.Lost) > 0 || !c.faulty {
		c.program()
	}
	c.diags = diag.Sort(c.diags)
	diag.Veil(c.diags, src)
	if diag.HasErrors(c.diags) {
		return nil, c.diags
	}
	return c.prog, c.diags
}

// Format brings a .eo file into its canonical form: the same program with the same comments.
// A file that has faults of syntax is not formatted; its meaning is not looked at.
func Format(file string, src []byte) ([]byte, []diag.Diagnostic) {
	file = shown(file)
	tree, faults := syntax.Parse(file, src)
	if len(faults) > 0 {
		diag.Veil(faults, src)
		return nil, faults
	}
	return []byte(syntax.Format(tree)), nil
}

// checker goes through a file once. What could not be understood is marked as unknown (the
// zero ir.Type, an open shape, a nil expression) and never complained about again.
type checker struct {
	file   *syntax.File
	diags  []diag.Diagnostic
	prog   *Program
	faulty bool // the text has faults of syntax: what seems to be missing may stand there

	types   map[string]*typeInfo
	sources map[string]*sourceInfo
	sinks   map[string]*sinkInfo
	streams map[string]*streamInfo
	others  map[string]string // names of tables and lost declarations, of which nothing is known

	order []*streamInfo // as declared
	// A name that is not known may have been meant for one that nobody uses.
	strayInput, straySink bool
	named                 *mentioned // see mentions
	jobOpts               map[string]*syntax.Option
}

// shape is a row as far as it is known.
type shape struct {
	row  ir.Row
	open bool // there may be any other field
}

func (c *checker) program() {
	c.declare()
	if !c.fits() {
		return
	}
	c.job()
	c.eachType()
	c.eachSource()
	c.eachSink()
	for _, s := range c.order {
		c.stream(s, nil)
	}
	c.orderSinks()
	c.connections()
	c.topics()
	c.unused()
	c.delivery()
}

func (c *checker) report(d diag.Diagnostic) { c.diags = append(c.diags, d) }

// enough: ten are shown, and a file with so many faults is no pipeline. Looking for more
// would take its time, because every unknown name is compared with all known ones.
func (c *checker) enough() bool { return len(c.diags) > 10*diag.Limit }

// errorf reports an error that marks a node.
func (c *checker) errorf(n syntax.Node, code, format string, args ...any) {
	c.report(diag.New(code, c.file.At(n), format, args...))
}

// notYet reports what the language has and this version does not compile.
func (c *checker) notYet(n syntax.Node, what string) {
	c.report(diag.New("not-yet", c.file.At(n), "%s is not in this version of eoc yet", what))
}

func (c *checker) at(n syntax.Node) diag.Span { return c.file.At(n) }

// place is where a node stands, and its text.
func (c *checker) place(n syntax.Node) ir.Place {
	return ir.Place{Line: n.Pos.Line, Column: n.Pos.Column, Text: c.file.Line(n)}
}

// span is a place as one to point at, as long as its text.
func (c *checker) span(p ir.Place) diag.Span {
	return diag.Span{File: c.file.Name, Line: p.Line, Column: p.Column, Length: max(1, len([]rune(p.Text)))}
}

// head is the place of a declaration or target without its block.
func (c *checker) head(n syntax.Node) ir.Place { return c.place(c.file.Head(n)) }

// fields lists a row for a note: `user_id string · amount decimal(12, 2)`.
func fields(row ir.Row) string {
	var out []string
	for i, f := range row {
		if i == mostNames {
			out = append(out, fmt.Sprintf("%d more", len(row)-mostNames))
			break
		}
		out = append(out, strings.TrimSpace(f.Name+" "+typeName(f.Type)))
	}
	return strings.Join(out, " · ")
}

func typeName(t ir.Type) string {
	if t.Kind == 0 {
		return ""
	}
	return t.String()
}

func names(row ir.Row) []string {
	var out []string
	for _, f := range row {
		out = append(out, f.Name)
	}
	return out
}

// baseName is the pipeline's name as the file says it.
func baseName(file string) string {
	return strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".eo")
}

// sortedKeys lists names for did-you-mean and notes.
func sortedKeys[V any](maps ...map[string]V) []string {
	var out []string
	for _, m := range maps {
		for k := range m {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
