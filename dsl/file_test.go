package dsl_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/eoc-lang/eoc/dsl"
)

// The name of a file is whatever its author likes, and stands in diagnostics, code, log lines and metrics: on one line, as text.
func TestFileNames(t *testing.T) {
	const src = "job j {}\ntype A { x: int }\nsource a: A from kafka(\"a\")\nstream s { from a  to kafka(\"b\") }\n"
	for file, want := range map[string]string{
		"orders.eo": "orders.eo", "dir/Bestellungen für heute.eo": "Bestellungen für heute.eo",
		"a\nb.eo": "a?b.eo", "a\xffb.eo": "a?b.eo", "\x1b[31mred.eo": "?[31mred.eo", "a\u2028b\ufeff\u202e.eo": "a?b??.eo", "di\rr/a\x00.eo": "a?.eo",
	} {
		p := checkOK(t, file, src)
		if p.File != want {
			t.Errorf("%q is called %q, want %q", file, p.File, want)
		}
		_, diags := dsl.Check(file, []byte("stream s {"))
		if len(diags) == 0 {
			t.Fatal("half a stream is no program")
		}
		if name := diags[0].Span.File; !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("a diagnostic of %q is about %q", file, name)
		}
	}
}
