package dsl_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/pages"
)

// Around a snippet of the page that is no program by itself stands the type of the page.
const (
	docType = `type Order {
  id: string  customer: string?  amount: decimal(12, 2)?  quantity: int  currency: string  express: bool
  placed_at: timestamp(ms)  at: timestamp
}
`
	docSource = "source orders: Order from kafka(\"orders\") { time at  watermark 5s }\n"
	docStream = "stream copies { from orders  to kafka(\"copies\") }\n"
)

// Every snippet of every page is what it says: a program, a part of one, or something that is
// in the language and not compiled yet.
func TestSnippets(t *testing.T) {
	list, err := pages.Read("..")
	if err != nil {
		t.Fatal(err)
	}
	snippets := map[string]int{}
	for _, p := range list {
		for _, b := range p.Blocks {
			if b.Lang == "eo" {
				snippets[p.Path]++
				checkSnippet(t, b)
			}
		}
	}
	if n := snippets["docs/language.md"]; n < 8 {
		t.Errorf("%d snippets on the page of the language", n)
	}
}

func checkSnippet(t *testing.T, b pages.Block) {
	t.Helper()
	src := b.Text
	switch {
	case b.Info == "clauses":
		src = docType + docSource + "stream s {\n  from orders\n" + src + "  to kafka(\"s\")\n}\n"
	case b.Info == "fragment":
		if !strings.HasPrefix(src, "type Order") {
			src = docType + src
		}
		if !strings.Contains(src, "source orders") {
			src += docSource
		}
		src += docStream
	case b.Info == "not-yet", b.Info == "":
	case strings.HasSuffix(b.File(), ".eo"):
	default:
		t.Errorf("%s: a snippet is marked %q", b.Place(), b.Info)
	}
	checkFormatted(t, b)
	_, diags := dsl.Check("page.eo", []byte(src))
	if b.Info == "not-yet" {
		if len(diags) == 0 {
			t.Errorf("%s: this is compiled:\n%s", b.Place(), src)
		}
		for _, d := range diags {
			if d.Code != "not-yet" {
				t.Errorf("%s: %s: %s", b.Place(), d.Code, d.Message)
			}
		}
		return
	}
	if len(diags) > 0 {
		var out bytes.Buffer
		diag.Render(&out, diags, []byte(src), false)
		t.Errorf("%s: %s\nin:\n%s", b.Place(), out.String(), src)
	}
}

// clauseHead is what stands in front of what a clause says: how wide it is depends on the other clauses of a stream.
var clauseHead = regexp.MustCompile(`(?m)^ *(?:(?:where|let|select|window|aggregate) +)?`)

// checkFormatted compares a snippet with what eoc fmt makes of it; one of clauses is the inside of a stream.
func checkFormatted(t *testing.T, b pages.Block) {
	t.Helper()
	src, want := b.Text, b.Text
	if b.Info == "clauses" {
		src = "stream s {\n  from orders\n" + src + "}\n"
		want = clauseHead.ReplaceAllString(want, "")
	}
	formatted, diags := dsl.Format(b.File(), []byte(src))
	if len(diags) > 0 {
		t.Errorf("%s: cannot be formatted: %v", b.Place(), diags)
		return
	}
	tidy := string(formatted)
	if b.Info == "clauses" {
		lines := strings.SplitAfter(tidy, "\n")
		tidy = clauseHead.ReplaceAllString(strings.Join(lines[2:len(lines)-2], ""), "")
	}
	if tidy != want {
		t.Errorf("%s: not as eoc fmt writes it:\n%s", b.Place(), formatted)
	}
}

// The example of the page is the one in examples.
func TestPageHasTheExample(t *testing.T) {
	page, err := os.ReadFile("../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../examples/orders.eo")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```eo\n"+string(example)+"```") {
		t.Error("docs/language.md does not show examples/orders.eo")
	}
}
