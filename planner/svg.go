package planner

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteSVG draws a graph: rows flow from top to bottom, a frame holds what is fused into a chain, a thick line leads out of an
// exchange, and what takes only late rows (dashed) or dead letters (dotted) stands to the right. The drawing follows the
// reader's choice of light or dark, and needs nothing from outside. Equal graphs give equal bytes. The error is that of w.
func WriteSVG(w io.Writer, g *Graph) error {
	d := newDrawing(g)
	p := svgPrinter{}
	p.line(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="title desc">`,
		d.width, d.height, d.width, d.height)
	p.line(`<title id="title">%s</title>`, escape("pipeline "+g.Job.Name+" ("+g.File+")"))
	p.line(`<desc id="desc">%s</desc>`, escape(inWords(g)))
	p.line("<style>%s</style>", svgStyle)
	p.line(`<rect class="page" width="%d" height="%d" rx="8"/>`, d.width, d.height)
	for _, f := range d.frames {
		p.line(`<rect class="chain" x="%d" y="%d" width="%d" height="%d" rx="10"/>`, f.x, f.y, f.w, f.h)
		p.line(`<text class="quiet" x="%d" y="%d">chain %d</text>`, f.x+framePad, f.y+20, f.chain)
	}
	for _, w := range d.wires {
		p.wire(w)
	}
	for _, b := range d.boxes {
		p.box(g, b)
	}
	for _, w := range d.wires {
		p.label(w)
	}
	p.line("</svg>")
	_, err := w.Write(p.Bytes())
	return err
}

// svgStyle has every colour twice. Measures of text hold for any monospaced font whose characters are 0.6 em wide, which nearly all are.
const svgStyle = `
text{font:12px ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono","Liberation Mono",monospace;fill:#1f2328}
.name{font-weight:600}.quiet{fill:#59636e}
.page{fill:#ffffff}.chain{fill:#f6f8fa;stroke:#d1d9e0}
.box{fill:#ffffff;stroke:#8c959f;stroke-width:1.25}
.wire{fill:none;stroke:#59636e;stroke-width:1.5}.tip{fill:#59636e}.bold{stroke-width:4}
.source .box{stroke:#1a7f37}.window .box{stroke:#8250df}.sink .box{stroke:#0969da}
.late .box,.wire.late{stroke:#9a6700}.tip.late,text.late{fill:#9a6700}.wire.late{stroke-dasharray:7 4}
.dead-letters .box,.wire.dead-letters{stroke:#cf222e}.tip.dead-letters,text.dead-letters{fill:#cf222e}.wire.dead-letters{stroke-dasharray:2 3}
.label{stroke:#f6f8fa;stroke-width:4;paint-order:stroke;stroke-linejoin:round;text-anchor:middle}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}.quiet{fill:#9198a1}
.page{fill:#0d1117}.chain{fill:#151b23;stroke:#3d444d}
.box{fill:#0d1117;stroke:#656c76}
.wire{stroke:#9198a1}.tip{fill:#9198a1}
.source .box{stroke:#3fb950}.window .box{stroke:#ab7df8}.sink .box{stroke:#4493f8}
.late .box,.wire.late{stroke:#d29922}.tip.late,text.late{fill:#d29922}
.dead-letters .box,.wire.dead-letters{stroke:#f85149}.tip.dead-letters,text.dead-letters{fill:#f85149}
.label{stroke:#151b23}
}
`

type svgPrinter struct{ bytes.Buffer }

func (p *svgPrinter) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// escape makes text safe between tags and in attributes. What XML cannot say at all becomes U+FFFD.
func escape(text string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) // a Buffer takes everything
	return b.String()
}

// inWords is the graph for who cannot see it.
func inWords(g *Graph) string {
	var edges []string
	for _, n := range g.Nodes {
		for _, e := range n.Out {
			text := n.ID + " to " + e.To.ID
			switch e.Kind {
			case Late:
				text += " (late rows)"
			case DeadLetters:
				text += " (dead letters)"
			}
			edges = append(edges, text)
		}
	}
	return strings.Join(edges, "; ")
}

// box prints an operator. Its whole text is there to be pointed at.
func (p *svgPrinter) box(g *Graph, b *box) {
	class, radius := b.node.Kind(), 6
	if b.side {
		class = Late.String()
		if _, dead := b.node.Op.(*DeadLetter); dead {
			class = DeadLetters.String()
		}
	}
	if class == "exchange" {
		radius = b.h / 2
	}
	p.line(`<g class="%s"><title>%s</title>`, class, escape(strings.Join(b.node.Clauses(), "\n")))
	p.line(`<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, b.x, b.y, b.w, b.h, radius)
	for i, line := range b.lines {
		y := b.y + boxPad + 11 + i*lineHeight
		if i > 0 {
			p.line(`<text x="%d" y="%d">%s</text>`, b.x+boxPad+cells(line.indent), y, escape(line.text))
			continue
		}
		p.line(`<text class="name" x="%d" y="%d">%s</text>`, b.x+boxPad, y, escape(line.text))
		p.line(`<text class="quiet" x="%d" y="%d" text-anchor="end">%s</text>`, b.x+b.w-boxPad, y, escape(line.right))
	}
	if b.side {
		text := "late rows"
		if class == DeadLetters.String() {
			text = "dead letters"
		}
		p.line(`<text class="%s" x="%d" y="%d">%s</text>`, class, b.x, b.y-7, text)
	}
	p.line("</g>")
}

// wire prints an edge: curves between layers, or right angles with round corners to the right.
func (p *svgPrinter) wire(w *wire) {
	class := "wire"
	tip := "tip"
	if w.kind != Rows {
		class, tip = "wire "+w.kind.String(), "tip "+w.kind.String()
	}
	if w.bold {
		class += " bold"
	}
	end := w.path[len(w.path)-1]
	if w.to().side {
		p.line(`<path class="%s" d="%s"/>`, class, corners(w.path))
		p.line(`<path class="%s" d="M%d %dl-9 -4.5v9z"/>`, tip, end.x, end.y)
		return
	}
	from := w.from()
	d := fmt.Sprintf("M%d %d", w.path[0].x, from.y+from.h)
	for i := 0; i < len(w.path); i += 2 {
		a, b := w.path[i], w.path[i+1]
		if i+2 == len(w.path) {
			b.y -= 6 // below the tip, which a thick line would show behind
		}
		middle := (a.y + b.y) / 2
		d += fmt.Sprintf("V%dC%d %d %d %d %d %d", a.y, a.x, middle, b.x, middle, b.x, b.y)
	}
	p.line(`<path class="%s" d="%s"/>`, class, d)
	p.line(`<path class="%s" d="M%d %dl-5 -10h10z"/>`, tip, end.x, end.y)
}

// cornerRadius is how round a corner is, at most.
const cornerRadius = 8

// corners draws straight lines through points, the corners rounded.
func corners(path []point) string {
	d := fmt.Sprintf("M%d %d", path[0].x, path[0].y)
	for i := 1; i < len(path)-1; i++ {
		a, b, c := path[i-1], path[i], path[i+1]
		r := min(cornerRadius, distance(a, b)/2, distance(b, c)/2)
		in, out := toward(b, a, r), toward(b, c, r)
		d += fmt.Sprintf("L%d %dQ%d %d %d %d", in.x, in.y, b.x, b.y, out.x, out.y)
	}
	end := path[len(path)-1]
	return d + fmt.Sprintf("L%d %d", end.x-4, end.y)
}

// distance is that of two points above or beside each other.
func distance(a, b point) int { return max(a.x-b.x, b.x-a.x, a.y-b.y, b.y-a.y) }

// toward is the point at the distance r from a on the way to b.
func toward(a, b point, r int) point {
	if n := distance(a, b); n > 0 {
		return point{a.x + (b.x-a.x)*r/n, a.y + (b.y-a.y)*r/n}
	}
	return a
}

// label prints the condition of a branch above what it leads to.
func (p *svgPrinter) label(w *wire) {
	if w.label == "" {
		return
	}
	end, to := w.path[len(w.path)-1], w.to()
	room := to.w / len(to.in) * 10 / cellTenths
	p.line(`<text class="quiet label" x="%d" y="%d"><title>%s</title>%s</text>`, end.x, end.y-15, escape(w.label), escape(cut(w.label, room)))
}

// textLine is a line in a box; of the first one, right stands at the other end.
type textLine struct {
	text, right string
	indent      int // in characters
}

// cellTenths is the width of a character in tenths of a pixel, and a little more.
const cellTenths = 73

func cells(n int) int { return (n*cellTenths + 9) / 10 }

func (l textLine) width() int {
	n := l.indent + wide(l.text)
	if l.right != "" {
		n += 3 + wide(l.right)
	}
	return cells(n)
}

// wide is how many characters text is wide. What lies beyond the scripts of Europe, the Near East and India (from U+1100) counts double.
func wide(text string) int {
	n := utf8.RuneCountInString(text)
	for _, r := range text {
		if r >= 0x1100 && (r < 0x2000 || r > 0x27ff) {
			n++
		}
	}
	return n
}

const (
	boxChars = 44 // where a clause goes on in a new line
	boxLines = 6  // at most so many for a clause; the rest is told when one points at it
)

// boxText is what stands in the box of a node: its name and place, then its clauses.
func boxText(g *Graph, n *Node) []textLine {
	lines := []textLine{{text: n.ID, right: fmt.Sprintf("%s:%d", g.File, n.Place.Line)}}
	for _, clause := range n.Clauses() {
		broken := breakWords(clause, boxLines)
		for i, text := range broken[:min(len(broken), boxLines)] {
			line := textLine{text: text}
			if i > 0 {
				line.indent = 2
			}
			if i == boxLines-1 && len(broken) > boxLines {
				line.text = cut(text+" …", boxChars)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// breakWords breaks text at spaces, and words that are too long anywhere, into so many lines and perhaps one more, which stands
// for all the others.
func breakWords(text string, most int) []string {
	var lines []string
	now := ""
	for word := range strings.FieldsSeq(text) {
		if now != "" && wide(now)+1+wide(word) > boxChars {
			lines, now = append(lines, now), ""
		}
		if now != "" {
			now += " "
		}
		now += word
		for len(lines) <= most && wide(now) > boxChars {
			head := cutAt(now, boxChars)
			lines, now = append(lines, now[:head]), now[head:]
		}
		if len(lines) > most {
			return lines
		}
	}
	return append(lines, now)
}

// cut shortens text to width characters.
func cut(text string, width int) string {
	if wide(text) <= width {
		return text
	}
	return strings.TrimRight(text[:cutAt(text, max(0, width-1))], " …") + "…"
}

// cutAt is how many bytes of text are at most width characters wide.
func cutAt(text string, width int) int {
	for i := range text {
		if wide(text[:i]) > width {
			_, last := utf8.DecodeLastRuneInString(text[:i])
			return i - last
		}
	}
	if wide(text) > width {
		_, last := utf8.DecodeLastRuneInString(text)
		return len(text) - last
	}
	return len(text)
}
