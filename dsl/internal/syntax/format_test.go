package syntax

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWindowOptionsInAnyOrder(t *testing.T) {
	got := roundTrip(t, "stream s {\n  from   a\n  window hopping 5m late to b grace 10s by x, y every 1m // why\n}\n")
	want := "stream s {\n  from   a\n  window hopping 5m every 1m by x, y grace 10s late to b  // why\n}\n"
	if got != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestFormat(t *testing.T) {
	src := "// head\n\n\n// more\ntype  T{a:int,bc : []T?// list\n// own\n  d:map[string](T?)?}\nsource s:T\n from kafka ( \"t\" ) {key a\n}\n" +
		"stream x\n{ // open\n\n from s\n\n\n where a==1&& // first\n  // second\n -b<f (c [0])\n // last\n}\n// end"
	want := `// head

// more
type T {
  a:  int,
  bc: []T?  // list
  // own
  d:  map[string](T?)?
}
source s: T from kafka("t") {
  key a
}
stream x {  // open
  from  s

  where a == 1 &&  // first
        // second
        -b < f(c[0])
  // last
}
// end
`
	if got := roundTrip(t, src); got != want {
		t.Errorf("got:\n%s", got)
	}
}

// Any program comes through the formatter unchanged, however it is laid out.
func TestFormatKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{t: t}
		for range rapid.IntRange(1, 4).Draw(t, "declarations") {
			w.declaration()
		}
		src := w.String()
		f, faults := Parse("x.eo", []byte(src))
		if faults != nil {
			t.Fatalf("%s\nin:\n%s", render(faults, src), src)
		}
		once := Format(f)
		g, faults := Parse("x.eo", []byte(once))
		if faults != nil {
			t.Fatalf("%s\nin:\n%s\nfrom:\n%s", render(faults, once), once, src)
		}
		if a, b := shapeOf(f), shapeOf(g); a != b {
			t.Fatalf("another tree after fmt\n%s\n%s\nsource:\n%s\nfmt:\n%s", a, b, src, once)
		}
		if a, b := places(f), places(g); a != b {
			t.Fatalf("comments moved\n%s\n%s\nsource:\n%s\nfmt:\n%s", a, b, src, once)
		}
		if twice := Format(g); twice != once {
			t.Fatalf("fmt is not idempotent\n%s\n%s", once, twice)
		}
	})
}

// shapeOf is the tree as its nodes in order with their texts. The options of windows are in
// canonical order in the tree, whatever their order in the text.
func shapeOf(f *File) string {
	var s strings.Builder
	Walk(f.Decls, func(n any) {
		fmt.Fprintf(&s, "%T", n)
		if w, ok := n.(*Window); ok {
			fmt.Fprintf(&s, " %s", w.Kind.Text)
		} else if n, ok := n.(interface{ Span() Node }); ok {
			if line := f.Line(n.Span()); !strings.Contains(line, "window") {
				s.WriteString(" " + line)
			}
		}
		s.WriteByte('\n')
	})
	return s.String()
}

// writer makes programs that are right by grammar and laid out at random.
type writer struct {
	t *rapid.T
	strings.Builder
	comments int
}

func (w *writer) pick(of ...string) string { return rapid.SampledFrom(of).Draw(w.t, "pick") }

func (w *writer) chance(n int) bool { return rapid.IntRange(1, n).Draw(w.t, "chance") == 1 }

// put writes words with random space between them; a space inside an argument stays one.
func (w *writer) put(parts ...string) {
	for _, p := range parts {
		w.WriteString(p + w.pick("", " ", "  ", "\t"))
		w.WriteString(" ")
	}
}

// line ends a line, perhaps with a comment, empty lines and a comment of its own.
func (w *writer) line() {
	if w.chance(4) {
		w.comments++
		fmt.Fprintf(w, "// comment %d", w.comments)
	}
	w.WriteString(w.pick("\n", "\n", "\n\n", "\n \n\n"))
	if w.chance(6) {
		w.comments++
		fmt.Fprintf(w, "  //  own %d \n", w.comments)
	}
}

func (w *writer) name() string {
	return w.pick("a", "user_id", "from", "top", "window", "`user-id`", "key", "x1", "`if`")
}

func (w *writer) declaration() {
	switch rapid.IntRange(0, 3).Draw(w.t, "declaration") {
	case 0:
		w.put("type", w.name(), "{")
		w.line()
		for range rapid.IntRange(0, 4).Draw(w.t, "fields") {
			w.put(w.name(), ":", w.pick("int", "string?", "decimal(12,2)", "[]T?", "map[string]int", "timestamp( ms )", "{a:int}"))
			if w.chance(4) {
				w.put("=", w.pick("1", `"x"`, "-2.5"))
			}
			w.line()
		}
		w.put("}")
	case 1:
		w.put("source", w.name(), ":", "T", `from kafka("t")`)
		w.options()
	case 2:
		w.put("sink", w.name(), `to kafka( env("T") )`)
		w.options()
	case 3:
		w.put("stream", w.name())
		w.line()
		w.put("{")
		w.line()
		w.put("from", "a")
		w.line()
		for range rapid.IntRange(0, 5).Draw(w.t, "clauses") {
			w.clause()
		}
		w.put("}")
	}
	w.line()
}

func (w *writer) options() {
	w.put("{")
	w.line()
	for range rapid.IntRange(0, 3).Draw(w.t, "options") {
		w.put(w.pick("time", "watermark", "key", "on_error"), w.pick("at", "5s", `dlq("t")`, "a + 1", "json"))
		w.line()
	}
	w.put("}")
}

// clause writes one that may stand anywhere in a stream before `to`.
func (w *writer) clause() {
	switch rapid.IntRange(0, 2).Draw(w.t, "clause") {
	case 0:
		w.put("where")
		w.expr(3)
	case 1:
		w.put("let", w.name(), "=")
		w.expr(2)
		if w.chance(2) {
			w.put(",")
			w.line()
			w.put(w.name(), "=")
			w.expr(2)
		}
	case 2:
		w.put("select", "a", ",")
		w.line()
		w.put(w.name(), "=")
		w.expr(2)
	}
	w.line()
}

func (w *writer) expr(depth int) {
	if depth == 0 {
		w.put(w.pick("a", "`user-id`", "1", "1.50", "2h30m", `"a // b"`, "null", "true", "x.y", "f(a,1)", "-3", "a[0]"))
		return
	}
	switch rapid.IntRange(0, 6).Draw(w.t, "expression") {
	case 0:
		w.put("(")
		w.expr(depth - 1)
		w.put(")")
	case 1:
		w.put("(", "!")
		w.expr(0)
		w.put(")")
	case 2:
		w.put("if")
		w.expr(depth - 1)
		w.put("then")
		w.expr(depth - 1)
		w.put("else")
		w.expr(depth - 1)
	case 3:
		w.put("(")
		w.expr(0)
		w.put(w.pick("in", "not in"), "[")
		w.line()
		w.expr(0)
		w.put(",")
		w.expr(0)
		w.put("]", ")")
	case 4:
		w.put("(")
		w.expr(0)
		w.put(w.pick("is null", "is  not null"), ")")
	default:
		w.expr(0)
		w.put(w.pick("+", "-", "*", "??", "&&", "||", "%"))
		if w.chance(4) {
			w.line()
		}
		w.expr(depth - 1)
	}
}
