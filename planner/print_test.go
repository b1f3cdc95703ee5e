package planner_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/planner"
)

// everything has every kind of operator, names that need quoting, and a sink that two streams feed.
const everything = `type Event {
  kind:      string
  ` + "`odd \"name\"`" + `: int?
  size:      int = 1
  at:        timestamp
}
source web: Event from kafka(env("WEB", "web")) { time at  watermark 5s  idle never  on_error dlq("dead") }
source app: Event from kafka("app") { time at  watermark 1m30s  skew never  on_error dlq("dead") }
stream events {
  from   web, app
  let    twice = size * 2
  to     big if twice > 100, kafka("odd.topic") { key kind } if kind in ["\\", "a"], small else
}
stream counts {
  from      events
  window    tumbling 1h
  aggregate n = count(), sizes = sum(size) if twice > 2
  select    n, sizes = sizes ?? 0
  where     n > 1
  to        kafka("counts") { deliver none }
}
sink big to kafka("big") { deliver at_least_once }
sink small to kafka("small") { key kind, size }
`

func TestTextOfEverything(t *testing.T) {
	var b bytes.Buffer
	if err := planner.WriteText(&b, plan(t, "all.eo", everything)); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"    decodes  kind string, `odd \"name\"` int?, size int = 1, at timestamp",
		"    time     at, watermark 1m30s, idle 30s, skew never",
		`    on_error dlq("dead"), on_null skip`,
		`    -> small`,
		`if twice > 100`,
		`if kind in ["\\", "a"]`,
		"else",
		"    exchange: all rows to one task",
		"chain 2, behind counts/exchange",
		"    topic    kafka(\"dead\")",
		"    W        least watermark of web, app; a window closes when W is at its end",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line has %q in\n%s", line, &b)
		}
	}
}

// TestDOT reads what WriteDOT writes and compares nodes and edges with the graph.
func TestDOT(t *testing.T) {
	for _, text := range []string{base, everything} {
		g := plan(t, "a.eo", text)
		var b bytes.Buffer
		if err := planner.WriteDOT(&b, g); err != nil {
			t.Fatal(err)
		}
		nodes, edges, err := readDOT(b.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, &b)
		}
		var wantNodes, wantEdges []string
		for _, n := range g.Nodes {
			wantNodes = append(wantNodes, n.ID)
			for _, e := range n.Out {
				wantEdges = append(wantEdges, n.ID+" -> "+e.To.ID)
			}
		}
		slices.Sort(nodes)
		slices.Sort(wantNodes)
		if !slices.Equal(nodes, wantNodes) || !slices.Equal(edges, wantEdges) {
			t.Errorf("got %q %q, want %q %q", nodes, edges, wantNodes, wantEdges)
		}
	}
}

var dotToken = regexp.MustCompile(`^\s*("(?:[^"\\]|\\.)*"|[A-Za-z0-9_.-]+?\b|->|[{}\[\]=,])`)

// readDOT reads the part of the DOT language that a plain digraph needs: statements end with their line.
func readDOT(text string) (nodes, edges []string, err error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	depth := 0
	for _, line := range lines {
		var tokens []string
		for rest := line; strings.TrimSpace(rest) != ""; {
			m := dotToken.FindStringSubmatch(rest)
			if m == nil {
				return nil, nil, fmt.Errorf("no token at %q", rest)
			}
			tokens = append(tokens, m[1])
			rest = rest[len(m[0]):]
		}
		if i := slices.Index(tokens, "["); i >= 0 {
			if err := readAttributes(tokens[i:]); err != nil {
				return nil, nil, fmt.Errorf("%w: %s", err, line)
			}
			tokens = tokens[:i]
		}
		switch {
		case len(tokens) == 3 && (tokens[0] == "digraph" || tokens[0] == "subgraph") && tokens[2] == "{":
			depth++
		case len(tokens) == 1 && tokens[0] == "}":
			depth--
		case len(tokens) == 3 && tokens[1] == "->":
			edges = append(edges, dotName(tokens[0])+" -> "+dotName(tokens[2]))
		case len(tokens) == 3 && tokens[1] == "=", len(tokens) == 1 && (tokens[0] == "node" || tokens[0] == "edge"):
		case len(tokens) == 1:
			nodes = append(nodes, dotName(tokens[0]))
		default:
			return nil, nil, fmt.Errorf("no statement: %q", tokens)
		}
	}
	if depth != 0 {
		err = errors.New("braces do not match")
	}
	return nodes, edges, err
}

// readAttributes reads [name=value, …].
func readAttributes(tokens []string) error {
	for i, t := range tokens[1 : len(tokens)-1] {
		punctuation := [...]string{"", "=", "", ","}[i%4]
		if punctuation != "" && t != punctuation || punctuation == "" && strings.ContainsAny(t[:1], "=,[]") {
			return errors.New("not a list of attributes")
		}
	}
	if len(tokens)%4 != 1 || tokens[len(tokens)-1] != "]" {
		return errors.New("not a whole list of attributes")
	}
	return nil
}

func dotName(token string) string {
	return strings.ReplaceAll(strings.Trim(token, `"`), `\"`, `"`)
}

func TestJSON(t *testing.T) {
	g := plan(t, "all.eo", everything)
	var b bytes.Buffer
	if err := planner.WriteJSON(&b, g); err != nil {
		t.Fatal(err)
	}
	var p planner.PlanJSON
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatal(err)
	}
	if len(p.Operators) != len(g.Nodes) || p.File != "all.eo" || p.Pipeline != "all" {
		t.Fatalf("%+v", p)
	}
	got := map[string]planner.OperatorJSON{}
	for i, o := range p.Operators {
		if o.ID != g.Nodes[i].ID || o.Kind != g.Nodes[i].Kind() || o.Chain != g.Nodes[i].Chain || len(o.Out) != len(g.Nodes[i].Out) {
			t.Errorf("%+v is not %s", o, g.Nodes[i].ID)
		}
		got[o.ID] = o
	}
	if w := got["web"]; w.Topic == nil || *w.Topic != (planner.TopicJSON{Name: "web", Env: "WEB"}) || w.Time.Idle != "never" {
		t.Errorf("web: %+v", w)
	}
	if e := got["events/to"].Out; len(e) < 3 || e[0].If != "if twice > 100" || e[2].If != "else" || e[2].To != "small" {
		t.Errorf("events/to: %+v", e)
	}
	if s := got["web"]; s.OnError != `dlq("dead")` || s.OnNull != "skip" {
		t.Errorf("web: %+v", s)
	}
	if w := got["counts/window"]; w.Time.Size != "1h" || fmt.Sprint(w.Time.Sources) != "[web app]" || len(w.Text) != 2 || w.State == "" {
		t.Errorf("counts/window: %+v", w)
	}
}

// TestSameBytes: what is printed depends on the program alone.
func TestSameBytes(t *testing.T) {
	for name, write := range map[string]func(io.Writer, *planner.Graph) error{
		"text": planner.WriteText, "DOT": planner.WriteDOT, "SVG": planner.WriteSVG, "JSON": planner.WriteJSON,
	} {
		var first bytes.Buffer
		for i := range 20 {
			var b bytes.Buffer
			if err := write(&b, plan(t, "all.eo", everything)); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = b
			} else if !bytes.Equal(first.Bytes(), b.Bytes()) {
				t.Fatalf("%s differs from one time to the next:\n%s\n%s", name, &first, &b)
			}
		}
	}
}
