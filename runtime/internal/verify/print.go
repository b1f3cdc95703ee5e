package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// Print writes the report. Colour is for terminals.
func (r *Report) Print(out io.Writer, asJSON, colour bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	return r.text(out, colour)
}

// colours are those of ANSI terminals: green, red, yellow, grey.
var colours = map[Verdict]string{Holds: "32", Differs: "31", Unknown: "33", Unchecked: "90"}

func (r *Report) text(out io.Writer, colour bool) error {
	mark := func(v Verdict) string {
		text := fmt.Sprintf("%-9s", v)
		if colour {
			text = "\x1b[" + colours[v] + "m" + text + "\x1b[0m"
		}
		return text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline %s, checkpoint %d, incarnation %s\n\n", r.Pipeline, r.Checkpoint, r.Incarnation)
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%s  %-6s  %s\n", mark(c.Verdict), c.Check, c.Text)
		help(&b, c.Help)
	}
	for _, s := range r.Sources {
		text := counted(s.Counts)
		if s.Text != "" {
			text += ": " + s.Text
		}
		fmt.Fprintf(&b, "%s  source  %s/%d: %s\n", mark(s.Verdict), s.Topic, s.Partition, text)
	}
	for _, s := range r.Sinks {
		fmt.Fprintf(&b, "%s  sink    %s/%d: %s\n", mark(s.Verdict), s.Topic, s.Partition, s.Text)
		help(&b, s.Help)
	}
	fmt.Fprintf(&b, "\n%s\n", r.conclusion())
	_, err := io.WriteString(out, b.String())
	return err
}

func help(b *strings.Builder, text string) {
	if text != "" {
		fmt.Fprintf(b, "%19s%s\n", "→ ", text)
	}
}

// counted is the counts of a partition: `read` and what became of it, which adds up in a program without branches. Apart from that stand
// counts of records that others count too: `out`, which is late rows, dead letters and rows of several routes as well, and `ahead`, of records that are used
// all the same.
func counted(counts map[string]int64) string {
	if len(counts) == 0 {
		return "nothing was read"
	}
	text := func(name string) string { return fmt.Sprintf("%d %s", counts[name], name) }
	list, apart := []string{text("read")}, ""
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		switch name {
		case "read":
		case "ahead", "out":
			apart += "; " + text(name)
		default:
			list = append(list, text(name))
		}
	}
	return strings.Join(list, ", ") + apart
}

func (r *Report) conclusion() string {
	written, partitions := int64(0), 0
	for _, s := range r.Sinks {
		if s.Verdict == Holds {
			written, partitions = written+s.Found, partitions+1
		}
	}
	switch r.Verdict {
	case Differs:
		return "It does not hold: see `differs` above."
	case Unknown:
		return "Nothing differs, but not everything could be compared: see `unknown` above."
	}
	if partitions == 0 {
		return "The counts add up; no topic of a sink was compared: see `unchecked` above."
	}
	return fmt.Sprintf("It holds: %s in %s of sinks, as %s written.", words.Many(written, "record"), words.Many(partitions, "partition"), words.Does(written, "it was", "they were"))
}

// Line shows on a terminal how far a long reading is, once a second.
type Line struct {
	Out   io.Writer
	began time.Time
	last  time.Time
	shown bool
}

// Show takes how many offsets were read of how many.
func (l *Line) Show(read, all int64) {
	now := time.Now()
	if l.began.IsZero() {
		l.began, l.last = now, now
	}
	if now.Sub(l.last) < time.Second {
		return
	}
	l.last, l.shown = now, true
	left := time.Duration(float64(now.Sub(l.began)) * float64(all-read) / float64(max(1, read))).Round(time.Second)
	fmt.Fprintf(l.Out, "\r\x1b[Kread %d of %s (%d %%), about %v left", read, words.Many(all, "offset"), 100*read/max(1, all), left)
}

// Clear takes the line away.
func (l *Line) Clear() {
	if l.shown {
		fmt.Fprint(l.Out, "\r\x1b[K")
	}
}
