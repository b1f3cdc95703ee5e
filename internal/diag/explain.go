package diag

import (
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/docs"
)

// Explain is what docs/errors.md says about a code, in Markdown without its heading; ok
// is false if there is no such code.
func Explain(code string) (text string, ok bool) {
	text, ok = sections()[code]
	return text, ok
}

// Summary is the sentence that a code's section of docs/errors.md begins with, on one line;
// "" if there is no such code.
func Summary(code string) string {
	summary, _, _ := strings.Cut(sections()[code], "\n")
	return summary
}

// Codes lists all codes in the order of the alphabet.
func Codes() []string {
	var out []string
	for code := range sections() {
		out = append(out, code)
	}
	slices.Sort(out)
	return out
}

// sections cuts the page at its second-level headings.
func sections() map[string]string {
	m := map[string]string{}
	_, page, _ := strings.Cut("\n"+docs.Errors, "\n## ")
	for section := range strings.SplitSeq(page, "\n## ") {
		code, text, _ := strings.Cut(section, "\n")
		m[strings.TrimSpace(code)] = strings.TrimSpace(text) + "\n"
	}
	return m
}
