package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
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
	for _, c := range r.Checks {
		counts[c.Result]++
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
	fmt.Fprintf(&b, "\n%d ok, %s, %s, %d unknown\n", counts[OK], number(counts[Warning], "warning"), number(counts[Failure], "failure"), counts[Unknown])
	_, err := io.WriteString(out, b.String())
	return err
}

// number is a count with its noun: `1 replica`, `3 replicas`.
func number(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

func days(d time.Duration) string {
	const day = 24 * time.Hour
	return fmt.Sprintf("%d days", (d+day/2)/day)
}
