// Package golden compares what a test makes with a file, or rewrites the file with
// -update, which every package has that uses this one: `make golden` finds them.
//
// Golden files are for shapes that people review: error texts, plans, generated code. What a pipeline
// answers is never golden; it is compared with hand-written expectations or the reference.
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files instead of comparing with them")

// Updating reports whether -update was given.
func Updating() bool { return *update }

// Check compares got with the file at path, and fails the test at the first line that
// differs. With -update it writes the file, and its folder, if they differ.
func Check(t testing.TB, path string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	if *update {
		if err == nil && bytes.Equal(got, want) {
			return
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		t.Logf("updated %s", path)
		return
	}
	if err != nil {
		t.Fatalf("%v; run the test with -update to make it", err)
	}
	if d := Diff(got, want); d != "" {
		t.Errorf("%s: %s\nrun the test with -update if this is right", path, d)
	}
}

// Diff tells the first line that differs with a few lines around it, or "" if there is none.
func Diff(got, want []byte) string {
	if bytes.Equal(got, want) {
		return ""
	}
	g, w := lines(got), lines(want)
	at := 0
	for at < min(len(g), len(w)) && g[at] == w[at] {
		at++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "differs at line %d (of %d, want %d)\n", at+1, len(g), len(w))
	for _, line := range w[max(0, at-2):at] {
		b.WriteString("    " + line)
	}
	const shown = 5
	writeLines(&b, "want", w, at, shown)
	writeLines(&b, "got ", g, at, shown)
	return strings.TrimRight(b.String(), "\n")
}

// lines are the lines of b with their ends.
func lines(b []byte) []string {
	return slices.Collect(strings.Lines(string(b)))
}

// writeLines writes n lines from at on, quoted where what differs could not be seen.
func writeLines(b *strings.Builder, name string, lines []string, at, n int) {
	for _, line := range lines[min(at, len(lines)):min(at+n, len(lines))] {
		text, complete := strings.CutSuffix(line, "\n")
		if !complete || strings.TrimRight(text, " \t\r") != text {
			text = fmt.Sprintf("%q", line)
		}
		fmt.Fprintf(b, "%s %s\n", name, text)
	}
}
