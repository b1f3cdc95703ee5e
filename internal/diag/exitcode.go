package diag

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/eoc-lang/eoc/docs"
)

// link is a link of Markdown, whose first group is its text.
var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// ExplainExit is what docs/operations.md says about an exit code of the programs that eoc makes, which their log names `code`; ok is false if
// there is no such code.
func ExplainExit(code string) (text string, ok bool) {
	if _, err := strconv.ParseUint(code, 10, 8); err != nil {
		return "", false
	}
	_, section, _ := strings.Cut(docs.Operations, "\n## Stopping and exit codes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || cells[0] != "| "+code {
			continue
		}
		what, supervisor := link.ReplaceAllString(cells[1], "$1"), strings.TrimSuffix(link.ReplaceAllString(cells[2], "$1"), " |")
		return what + "\n\nThat is an exit code of the programs that eoc makes, and `code` in their log, whose error says more.\n" +
			"A supervisor should: " + supervisor + "\n\nPROGRAM --help lists the codes of a program, eoc COMMAND --help those of eoc itself.\n", true
	}
	return "", false
}
