package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is a line of go test -json: https://pkg.go.dev/cmd/test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// test names a test: the import path of its package, and its name as it is printed, with that of the tests around it.
type test struct{ pkg, name string }

// result is how a test ended.
type result struct {
	end end
	why string // of skipped: what the test said
}

type end string

const (
	begun   end = "" // and not ended
	passed  end = "pass"
	failed  end = "fail"
	skipped end = "skip"
)

// renderer prints events as go test prints without -json: of a package that passes a line, of one that fails what its failed tests say.
type renderer struct {
	out   io.Writer
	ran   map[test]result
	pages map[string]*output
}

// output is what a package has printed so far.
type output struct {
	tests []string // in the order of their beginnings
	texts map[string][]string
}

// render prints go test's events and returns the tests that have run.
func render(from io.Reader, out io.Writer) (map[test]result, error) {
	r := &renderer{out: out, ran: map[test]result{}, pages: map[string]*output{}}
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		switch {
		case err == io.EOF:
			for pkg := range r.pages { // go test has died
				r.failed(pkg)
			}
			return r.ran, nil
		case err != nil:
			return r.ran, fmt.Errorf("read what go test says: %w", err)
		}
	}
}

func (r *renderer) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		fmt.Fprintf(r.out, "%s", line)
		return
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.page(e.Package).add(e.Test, e.Output)
		if strings.HasPrefix(e.Output, "SKIPPED ") { // is meant to be read
			fmt.Fprint(r.out, e.Output)
		}
	case "run":
		r.ran[test{e.Package, e.Test}] = result{end: begun}
	case "pass", "fail", "skip":
		if e.Test != "" {
			got := result{end: end(e.Action)}
			if got.end == skipped {
				got.why = reasonIn(r.page(e.Package).texts[e.Test])
			}
			r.ran[test{e.Package, e.Test}] = got
			return
		}
		if e.Action == "fail" {
			r.failed(e.Package)
		} else {
			r.passed(e.Package)
		}
		delete(r.pages, e.Package)
	}
}

func (r *renderer) page(pkg string) *output {
	if r.pages[pkg] == nil {
		r.pages[pkg] = &output{texts: map[string][]string{}}
	}
	return r.pages[pkg]
}

func (o *output) add(name, text string) {
	if o.texts[name] == nil {
		o.tests = append(o.tests, name)
	}
	o.texts[name] = append(o.texts[name], text)
}

// place is where a test says something, before what it says.
var place = regexp.MustCompile(`^ +[^ ]+\.go:\d+: `)

// reasonIn is the last that a test has said, in one line.
func reasonIn(texts []string) string {
	var lines []string
	for _, text := range texts {
		at := place.FindString(text)
		switch {
		case at != "":
			lines = []string{text[len(at):]}
		case len(lines) > 0 && strings.HasPrefix(text, "        "): // its next line
			lines = append(lines, text)
		}
	}
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
}

// passed prints the summary line of a package.
func (r *renderer) passed(pkg string) {
	for _, text := range r.page(pkg).texts[""] {
		if strings.HasPrefix(text, "ok  ") || strings.HasPrefix(text, "?   ") || strings.HasPrefix(text, "\t") {
			fmt.Fprint(r.out, text)
		}
	}
}

// failed prints all of a package but what tests say that have passed.
func (r *renderer) failed(pkg string) {
	o := r.page(pkg)
	for _, name := range o.tests {
		if name == "" || r.ran[test{pkg, name}].end == passed || r.ran[test{pkg, name}].end == skipped {
			continue
		}
		texts := slices.DeleteFunc(o.texts[name], func(text string) bool { return strings.HasPrefix(text, "=== ") })
		isEnd := func(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " "), "--- ") }
		if i := slices.IndexFunc(texts, isEnd); i > 0 { // it is the heading, as without -json
			texts = slices.Insert(slices.Delete(slices.Clone(texts), i, i+1), 0, texts[i])
		}
		for _, text := range texts {
			fmt.Fprint(r.out, text)
		}
	}
	for _, text := range o.texts[""] {
		fmt.Fprint(r.out, text)
	}
}
