package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/words"
)

func (r *Report) json(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// colours are those of ANSI terminals: green, yellow, red, grey.
var colours = map[Result]string{OK: "32", Warning: "33", Failure: "31", Unknown: "90"}

func (r *Report) text(out io.Writer, colour bool) error {
	var b strings.Builder
	counts := map[Result]int{}
	last := ""
	var likewise []string // checks that are unknown for the reason of the line before
	for i, c := range r.Checks {
		counts[c.Result]++
		if i > 0 && c.like(r.Checks[i-1]) {
			likewise = append(likewise, c.Check)
			continue
		}
		likewise = flush(&b, likewise)
		name := c.Check
		if name == last {
			name = ""
		}
		last = c.Check
		mark := fmt.Sprintf("%-7s", c.Result)
		if colour {
			mark = "\x1b[" + colours[c.Result] + "m" + mark + "\x1b[0m"
		}
		text := c.Text
		if c.Subject != "" && !strings.HasPrefix(text, c.Subject) {
			text = c.Subject + ": " + text
		}
		fmt.Fprintf(&b, "%s  %-18s  %s\n", mark, name, text)
		if c.Help != "" {
			fmt.Fprintf(&b, "%29s%s\n", "→ ", c.Help)
		}
	}
	flush(&b, likewise)
	fmt.Fprintf(&b, "\n%d ok, %s, %s, %d unknown\n", counts[OK], words.Many(counts[Warning], "warning"), words.Many(counts[Failure], "failure"), counts[Unknown])
	_, err := io.WriteString(out, b.String())
	return err
}

// like reports whether a check is unknown for the reason of the one before, and there is no more to say of it.
func (c Check) like(before Check) bool {
	return c.Result == Unknown && before.Result == Unknown && c.Text == before.Text && c.Subject == "" && c.Help == ""
}

// flush names the checks that are as the line before says, in one line.
func flush(b *strings.Builder, likewise []string) []string {
	if len(likewise) > 0 {
		fmt.Fprintf(b, "%29sso it is with %s\n", "", strings.Join(likewise, ", "))
	}
	return nil
}

func days(d time.Duration) string {
	const day = 24 * time.Hour
	return fmt.Sprintf("%d days", (d+day/2)/day)
}
