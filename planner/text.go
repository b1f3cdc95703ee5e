package planner

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/ir"
)

// WriteText writes a graph for people: chain by chain, each operator with its place, its clause, what it
// does to rows and to whom they go. Equal graphs give equal bytes. The error is that of w.
func WriteText(w io.Writer, g *Graph) error {
	p := textPrinter{graph: g}
	for _, n := range g.Nodes {
		p.width = max(p.width, len(n.ID)+len("    -> "))
	}
	p.head()
	for chain := 1; p.chain(chain); chain++ {
	}
	_, err := w.Write(p.Bytes())
	return err
}

type textPrinter struct {
	bytes.Buffer
	graph *Graph
	width int // of the left column: the longest id behind an arrow
}

func (p *textPrinter) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.WriteString(strings.TrimRight(text, " ") + "\n")
}

// fact writes something about the operator above.
func (p *textPrinter) fact(name, format string, args ...any) {
	p.wrapped(fmt.Sprintf("    %-8s ", name), fmt.Sprintf(format, args...))
}

// textWidth is where lists go on in a new line.
const textWidth = 110

// wrapped writes text behind head. A list that is too long is broken behind a comma.
func (p *textPrinter) wrapped(head, text string) {
	indent := strings.Repeat(" ", len(head))
	for {
		end := lineEnd(text, textWidth-len(head))
		p.line("%s%s", head, text[:end])
		if end == len(text) {
			return
		}
		head, text = indent, strings.TrimLeft(text[end:], " ")
	}
}

// lineEnd is where to break text: behind the last comma before width that stands in no brackets
// or quotes, else behind the first one.
func lineEnd(text string, width int) int {
	if len(text) <= width {
		return len(text)
	}
	depth, end := 0, 0
	var quote byte
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote && text[i-1] != '\\' {
				quote = 0
			}
		case c == '"' || c == '`':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			if i >= width && end > 0 {
				return end
			}
			end = i + 1
		}
	}
	if end == 0 {
		return len(text)
	}
	return end
}

// clause writes a clause; what it goes on with stands below what follows its first word.
func (p *textPrinter) clause(text string) {
	word, rest, _ := strings.Cut(text, " ")
	p.wrapped("    "+word+" ", rest)
}

func (p *textPrinter) head() {
	job := p.graph.Job
	count := map[string]int{}
	chains := 0
	for _, n := range p.graph.Nodes {
		count[n.Kind()]++
		chains = max(chains, n.Chain)
	}
	p.line("pipeline %s (%s)", job.Name, p.graph.File)
	parts := []string{plural(count["source"], "source"), plural(count["sink"], "sink")}
	if n := count["dead-letter"]; n > 0 {
		parts = append(parts, plural(n, "dead-letter topic"))
	}
	parts = append(parts, plural(chains, "chain"))
	p.line("%s", strings.Join(parts, ", "))
	if job.Checkpoint > 0 {
		store := "bolt(" + settingText(job.StateDir) + ")"
		if job.Memory {
			store = "memory"
		}
		p.line("checkpoint %s, store %s, parallelism %d", short(job.Checkpoint), store, job.Parallelism)
	}
	if text := connectionText(job.Connection); text != "" {
		p.line("connection %s", text)
	}
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// short writes a duration as the language does.
func short(d time.Duration) string { return durationText(d.Microseconds()) }

// chain writes the operators of one chain. It reports whether there are any.
func (p *textPrinter) chain(number int) bool {
	var nodes []*Node
	for _, n := range p.graph.Nodes {
		if n.Chain == number {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return false
	}
	p.line("")
	p.line("chain %d%s", number, behind(nodes[0]))
	for _, n := range nodes {
		p.line("")
		p.node(n)
	}
	return true
}

// behind names the exchange that a chain begins behind.
func behind(first *Node) string {
	if behindExchange(first) {
		return ", behind " + first.In[0].ID
	}
	return ""
}

func (p *textPrinter) node(n *Node) {
	p.line("  %-*s  %s:%d", p.width-2, n.ID, p.graph.File, n.Place.Line)
	for _, text := range n.Clauses() {
		p.clause(text)
	}
	switch op := n.Op.(type) {
	case *Source:
		p.source(n, op)
	case *Union, *Project:
		p.fact("row", "%s", rowText(n.Row))
	case *Window:
		p.fact("row", "%s", rowText(n.Row))
		p.window(op)
	case *Sink:
		p.fact("row", "%s", rowText(n.Row))
		p.fact("key", "%s", cmp.Or(keysText(op.Key), "none"))
		p.fact("deliver", "%s", deliveryText(op.Deliver))
	case *DeadLetter:
		p.fact("topic", "kafka(%s)", settingText(op.Topic))
		p.fact("deliver", "%s", deliveryText(op.Deliver))
	}
	if form := p.graph.stateForm(n.ID); form != "" {
		p.fact("state", "%s", form)
	}
	for i, e := range n.Out {
		p.line("    -> %-*s  %s", p.width-len("    -> "), e.To.ID, p.edge(n, i))
	}
}

// edge says which rows flow along the edge number i of n; nothing if all do.
func (p *textPrinter) edge(n *Node, i int) string {
	e := n.Out[i]
	switch op := n.Op.(type) {
	case *Route:
		if e.Kind == Rows {
			return branchText(op.Routes[i])
		}
	case *Exchange:
		return "in the task that owns the key"
	}
	switch e.Kind {
	case Late:
		return "late rows"
	case DeadLetters:
		return "what it refuses"
	}
	return ""
}

func branchText(r Branch) string {
	switch {
	case r.Else:
		return "else"
	case r.If == nil:
		return ""
	}
	return "if " + exprText(r.If, func(c *ir.Column) phrase { return phrase{text: nameText(c.Name)} }).text
}

func (p *textPrinter) source(n *Node, s *Source) {
	used := make([]bool, len(n.Row))
	var decoded, skipped ir.Row
	for _, i := range s.Used {
		used[i] = true
		decoded = append(decoded, n.Row[i])
	}
	for i, f := range n.Row {
		if !used[i] {
			skipped = append(skipped, f)
		}
	}
	p.fact("decodes", "%s", cmp.Or(rowText(decoded), "nothing"))
	if len(skipped) > 0 {
		p.fact("skips", "%s", rowText(skipped))
	}
	if text := connectionText(s.Connection); text != "" {
		p.fact("cluster", "%s", text)
	}
	p.fact("on_error", "%s, on_null %s", onErrorText(s.OnError), onNullText(s.FailOnNull))
	at := "Kafka timestamp"
	if s.Time != nil {
		at = exprText(s.Time, func(c *ir.Column) phrase { return phrase{text: nameText(c.Name)} }).text
	}
	if !s.HasWatermark {
		p.fact("time", "%s, no watermark", at)
		return
	}
	p.fact("time", "%s, watermark %s, idle %s, skew %s", at, short(s.Watermark), orNever(s.Idle), orNever(s.Skew))
}

func orNever(d time.Duration) string {
	if d == 0 {
		return "never"
	}
	return short(d)
}

func (p *textPrinter) window(w *Window) {
	ids := make([]string, len(w.Sources))
	for i, s := range w.Sources {
		ids[i] = s.ID
	}
	closes := "its end"
	if w.Grace > 0 {
		closes += " + " + short(w.Grace)
	}
	p.fact("W", "least watermark of %s; a window closes when W is at %s", strings.Join(ids, ", "), closes)
}
