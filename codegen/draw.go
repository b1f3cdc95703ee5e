package codegen

import (
	"strings"
	"unicode/utf8"

	"github.com/eoc-lang/eoc/planner"
)

// drawing shows the pipeline in a few lines: one for each stream, and one for its late rows.
func (p *program) drawing() []string {
	var list []string
	for _, s := range p.sources {
		for _, e := range s.node.Out {
			if e.Kind == planner.Rows && e.To.Stream == "" {
				list = append(list, oneLine(s.node.ID)+arrow+oneLine(e.To.ID))
			}
		}
	}
	for _, s := range p.streams {
		list = append(list, s.drawing()...)
	}
	return list
}

const arrow = " -> "

func (s *stream) drawing() []string {
	var from []string
	for _, in := range s.program.inputs(s.first, planner.Rows) {
		from = append(from, readName(in.from))
	}
	var line strings.Builder
	line.WriteString(strings.Join(from, ", "))
	late := ""
	for _, n := range s.nodes {
		switch op := n.Op.(type) {
		case *planner.Filter:
			line.WriteString(arrow + "where")
		case *planner.Project:
			line.WriteString(arrow + pick(op.Append, "let", "select"))
		case *planner.Window:
			line.WriteString(arrow)
			if op.Late != nil {
				late = strings.Repeat(" ", utf8.RuneCountInString(line.String())) + "late" + arrow + oneLine(op.Late.Name)
			}
			line.WriteString(s.window.heading() + arrow + s.window.names())
		}
	}
	if to := s.targets(); to != "" {
		line.WriteString(arrow + to)
	}
	if late == "" {
		return []string{line.String()}
	}
	return []string{line.String(), late}
}

// readName is how a stream calls what it reads.
func readName(n *planner.Node) string {
	if n.Stream != "" {
		return oneLine(n.Stream)
	}
	return oneLine(n.ID)
}

// heading is the window as it is written, up to its options: `tumbling 1m by user_id`.
func (w *window) heading() string {
	text := strings.TrimPrefix(oneLine(w.node.Place.Text), "window ")
	for _, option := range []string{" offset ", " grace ", " late to "} {
		text, _, _ = strings.Cut(text, option)
	}
	return text
}

// names are the results of the aggregate, the first of them.
func (w *window) names() string {
	const most = 4
	var list []string
	for i, a := range w.op.Aggregates {
		if i == most {
			list = append(list, "…")
			break
		}
		list = append(list, oneLine(a.Name))
	}
	return strings.Join(list, ", ")
}

// targets are the sinks that the stream feeds, else the stream itself.
func (s *stream) targets() string {
	var list []string
	for _, n := range s.nodes {
		for _, e := range n.Out {
			if e.Kind == planner.Rows && e.To.Stream == "" {
				list = append(list, oneLine(e.To.ID))
			}
		}
	}
	if len(list) == 0 {
		return oneLine(s.name)
	}
	return strings.Join(list, ", ")
}
