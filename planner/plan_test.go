package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/planner"
)

// shape lists the nodes of g: chain, id, kind and whom they feed.
func shape(g *planner.Graph) string {
	var b strings.Builder
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "%d %s %s:", n.Chain, n.ID, n.Kind())
		for _, e := range n.Out {
			b.WriteString(" " + [...]string{"", "late ", "refused "}[e.Kind] + e.To.ID)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// with is a source for the streams of a test, other is a second one.
const with = `type T { k: string  n: int  f: float?  at: timestamp }
source src: T from kafka("t") { time at  watermark 5s  on_error dlq("dead") }
`
const other = `source other: T from kafka("o") { time at  watermark 5s }
`

func TestShapes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no clause at all", `
			stream s { from src  to out }
			sink out to kafka("out") {}`, `
			1 src source: out refused dead
			1 out sink:
			1 dead dead-letter:`},
		{"clauses that can fail have a way to the dead letters", `
			stream s { from src
			  where n > 1
			  let m = n + 1
			  where 1 / m == 1
			  select k
			  to kafka("out") {} }`, `
			1 src source: s/where refused dead
			1 s/where filter: s/let
			1 s/let project: s/where-2 refused dead
			1 s/where-2 filter: s/select refused dead
			1 s/select project: out
			1 out sink:
			1 dead dead-letter:`},
		{"an exchange in front of a window; late rows leave in front of it", `
			sink out to kafka("out") {}
			sink late to kafka("late") {}
			stream s { from src
			  window tumbling 1m by k late to late
			  aggregate n = count()
			  to out }`, `
			1 src source: s/exchange refused dead
			1 s/exchange exchange: s/window
			2 s/window window: late late out
			2 out sink:
			1 late sink:
			1 dead dead-letter:`},
		{"a sum can overflow, as a result: other fails, so it goes nowhere", `
			stream s { from src, other
			  window tumbling 1m
			  aggregate n = sum(n)
			  to kafka("out") {} }`, `
			1 src source: s/from refused dead
			1 other source: s/from
			1 s/from union: s/exchange
			1 s/exchange exchange: s/window
			2 s/window window: out
			2 out sink:
			1 dead dead-letter:`},
		{"a sum of src alone goes where its bad records go", `
			stream s { from src
			  window tumbling 1m
			  aggregate n = sum(n)
			  where n > 1
			  let m = n * 2
			  to kafka("out") {} }`, `
			1 src source: s/exchange refused dead
			1 s/exchange exchange: s/window
			2 s/window window: s/where refused dead
			2 s/where filter: s/let
			2 s/let project: out refused dead
			2 out sink:
			1 dead dead-letter:`},
		{"streams read what stands before to, in any order in the text", `
			stream second { from first  where n > 1  to a, b if n == 3 }
			stream first { from src, other  let m = n  to a if n > 3, c else }
			sink a to kafka("a") {}
			sink b to kafka("b") {}
			sink c to kafka("c") {}`, `
			1 src source: first/from refused dead
			1 other source: first/from
			1 first/from union: first/let
			1 first/let project: second/where first/to
			1 second/where filter: second/to
			1 second/to route: a b
			1 first/to route: a c
			1 a sink:
			1 b sink:
			1 c sink:
			1 dead dead-letter:`},
		{"two windows over one source are two exchanges and two chains", `
			stream a { from src  window tumbling 1m by k  aggregate n = count()  to x }
			stream b { from src  window tumbling 1h by n  aggregate m = count()  to y }
			sink x to kafka("x") {}
			sink y to kafka("y") {}`, `
			1 src source: a/exchange b/exchange refused dead
			1 a/exchange exchange: a/window
			2 a/window window: x
			1 b/exchange exchange: b/window
			3 b/window window: y
			2 x sink:
			3 y sink:
			1 dead dead-letter:`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := with
			if strings.Contains(c.text, "src, other") {
				text += other
			}
			got := shape(plan(t, "a.eo", text+strings.ReplaceAll(c.text, "\t", "")))
			if want := strings.TrimSpace(strings.ReplaceAll(c.want, "\t", "")) + "\n"; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// TestUsed says which fields are decoded.
func TestUsed(t *testing.T) {
	for _, c := range []struct{ clauses, want string }{
		{"select k", "k at"}, // at is the event time
		{"where n > 1  select k", "k n at"},
		{"select m = (f ?? 0) + 1", "f at"},
		{"let m = n  where m > 1  select k", "k n at"},
		{"let m = n, o = m  select k", "k n at"}, // a let that nobody reads may still fail
		{"where k == \"a\"", "k n f at"},
		{"window tumbling 1m by k  aggregate m = count()", "k at"},
		{"window tumbling 1m  aggregate m = max(f) if n > 1", "n f at"},
		{"window tumbling 1m by k late to kafka(\"late\") {}\n  aggregate m = count()", "k n f at"},
	} {
		text := with + "stream s {\n  from src\n  " + strings.ReplaceAll(c.clauses, "  ", "\n  ") + "\n  to kafka(\"out\") {}\n}\n"
		src := plan(t, "a.eo", text).Nodes[0]
		var got []string
		for _, i := range src.Op.(*planner.Source).Used {
			got = append(got, src.Row[i].Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: decodes %s, want %s", c.clauses, got, c.want)
		}
	}
}

// TestUsedThroughUnion: fields meet by name.
func TestUsedThroughUnion(t *testing.T) {
	g := plan(t, "a.eo", `type Left { a: int  b: int  c: int }
type Right { c: int  b: int  a: int }
source one: Left from kafka("l") {}
source two: Right from kafka("r") {}
stream s { from one, two  select b, a  to kafka("out") {} }
`)
	for i, want := range []string{"[0 1]", "[1 2]"} {
		if got := fmt.Sprint(g.Nodes[i].Op.(*planner.Source).Used); got != want {
			t.Errorf("%s: %s, want %s", g.Nodes[i].ID, got, want)
		}
	}
}

// TestDeadLetterDelivery: a dead-letter topic takes the strongest delivery among the sinks that its sources reach.
func TestDeadLetterDelivery(t *testing.T) {
	for _, c := range []struct {
		deliver string
		want    planner.Delivery
	}{
		{"deliver none", planner.DeliverNone},
		{"deliver at_least_once", planner.DeliverAtLeastOnce},
		{"", planner.DeliverExactlyOnce},
	} {
		g := plan(t, "a.eo", with+other+`stream s { from src  to kafka("a") { deliver none }, kafka("b") { `+c.deliver+` } }
stream o { from other  to kafka("c") {} }
`)
		for _, n := range g.Nodes {
			if d, ok := n.Op.(*planner.DeadLetter); ok && d.Deliver != c.want {
				t.Errorf("%s: %d", c.deliver, d.Deliver)
			}
		}
	}
}

// TestIDs are stable: a clause is known by its stream and word, and an edit elsewhere changes nothing.
func TestIDs(t *testing.T) {
	ids := func(text string) string {
		var list []string
		for _, n := range plan(t, "a.eo", text).Nodes {
			list = append(list, n.ID)
		}
		return strings.Join(list, " ")
	}
	const text = with + `stream src2 { from src  where n > 1  where n > 2  to dead }
sink dead to kafka("rows") {}`
	if got, want := ids(text), "src src2/where src2/where-2 dead dead-2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	const elsewhere = other + "stream before { from other  where n > 1  to kafka(\"x\") {} }\n"
	if got := ids(strings.Replace(text, "stream src2", elsewhere+"stream src2", 1)); !strings.Contains(got, "src2/where src2/where-2 ") {
		t.Errorf("an edit elsewhere changes ids: %s", got)
	}
}

// TestManyPaths plans streams that read two others, which do so too: there are more paths than could be followed.
func TestManyPaths(t *testing.T) {
	var text strings.Builder
	text.WriteString("type R { a: int }\nsource s: R from kafka(\"a\")\nstream l0 { from s }\nstream r0 { from s }\n")
	const layers = 60
	for i := 1; i <= layers; i++ {
		fmt.Fprintf(&text, "stream l%d { from l%d, r%d }\nstream r%d { from l%d, r%d }\n", i, i-1, i-1, i, i-1, i-1)
	}
	fmt.Fprintf(&text, "stream z { from l%d, r%d  to kafka(\"o\") }\n", layers, layers)
	if g := plan(t, "many.eo", text.String()); len(g.Nodes) == 0 {
		t.Error("no plan")
	}
}
