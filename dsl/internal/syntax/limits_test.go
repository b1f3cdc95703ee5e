package syntax

import (
	"regexp"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/race"
)

// less is n, or a part of it with the race detector.
func less(n, part int) int {
	if race.Enabled {
		return n / part
	}
	return n
}

// Go cannot survive a full stack, so everything that recurses has a limit.
func TestDepth(t *testing.T) {
	const n = 20_000
	deep := []string{
		strings.Repeat("(", n), strings.Repeat("-", n) + "a", "a" + strings.Repeat(".b", n), strings.Repeat("a+", n) + "a",
		strings.Repeat("if a then b else ", n/10) + "c", "[" + strings.Repeat("a,", n) + "]",
	}
	for _, e := range deep[:less(len(deep), 3)] {
		_, faults := Parse("x.eo", []byte("stream s {\n  from a\n  where "+e+"\n}\n"))
		if len(faults) != 1 || faults[0].Code != "nesting" {
			t.Errorf("%.20s: %v", e, faults)
		}
	}
	for _, e := range []string{strings.Repeat("[]", n/20) + "a", strings.Repeat("{ a: ", 90) + "int" + strings.Repeat("}", 90)} {
		Format(mustParse(t, "type s {\n  a: "+e+"\n}\n"))
	}
}

// Whatever fills a file, the work grows about as the file does. The test has no clock: if
// the work grew with the square, the test would take minutes instead of a second or two.
func TestFullFiles(t *testing.T) {
	size := less(MaxSource/64, 8)
	fill := func(head, body, tail string) string {
		return head + strings.Repeat(body, (size-len(head)-len(tail))/len(body)) + tail
	}
	for _, src := range []string{
		fill("", "type a {\n", ""), fill("", "{", ""), fill("", "}", ""), fill("", "({[", ""), fill("", "//\n", ""),
		fill("", "/", ""), fill("", "\"", ""), fill("", "`", ""), fill("", "a ", ""), fill("", "\n", ""), fill("", "#\n", ""),
		fill("type A {\n", "  x int\n", "}\n"),
		fill("type A {\n", "  x: int // c\n", "}\n"),
		fill("stream s {\n", "  where x y\n", "}\n"),
		fill("stream s {\n  from a\n", "  let x = f(1) // c\n", "}\n"),
		fill("stream s { from a ", "to k(\"t\") { key a } ", "}\n"),
		fill("source a: A from kafka(\"t\") {\n", "  x 1\n", "}\n"),
		fill("source a: A from kafka(\"t\") {\n", "  1 1\n", "}\n"),
		fill("stream s { from ", "a,", "a }"),
		fill("test \"t\" { given a ", "{ a: 1 }\n", "}"),
		fill("type A = union by [", "1,", "] {\n  \"a\": B\n  \"b\" C\n }"),
		strings.Repeat("stream s {\n  from a\n  where x\n}\n// c\n\n", size/50),
	} {
		if f, faults := Parse("x.eo", []byte(src)); faults == nil {
			Format(f)
		}
	}
	if _, faults := Parse("x.eo", make([]byte, MaxSource+1)); len(faults) != 1 || faults[0].Code != "too-big" {
		t.Errorf("a file that is too big: %v", faults)
	}
}

// leak is what the parser's inside looks like.
var leak = regexp.MustCompile(`internal|unexpected token|<\w+>|grammar|Expr|Operand|Ident|TypeRef|sub-expression`)

// No message may show how the parser is made, whatever token is missing, doubled or wrong.
func TestMessagesStayInTheLanguage(t *testing.T) {
	var chunks []string // a few declarations each
	for _, src := range samples(t) {
		chunks = append(chunks, strings.SplitAfter(src, "\n\n")...)
	}
	for _, src := range chunks {
		toks, _ := scan("x.eo", src)
		for i, tok := range toks {
			if race.Enabled && i%20 != 0 {
				continue
			}
			end := tok.Pos.Offset + len(tok.Value)
			for _, with := range []string{"", tok.Value + " " + tok.Value, "x y", "}", "(", ",", "\nwhere "} {
				bad := src[:tok.Pos.Offset] + with + src[end:]
				_, faults := Parse("x.eo", []byte(bad))
				for _, d := range faults {
					if leak.MatchString(d.Message + d.Label + d.Help) {
						t.Fatalf("%q for %q:\n%s", with, tok.Value, render(faults, bad))
					}
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range samples(f) {
		f.Add(src)
		for i := 7; i < len(src); i += 97 {
			f.Add(src[i:])
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, faults := Parse("x.eo", []byte(src))
		for _, d := range faults {
			if leak.MatchString(d.Message) && !leak.MatchString(src) {
				t.Fatalf("%s", render(faults, src))
			}
			if s := d.Span; s.Line < 1 || s.Column < 1 || s.Length < 1 {
				t.Fatalf("%s is at %+v", d.Code, s)
			}
		}
		render(faults, src)
		for _, d := range file.Decls {
			file.Line(d.Span())
			file.At(file.Head(d.Span()))
		}
		if faults == nil {
			roundTrip(t, src)
		}
	})
}

func BenchmarkParse1000Lines(b *testing.B) {
	src := samples(b)["surface.eo"]
	src = strings.Repeat(src, 1+1000/strings.Count(src, "\n"))
	src = strings.Join(strings.SplitAfter(src, "\n")[:1000], "")
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		Parse("x.eo", []byte(src))
	}
}

// Names and texts have a length; one that is as long as may be is taken.
func TestLengths(t *testing.T) {
	for _, c := range []struct {
		before, body, after string
		limit               int
	}{
		{"stream ", "s", " { from a }\n", maxName},
		{"stream `", "s", "` { from a }\n", maxName - 2},
		{"stream s {\n  from a\n  where b == \"", "x", "\"\n}\n", maxText - 2},
		{"source a: A from kafka(\"", "é", "\")\n", maxText/2 - 1},
	} {
		fits := c.before + strings.Repeat(c.body, c.limit) + c.after
		if _, faults := Parse("x.eo", []byte(fits)); faults != nil {
			t.Errorf("%.30s…, %d long: %v", fits, c.limit, faults)
		}
		long := c.before + strings.Repeat(c.body, c.limit+1) + c.after
		if _, faults := Parse("x.eo", []byte(long)); len(faults) != 1 || faults[0].Code != "too-big" {
			t.Errorf("%.30s…, %d long: %v", long, c.limit+1, faults)
		}
	}
}
