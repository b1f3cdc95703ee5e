package syntax

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// writer makes programs that are right by grammar and laid out at random: with breaks and comments wherever they may be, or with a whole
// declaration on one line.
type writer struct {
	t *rapid.T
	strings.Builder
	flat     bool   // no breaks
	last     string // the part that was written last
	comments int
}

func (w *writer) pick(of ...string) string { return rapid.SampledFrom(of).Draw(w.t, "pick") }

func (w *writer) chance(n int) bool { return rapid.IntRange(1, n).Draw(w.t, "chance") == 1 }

// some does f up to n times.
func (w *writer) some(n int, f func()) {
	for range rapid.IntRange(0, n).Draw(w.t, "some") {
		f()
	}
}

// put writes parts with random space between them, and a break now and then. A space inside a part stays one.
func (w *writer) put(parts ...string) {
	for _, p := range parts {
		if !declWords[w.last] && (w.last == "," || !declWords[p] && !clauseWords[p]) && w.chance(30) {
			w.line()
		}
		w.WriteString(p + w.pick("", " ", "  ", "\t"))
		w.WriteString(" ")
		w.last = p
	}
}

// line ends a line, perhaps with a comment, empty lines and a comment of its own.
func (w *writer) line() {
	if w.flat {
		return
	}
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

// list writes one item and perhaps more, each behind a comma.
func (w *writer) list(item func()) {
	item()
	w.some(2, func() {
		w.put(",")
		if w.chance(2) {
			w.line()
		}
		item()
	})
}

// name is any. On one line, the words of clauses would begin one.
func (w *writer) name() string {
	names := []string{"a", "user_id", "`user-id`", "key", "x1", "`if`", "late", "grace", "every"}
	if !w.flat {
		names = append(names, "from", "top", "window", "to")
	}
	return w.pick(names...)
}

func (w *writer) declaration() {
	w.last, w.flat = "", w.chance(4)
	rapid.SampledFrom([]func(){w.record, w.source, w.sink, w.job, w.stream, w.stream}).Draw(w.t, "declaration")()
	w.flat = false
	w.line()
	if w.chance(3) {
		w.line()
	}
	w.WriteString("\n") // a declaration begins a line
}

func (w *writer) record() {
	w.put("type", w.plainName(), "{")
	w.line()
	w.some(4, func() {
		w.put(w.name()+":", w.pick("int", "string?", "decimal(12,2)", "[]T?", "map[string]int", "timestamp( ms )", "{a:int}"))
		if w.chance(4) {
			w.put("=", w.pick("1", `"x"`, "-2.5"))
		}
		if w.chance(6) {
			w.put(",")
		}
		w.line()
	})
	w.put("}")
}

// plainName is one that stands behind the word of its declaration.
func (w *writer) plainName() string { return w.pick("a", "user_id", "from", "window", "`user-id`") }

func (w *writer) source() {
	w.put("source", w.plainName(), ":", "T", "from kafka(", `"t"`, ")")
	w.options("time at", "watermark 5s", "idle never", "skew 1h", "start latest", `start timestamp("2026-01-01T00:00:00Z")`, "isolation read_uncommitted",
		`on_error dlq( env("DLQ" , "d") )`, "on_null fail", `brokers env("KAFKA")`, `tls files(ca:"/ca.pem")`)
}

func (w *writer) sink() {
	w.put("sink", w.plainName(), `to kafka( env("T") )`)
	w.sinkOptions()
}

func (w *writer) sinkOptions() {
	w.options("format json", "key a", "key a , b", "headers {a:1, b : x}", "deliver at_least_once")
}

func (w *writer) job() {
	w.put("job", w.plainName())
	w.options("checkpoint 250ms", "store memory", `store bolt( env("DIR","./state") )`, "parallelism 4", `txn_prefix "p"`, "txn_timeout 2m", "restart backoff( 1s,max : 1m )",
		`sasl plain(user: "u", password :secret("P"))`)
}

// options writes a block of some of them, or none.
func (w *writer) options(of ...string) {
	if w.chance(4) {
		return
	}
	w.put("{")
	w.line()
	w.some(3, func() {
		w.put(strings.SplitN(w.pick(of...), " ", 2)...)
		w.line()
	})
	w.put("}")
}

func (w *writer) stream() {
	w.put("stream", w.plainName())
	if w.chance(6) {
		w.put("was", "b")
	}
	w.line()
	w.put("{")
	w.line()
	w.put("from")
	w.list(func() { w.put(w.pick("a", "b . c", "`if`")) })
	w.line()
	w.some(3, w.clause)
	if w.chance(2) {
		w.window()
		w.put("aggregate")
		w.list(w.fold)
		w.line()
		w.some(2, w.clause)
	}
	if w.chance(2) {
		w.put("to")
		w.list(w.route)
		w.line()
	}
	w.put("}")
}

// clause writes one that may stand anywhere in a stream before `to`.
func (w *writer) clause() {
	switch w.pick("where", "let", "select") {
	case "where":
		w.put("where")
		w.expr(3)
	case "let":
		w.put("let")
		w.list(func() { w.named(2) })
	case "select":
		w.put("select", "a", ",")
		w.line()
		w.list(func() { w.named(2) })
	}
	w.line()
}

// named writes `name = value`. A name in front of `=` is never the word of a clause.
func (w *writer) named(depth int) {
	w.WriteString(w.name() + w.pick(" ", "") + "= ")
	w.last = "="
	w.expr(depth)
}

// window writes its options in any order.
func (w *writer) window() {
	w.put("window", w.pick("tumbling", "hopping", "session"))
	w.put(w.pick("1m", "1h30m", "all"))
	options := []func(){
		func() { w.put("every", "10s") },
		func() { w.put("max", "1h") },
		func() {
			w.put("by", "a")
			if w.chance(2) {
				w.put(",")
				w.list(func() { w.named(1) })
			}
		},
		func() { w.put("offset", "5m") },
		func() { w.put("zone", `"UTC"`) },
		func() { w.put("grace", "10s") },
		func() {
			w.put("late to")
			w.target()
		},
		func() { w.put("early every", "1s") },
	}
	for _, option := range rapid.Permutation(options).Draw(w.t, "options")[:rapid.IntRange(0, len(options)).Draw(w.t, "many")] {
		option()
		if w.chance(6) {
			w.line()
		}
	}
	w.line()
}

func (w *writer) fold() {
	w.put(w.pick("n = ", "") + w.pick("count()", "sum( amount )", "count(distinct a)", "rules.P95(a , 1)"))
	if w.chance(2) {
		w.put("if")
		w.expr(1)
	}
}

func (w *writer) route() {
	w.target()
	switch w.pick("if", "else", "") {
	case "if":
		w.put("if")
		w.expr(1)
	case "else":
		w.put("else")
	}
}

// target writes a declared sink, or one in place.
func (w *writer) target() {
	if w.chance(2) {
		w.put(w.pick("out", "`if`"))
		return
	}
	w.put(`kafka( "t" )`)
	w.sinkOptions()
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
