package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func rendered(t *testing.T, diags []Diagnostic, src string, colour bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Render(&b, diags, []byte(src), colour); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRender(t *testing.T) {
	src := strings.Repeat("\n", 16) + "  where     amunt > 0\n"
	d := New("unknown-field", Span{"orders.eo", 17, 13, 5}, "`amunt` is not a field of %s", "orders").
		DidYouMean("amunt", []string{"user_id", "amount", "at"}).
		WithRelated(Span{"orders.eo", 8, 1, 6}, "`orders` is declared here").
		WithRelated(Span{"other.eo", 9, 2, 1}, "elsewhere").
		WithNote("here: user_id string · amount decimal(12, 2) · at timestamp").
		WithHelp("spell it")
	want := "orders.eo:17:13: error: `amunt` is not a field of orders [unknown-field]\n" +
		"   |\n" +
		"17 |   where     amunt > 0\n" +
		"   |             ^^^^^ did you mean `amount`?\n" +
		"   = 8:1: `orders` is declared here\n" +
		"   = other.eo:9:2: elsewhere\n" +
		"   = here: user_id string · amount decimal(12, 2) · at timestamp\n" +
		"   = help: spell it\n"
	if got := rendered(t, []Diagnostic{d}, src, false); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	colourful := rendered(t, []Diagnostic{d}, src, true)
	if !strings.Contains(colourful, "\x1b[1;31merror:\x1b[0m") || !strings.Contains(colourful, "\x1b[1;31m^^^^^\x1b[0m") {
		t.Errorf("no colours in %q", colourful)
	}
	d.Severity = Warning
	if got := rendered(t, []Diagnostic{d}, src, false); !strings.HasPrefix(got, "orders.eo:17:13: warning: ") || HasErrors([]Diagnostic{d}) {
		t.Errorf("a warning is %s", got)
	}
}

// The carets stand below their text, whatever is on the line.
func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		line           string
		column, length int
		want           string
	}{
		{"\tx y", 4, 1, "1 | \tx y\n  | \t  ^\n"},
		{"größe x", 7, 1, "1 | größe x\n  |       ^\n"},
		{"a\x1b[31mb\r", 7, 1, "1 | a�[31mb\n  |       ^\n"},
		{"ab", 2, 100, "1 | ab\n  |  ^\n"},
		{"ab", 3, 1, "1 | ab\n  |   ^\n"},
		{"ab", 99, 1, "1 | ab\n  |   ^\n"},
		{"", 1, 1, "1 |\n  | ^\n"},
		{strings.Repeat("a", 1000) + "XY", 1001, 2, "1 | …" + strings.Repeat("a", 158) + "XY\n  |  " + strings.Repeat(" ", 158) + "^^\n"},
		{"XY" + strings.Repeat("a", 1000), 1, 2, "1 | XY" + strings.Repeat("a", 158) + "…\n  | ^^\n"},
	} {
		d := New("x", Span{"f", 1, c.column, c.length}, "m")
		if got := rendered(t, []Diagnostic{d}, c.line, false); got != "f:1:"+fmt.Sprint(c.column)+": error: m [x]\n  |\n"+c.want {
			t.Errorf("%.20q: got\n%s\nwant\n%s", c.line, got, c.want)
		}
	}
	if got := rendered(t, []Diagnostic{New("x", Span{"f", 9, 1, 1}, "m")}, "one line", false); got != "f:9:1: error: m [x]\n" {
		t.Errorf("beyond the text: %s", got)
	}
}

func many(n int) []Diagnostic {
	var out []Diagnostic
	for i := n; i > 0; i-- { // from the end of the text
		out = append(out, New("x", Span{"f", i, 1, 1}, "number %d", i))
	}
	return out
}

func TestAtMostTenInOrder(t *testing.T) {
	for n, tail := range map[int]string{10: "number 10 [x]\n", 11: "… and 1 more\n", 13: "… and 3 more\n"} {
		got := rendered(t, many(n), "", false)
		if !strings.HasPrefix(got, "f:1:1: error: number 1 [x]\n") || !strings.HasSuffix(got, tail) || strings.Count(got, "error:") != 10 {
			t.Errorf("%d: %s", n, got)
		}
	}
	two := []Diagnostic{many(1)[0], many(1)[0]}
	if got := rendered(t, two, "", false); strings.Count(got, "error:") != 1 {
		t.Errorf("the same twice: %s", got)
	}
	if two[0].Code != two[1].Code {
		t.Error("the caller's diagnostics have changed")
	}
}

func TestWriteJSON(t *testing.T) {
	diags := append(many(12), New("first", Span{"f", 1, 1, 1}, "a < b").WithLabel("l").WithHelp("h"))
	var b bytes.Buffer
	if err := WriteJSON(&b, diags); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 11 || lines[10] != `{"more":3}` {
		t.Fatalf("%d lines, the last is %s", len(lines), lines[len(lines)-1])
	}
	var d Diagnostic
	if err := json.Unmarshal([]byte(lines[1]), &d); err != nil || d.Code != "first" || d.Message != "a < b" || d.Label != "l" || d.Help != "h" || d.Span.Line != 1 {
		t.Errorf("%v %+v", err, d)
	}
	if strings.Contains(lines[1], `\u003c`) {
		t.Errorf("escaped for HTML: %s", lines[1])
	}
}

func TestNearest(t *testing.T) {
	known := []string{"watermark", "where", "window", "at", "id", "amount"}
	for word, want := range map[string]string{
		"watermrak": "watermark", "were": "where", "wndow": "window", "amunt": "amount", "amuont": "amount", "x": "", "ai": "at", "nothing": "",
		strings.Repeat("a", 1<<20): "", "": "", "where": "where",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%.20s: %q, want %q", word, got, want)
		}
	}
	known = []string{"user_id", "order_id", "order_total", "window_start", "window_end"}
	for word, want := range map[string]string{
		"user": "user_id", "start": "window_start", "total_order": "order_total", "order_total_eur": "order_total", "order": "", "window": "",
		"id": "", "USER_ID": "user_id", "UserId": "user_id", "_": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestCodes(t *testing.T) {
	codes := Codes()
	if len(codes) < 50 {
		t.Fatalf("%d codes", len(codes))
	}
	for i, code := range codes {
		text, ok := Explain(code)
		if !ok || len(text) < 20 || strings.Contains(text, "\n## ") {
			t.Errorf("%s: %q", code, text)
		}
		if strings.ToLower(code) != code || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("%q is no code", code)
		}
		if s := Summary(code); len(s) > 90 || !strings.HasSuffix(s, ".") || !strings.HasPrefix(text, s+"\n\n") {
			t.Errorf("the summary of %s is %q", code, s)
		}
		if i > 0 && codes[i-1] >= code {
			t.Errorf("%s stands behind %s", code, codes[i-1])
		}
	}
	if _, ok := Explain("nonsense"); ok {
		t.Error("nonsense is explained")
	}
	if s := Summary("nonsense"); s != "" {
		t.Errorf("nonsense is %q", s)
	}
}

// TestExplainExit: every exit code of a program is explained, and no other number.
func TestExplainExit(t *testing.T) {
	for code := range 14 {
		text, ok := ExplainExit(strconv.Itoa(code))
		what, rest, _ := strings.Cut(text, "\n\n")
		_, supervisor, _ := strings.Cut(rest, "\nA supervisor should: ")
		if supervisor, _, _ = strings.Cut(supervisor, "\n"); !ok || len(what) < 15 || len(supervisor) < 7 || strings.ContainsAny(text, "|[]") {
			t.Errorf("%d: %v, %q", code, ok, text)
		}
	}
	if text, _ := ExplainExit("5"); !strings.HasPrefix(text, "the state is refused: damaged") || !strings.Contains(text, "A supervisor should: wait for a person\n") {
		t.Error(text)
	}
	for _, none := range []string{"14", "-1", "05", "", "code", "a signal", "---"} {
		if text, ok := ExplainExit(none); ok {
			t.Errorf("%q is explained: %q", none, text)
		}
	}
}
