package codegen_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/race"
	"github.com/eoc-lang/eoc/planner"
)

const fullHead = "type A { x: int  y: int?  f: float  ok: bool  s: string  at: timestamp }\n" +
	"source a: A from kafka(\"a\") { time at  watermark 1s  on_error dlq(\"d\") }\n"

// list is n times format, which may have the number in it, with commas or whatever sep is between.
func list(n int, sep, format string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return strings.Join(items, sep)
}

// streams fills a file of so many bytes with streams that have the clauses, each with a sink of its own.
func streams(size int, before, clauses string) string {
	var b strings.Builder
	b.WriteString(fullHead + before)
	for i := 0; ; i++ {
		s := fmt.Sprintf("stream s%d {\n  from a\n%s\n  to kafka(\"s%d\")\n}\n", i, clauses, i)
		if i > 0 && b.Len()+len(s) > size {
			return b.String()
		}
		b.WriteString(s)
	}
}

// Whatever fills a file, the work of check, plan and generate grows about as the file does. The test has no clock: with work
// that grows with the square it would take minutes, and with work that doubles at each let it would not end.
func TestFullFiles(t *testing.T) {
	size := dsl.MaxSource / 10
	if race.Enabled {
		size /= 10
	}
	where := func(e string) string { return streams(size, "", "  where "+e) }
	long := strings.Repeat("n", 200)
	for i, c := range []struct{ what, src string }{
		{"lists of numbers", where("x in [" + list(4500, ", ", "#") + "]")},
		{"lists of texts", where("s not in [" + list(4500, ", ", `"#"`) + "]")},
		{"lists of sums", where("x in [" + list(2000, ", ", "x + #") + "]")},
		{"&&", where(list(2400, " && ", "x != #"))},
		{"||", where(list(1600, " || ", "x + # > 0"))},
		{"+", where(list(4500, " + ", "x") + " > 0")},
		{"??", where(list(4500, " ?? ", "y") + " ?? 0 > 0")},
		{"keys", streams(size, "", "  window tumbling 1m by "+list(240, ", ", "k# = x + #")+"\n  aggregate n = sum(x)")},
		{"clauses", streams(1, "", list(size/64, "\n", "  where x != #\n  where x + # > 0"))},
		{"sinks", fullHead + "stream s {\n  from a\n  to " + list(900, ", ", `kafka("t#") if x == #`) + "\n}\n"},
		{"texts", where(`s == "` + strings.Repeat("é", 32_000) + `"`)},
		{"comments", streams(size, strings.Repeat("// c\n", size/8), "  where ok // c")},
		{"unions", fullHead + list(450, "", "stream b# {\n  from a\n  where x + # > 0\n}\n") +
			list(20, "", "stream u# {\n  from "+list(450, ", ", "b#")+
				"\n  where x + # > 0\n  window tumbling 1m by x\n  aggregate n = sum(x)\n  to kafka(\"u#\")\n}\n")},
		{"lets that double", fullHead + "stream s {\n  from a\n  let v0 = x\n" + doubling(200) + "  window tumbling 1m by v200\n  aggregate n = count()\n  to kafka(\"s\")\n}\n"},
		{"diamonds", diamonds(150)},
		{"unknown names", unknown(size, long)},
		{"sinks that nobody feeds", streams(size, list(600, "", "sink k# to kafka(\"k#\")\n"), list(30, "\n", "  where x != #"))},
	} {
		if race.Enabled && i%5 != 0 {
			continue // one goroutine has no races
		}
		t.Run(c.what, func(t *testing.T) {
			if len(c.src) > dsl.MaxSource {
				t.Fatalf("%d bytes", len(c.src))
			}
			program, diags := dsl.Check("full.eo", []byte(c.src))
			if diag.Render(io.Discard, diags, []byte(c.src), false); program == nil {
				if strings.HasPrefix(c.what, "unknown") || strings.HasPrefix(c.what, "sinks that") {
					return
				}
				t.Fatalf("%s [%s]", diags[0].Message, diags[0].Code)
			}
			g, diags := planner.Plan(program)
			if g == nil {
				t.Fatalf("%s [%s]", diags[0].Message, diags[0].Code)
			}
			for _, write := range []func(io.Writer, *planner.Graph) error{planner.WriteText, planner.WriteDOT, planner.WriteJSON, planner.WriteSVG} {
				if err := write(io.Discard, g); err != nil {
					t.Error(err)
				}
			}
			for _, o := range []codegen.Options{{}, {Package: "embedded"}} {
				if _, err := codegen.Generate(g, o); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// doubling are n lets, each of twice the one before.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  let v%d = v%d + v%d\n", i+1, i, i)
	}
	return b.String()
}

// diamonds are n times two streams that read one and are read by one, and a window behind.
func diamonds(n int) string {
	var b strings.Builder
	b.WriteString(fullHead + "stream j0 {\n  from a\n  where ok\n}\n")
	for i := range n {
		fmt.Fprintf(&b, "stream l%d {\n  from j%d\n  where x + 1 > 0\n}\nstream r%d {\n  from j%d\n  where x + 2 > 0\n}\n", i, i, i, i)
		fmt.Fprintf(&b, "stream j%d {\n  from l%d, r%d\n}\n", i+1, i, i)
		fmt.Fprintf(&b, "stream w%d {\n  from j%d\n  window tumbling 1m by x\n  aggregate n = sum(x)\n  to kafka(\"w%d\")\n}\n", i, i+1, i)
	}
	fmt.Fprintf(&b, "stream z {\n  from j%d\n  to kafka(\"z\")\n}\n", n)
	return b.String()
}

// unknown fills a file with streams that read what is nearly the name of many others.
func unknown(size int, name string) string {
	var b strings.Builder
	b.WriteString(fullHead)
	for i := range 450 {
		fmt.Fprintf(&b, "stream %s%d {\n  from a\n  to kafka(\"k%d\")\n}\n", name, i, i)
	}
	for i := 0; i < 450 && b.Len() < 2*size; i++ {
		fmt.Fprintf(&b, "stream u%d {\n  from %sx%d\n  to kafka(\"u%d\")\n}\n", i, name, i, i)
	}
	return b.String()
}

// What stands behind && is not looked at, and cannot be at fault, where what stands in front of it is false, however long a list is: also where a list
// is parted.
func TestListBehindAnd(t *testing.T) {
	for _, item := range []string{"#", "x + #"} {
		for n := 10; n <= 100; n++ {
			program, diags := dsl.Check("list.eo", []byte(streams(1, "", "  let b = ok && x in ["+list(n, ", ", item)+"]")))
			if program == nil {
				t.Fatalf("%s [%s]", diags[0].Message, diags[0].Code)
			}
			g, _ := planner.Plan(program)
			files, err := codegen.Generate(g, codegen.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, f := range files {
				all.Write(f.Data)
			}
			code := all.String()
			code = code[strings.LastIndex(code, "// list.eo:5: let"):]
			if ok, x := strings.Index(code, "a.Ok"), strings.Index(code, "a.X"); ok < 0 || x < ok {
				t.Errorf("%d items %s: the list is looked at first:\n%.1000s", n, item, code)
			}
		}
	}
}
