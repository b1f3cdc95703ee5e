package diag

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Limit is how many diagnostics are shown; what comes after is only counted. More
// than a screenful is not read, and the first ones are most likely the causes.
const Limit = 10

// maxLine is how many characters of a source line are shown, around the fault.
const maxLine = 160

// Sort brings diagnostics into the order of the text, drops exact repetitions, and finds what may have been meant by the misspelt words
// of those that are shown.
func Sort(diags []Diagnostic) []Diagnostic {
	slices.SortStableFunc(diags, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Span.File, b.Span.File), cmp.Compare(a.Span.Line, b.Span.Line),
			cmp.Compare(a.Span.Column, b.Span.Column))
	})
	diags = slices.CompactFunc(diags, func(a, b Diagnostic) bool {
		return a.Code == b.Code && a.Span == b.Span && a.Message == b.Message
	})
	for i := range diags {
		diags[i].settle(i < Limit)
	}
	return diags
}

// HasErrors reports whether one of them is an Error, so that there is no program.
func HasErrors(diags []Diagnostic) bool {
	return slices.ContainsFunc(diags, func(d Diagnostic) bool { return d.Severity == Error })
}

// Render writes the first Limit diagnostics for people, with their lines of source:
//
//	orders.eo:17:13: error: `amunt` is not a field of orders [unknown-field]
//	   |
//	17 |   where     amunt > 0
//	   |             ^^^^^ did you mean `amount`?
//	   = here: user_id string · amount decimal(12, 2) · at timestamp
//
// Colours are ANSI escapes; the caller knows whether w is a terminal that wants them.
func Render(w io.Writer, diags []Diagnostic, source []byte, colour bool) error {
	out := bufio.NewWriter(w)
	p := painter{out, colour}
	lines := strings.Split(string(source), "\n")
	parts := secrets(lines)
	diags = Sort(slices.Clone(diags))
	for _, d := range diags[:min(len(diags), Limit)] {
		p.diagnostic(d, lines, parts)
	}
	if n := len(diags) - Limit; n > 0 {
		fmt.Fprintf(out, "%s\n", more(n))
	}
	return out.Flush()
}

func more(n int) string {
	if n == 1 {
		return "… and 1 more"
	}
	return fmt.Sprintf("… and %d more", n)
}

// WriteJSON writes the first Limit diagnostics as JSON, one a line. If there are
// more, a last line says how many: {"more":3}.
func WriteJSON(w io.Writer, diags []Diagnostic) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	diags = Sort(slices.Clone(diags))
	for _, d := range diags[:min(len(diags), Limit)] {
		if err := enc.Encode(d); err != nil {
			return err
		}
	}
	if n := len(diags) - Limit; n > 0 {
		return enc.Encode(map[string]int{"more": n})
	}
	return nil
}

// painter writes, in colour if wanted. Write errors come out of its Flush.
type painter struct {
	out    *bufio.Writer
	colour bool
}

const (
	bold   = "1"
	red    = "1;31"
	yellow = "1;33"
	blue   = "1;34"
)

func (p painter) paint(style, s string) string {
	if !p.colour || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

func (p painter) diagnostic(d Diagnostic, lines []string, parts [][]part) {
	style := red
	if d.Severity == Warning {
		style = yellow
	}
	s := d.Span
	fmt.Fprintf(p.out, "%s %s %s %s\n", p.paint(bold, fmt.Sprintf("%s:%d:%d:", s.File, s.Line, s.Column)),
		p.paint(style, string(d.Severity)+":"), p.paint(bold, printable(d.Message)), "["+d.Code+"]")

	gutter := strings.Repeat(" ", len(fmt.Sprint(s.Line)))
	if s.Line >= 1 && s.Line <= len(lines) {
		text, pad, marks := excerpt(veil(lines[s.Line-1], parts[s.Line-1]), s)
		fmt.Fprintln(p.out, p.paint(blue, gutter+" |"))
		fmt.Fprintln(p.out, strings.TrimRight(p.paint(blue, fmt.Sprintf("%d |", s.Line))+" "+text, " "))
		marks = p.paint(style, marks)
		if d.Label != "" {
			marks += " " + p.paint(style, printable(d.Label))
		}
		fmt.Fprintln(p.out, p.paint(blue, gutter+" |")+" "+pad+marks)
	}
	note := func(s string) { fmt.Fprintln(p.out, p.paint(blue, gutter+" =")+" "+printable(s)) }
	for _, r := range d.Related {
		at := fmt.Sprintf("%d:%d: ", r.Span.Line, r.Span.Column)
		if r.Span.File != s.File {
			at = r.Span.File + ":" + at
		}
		note(at + r.Message)
	}
	for _, n := range d.Notes {
		note(n)
	}
	if d.Help != "" {
		note("help: " + d.Help)
	}
}

// excerpt is the part of a line around the span, what stands before the carets, and
// the carets. A tab before them stays a tab, so that they stand below their text.
func excerpt(line string, s Span) (text, pad, marks string) {
	runes := []rune(printable(strings.TrimRight(line, "\r")))
	start := min(max(s.Column-1, 0), len(runes))
	from := max(0, min(start-maxLine/2, len(runes)-maxLine))
	to := min(len(runes), from+maxLine)
	before := slices.Clone(runes[from:start])
	for i, r := range before {
		if r != '\t' {
			before[i] = ' '
		}
	}
	text, pad = string(runes[from:to]), string(before)
	if from > 0 {
		text, pad = "…"+text, " "+pad
	}
	if to < len(runes) {
		text += "…"
	}
	return text, pad, strings.Repeat("^", max(1, min(s.Length, to-start)))
}

// printable keeps a source text from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, s)
}
