package syntax

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format prints a file that parsed without errors. It prints the tokens, not the tree:
// the tree only says where entries begin and what sticks together. So nothing can get
// lost, and a comment stays before its token. Line breaks inside an entry are the
// author's and are kept, because a break can carry meaning (layout) and because a
// formatter that reflows expressions is another project.
func Format(f *File) string {
	p := &printer{f: f, index: map[int]int{}, head: map[int]int{}}
	for i, t := range f.tokens {
		p.index[t.Pos.Offset] = i
		p.order = append(p.order, i)
	}
	Walk(f.Decls, p.mark)
	for _, i := range p.order {
		p.token(i)
	}
	return p.text()
}

type printer struct {
	f     *File
	index map[int]int // offset to index of a token
	order []int       // the tokens as they are to be printed
	head  map[int]int // entries by first token: how many tokens are aligned in front

	lines  []*line
	blocks []block
	ids    int // of blocks; 0 is none
	heads  int // tokens of the head still to come
	prev   int // the token printed last
	line   int // of the source, reached so far
}

// block is an open brace. A record literal has one too, only to match its end.
type block struct {
	id, indent int
	broken     bool // one entry a line
}

type line struct {
	indent, block int
	more          bool // goes on with the line above
	head, body    []byte
	comment       string
}

func (l *line) empty() bool { return len(l.head)+len(l.body) == 0 }

// mark notes what the printer needs to know of a node.
func (p *printer) mark(node any) {
	switch n := node.(type) {
	case *Field:
		p.head[p.index[n.Pos.Offset]] = 2
	case *Option:
		p.head[p.index[n.Pos.Offset]] = 1
	case *Step:
		p.head[p.index[n.Pos.Offset]] = 0
	case *Case:
		i := p.index[n.Pos.Offset]
		for p.head[i] = 1; p.f.tokens[i+p.head[i]-1].Value != ":"; {
			p.head[i]++
		}
	case *Stream:
		for _, c := range n.Clauses {
			i := p.index[c.Span().Pos.Offset]
			p.head[i] = 1
			if next := p.f.tokens[i+1].Value; next == "join" || next == "by" && p.f.tokens[i].Value != "dedup" {
				p.head[i] = 2
			}
		}
	case *Window:
		p.sortOptions(n)
	}
}

// comments are those in front of the tokens from one index up to another.
func (f *File) comments(from, to int) []Comment {
	find := func(next int) int {
		i, _ := slices.BinarySearchFunc(f.Comments, next, func(c Comment, n int) int { return cmp.Compare(c.Next, n) })
		return i
	}
	return f.Comments[find(from):find(to)]
}

// sortOptions brings the options of a window into canonical order, unless a comment
// among them would lose its place.
func (p *printer) sortOptions(w *Window) {
	if len(w.Options) == 0 {
		return
	}
	var starts []int
	for _, o := range w.Options {
		starts = append(starts, p.index[o.Pos.Offset])
	}
	source := slices.Sorted(slices.Values(starts))
	end, depth := source[0], 0
	for t := p.f.tokens[end]; t.Type != kindClause && (t.Value != "}" || depth > 0); t = p.f.tokens[end] {
		depth += nesting(t)
		end++
	}
	if len(p.f.comments(source[0], end)) > 0 {
		return
	}
	source = append(source, end)
	var order []int
	for _, s := range starts {
		next := source[slices.Index(source, s)+1]
		for i := s; i < next; i++ {
			order = append(order, i)
		}
	}
	copy(p.order[source[0]:], order)
}

// token prints token i with the comments before it.
func (p *printer) token(i int) {
	t := p.f.tokens[i]
	_, entry := p.head[i]
	top := block{}
	if len(p.blocks) > 0 {
		top = p.blocks[len(p.blocks)-1]
	}
	closes := t.Value == "}" && t.Type == kindOp
	// starts: the token has a line of its own by rule, not by the author's choice.
	starts := t.Type == kindDecl || t.EOF() || top.broken && (entry || closes)

	commented := false
	for _, c := range p.f.comments(i, i+1) {
		commented = true
		if !c.Own {
			p.lines[len(p.lines)-1].comment = c.Text
			continue
		}
		p.begin(c.Pos.Line, line{indent: top.indent, block: top.id, more: !starts && i > 0, comment: c.Text})
	}
	kept := top.indent > 0 && i > 0 && t.Pos.Line != p.f.tokens[i-1].Pos.Line
	switch {
	case t.EOF():
		return
	case starts && closes:
		p.line = t.Pos.Line // no blank line before a brace
		p.begin(t.Pos.Line, line{indent: top.indent - 1})
	case starts || len(p.lines) == 0:
		p.begin(t.Pos.Line, line{indent: top.indent, block: top.id})
		p.heads = p.head[i]
	case commented || kept:
		p.line = t.Pos.Line
		p.begin(t.Pos.Line, line{indent: top.indent, block: top.id, more: true})
	}
	p.put(i, entry)
	p.line = max(p.line, t.Pos.Line)

	if t.Type != kindOp {
		return
	}
	switch t.Value {
	case "{":
		p.open(i, top)
	case "}":
		p.blocks = p.blocks[:len(p.blocks)-1]
	}
}

// open begins a block: in one line if the author wrote it so and no comment forbids it.
func (p *printer) open(i int, outer block) {
	_, body := p.head[i+1]
	b := block{id: outer.id, indent: outer.indent}
	depth, end := 0, i
	for ; ; end++ {
		if depth += nesting(p.f.tokens[end]); depth == 0 {
			break
		}
	}
	commented := len(p.f.comments(i+1, end+1)) > 0
	if body || end == i+1 && commented {
		b.broken = commented || p.f.tokens[end].Pos.Line != p.f.tokens[i].Pos.Line
	}
	if b.broken {
		p.ids++
		b.id, b.indent = p.ids, outer.indent+1
	}
	p.blocks = append(p.blocks, b)
}

// begin starts a line, after a blank one if the source has any there.
func (p *printer) begin(at int, l line) {
	if n := len(p.lines); n > 0 && !l.more && at > p.line+1 && !bytes.HasSuffix(p.lines[n-1].body, []byte("{")) {
		p.lines = append(p.lines, &line{})
	}
	p.lines = append(p.lines, &l)
	p.line, p.heads = max(p.line, at), 0
}

// put appends token i to the line.
func (p *printer) put(i int, entry bool) {
	l := p.lines[len(p.lines)-1]
	text, space := &l.body, ""
	if p.heads > 0 {
		text = &l.head
		p.heads--
	}
	switch {
	case len(*text) == 0 || !p.spaced(i):
	case entry && p.f.tokens[p.prev].Value != "{": // the next entry of a block in one line
		space = "  "
	default:
		space = " "
	}
	*text = append(append(*text, space...), p.f.tokens[i].Value...)
	p.prev = i
}

func (p *printer) spaced(i int) bool {
	t := p.f.tokens[i]
	return !p.f.glue[t.Pos.Offset] && spaced(p.f.tokens[p.prev], t)
}

// text aligns the lines: values within a block, comments behind neighbouring lines.
func (p *printer) text() string {
	width := map[int]int{}
	for _, l := range p.lines {
		width[l.block] = max(width[l.block], utf8.RuneCount(l.head))
	}
	var code []string
	for _, l := range p.lines {
		s := strings.Repeat("  ", l.indent)
		switch w := width[l.block]; {
		case l.more && w > 0:
			s += strings.Repeat(" ", w+1) + string(l.body)
		case l.more:
			s += "  " + string(l.body)
		case len(l.head) > 0:
			s += fmt.Sprintf("%-*s %s", w, l.head, l.body)
		default:
			s += string(l.body)
		}
		if !l.empty() || l.comment == "" {
			s = strings.TrimRight(s, " ")
		}
		code = append(code, s)
	}
	trailing := func(i int) bool { return p.lines[i].comment != "" && !p.lines[i].empty() }
	var out strings.Builder
	for i, run := 0, 0; i < len(code); i++ {
		if trailing(i) && (i == 0 || !trailing(i-1)) {
			run = 0
			for j := i; j < len(code) && trailing(j); j++ {
				run = max(run, utf8.RuneCountInString(code[j]))
			}
		}
		s := code[i] + p.lines[i].comment
		if trailing(i) {
			s = fmt.Sprintf("%-*s  %s", run, code[i], p.lines[i].comment)
		}
		out.WriteString(s + "\n")
	}
	return out.String()
}
