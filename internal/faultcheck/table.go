package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/internal/skip"
)

// row is a fault of the table, with the tests that show eoc's answer.
type row struct {
	line  int
	id    string
	tests []test
}

// table is docs/faults.md.
type table struct {
	module string // its path is that of the root's package
	rows   []row
	absent map[test]bool // tests that are not compiled on this system
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)
	rowID      = regexp.MustCompile(`^(F\d\d|[A-Z]+-\d+)$`)
	codeSpan   = regexp.MustCompile("`([^`]*)`")
	// spelled is a test as the table names it: package from the root, a dot, name.
	spelled = regexp.MustCompile(`^([a-z0-9_/]+)\.((?:Test|Fuzz|Example)\S*)$`)
	// reason is how a row begins that names no test.
	reason = regexp.MustCompile(`^(open: |needs |no test: )\S`)
)

// columns of the table: id, what goes wrong, eoc's answer, shown by, seen in.
const columns = 5

// readTable reads the table of a repository. An error names all lines that cannot be read.
func readTable(root string) (*table, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := moduleLine.FindSubmatch(mod)
	if m == nil {
		return nil, errors.New("go.mod names no module")
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		return nil, err
	}
	t := &table{module: string(m[1]), absent: map[test]bool{}}
	var errs []error
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if !strings.HasPrefix(line, "|") || !rowID.MatchString(cells[0]) {
			continue
		}
		r, err := t.row(number, cells)
		if slices.ContainsFunc(t.rows, func(other row) bool { return other.id == r.id }) {
			err = errors.New("it is there twice")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %s: %w", page, number, r.id, err))
		}
		t.rows = append(t.rows, r)
	}
	if len(t.rows) == 0 {
		errs = append(errs, fmt.Errorf("%s has no rows", page))
	}
	return t, errors.Join(errs...)
}

func (t *table) row(number int, cells []string) (row, error) {
	r := row{line: number, id: cells[0]}
	if len(cells) != columns {
		return r, fmt.Errorf("%d columns, want %d: id, what goes wrong, eoc's answer, shown by, seen in", len(cells), columns)
	}
	for i, c := range cells {
		if c == "" {
			return r, fmt.Errorf("column %d is empty", i+1)
		}
	}
	shown := cells[3]
	for _, span := range codeSpan.FindAllStringSubmatch(shown, -1) {
		m := spelled.FindStringSubmatch(span[1])
		if m == nil {
			return r, fmt.Errorf("%q is no test: expected package, dot, name, such as internal/e2e.TestCrashMatrix", span[1])
		}
		r.tests = append(r.tests, test{t.module + "/" + m[1], m[2]})
	}
	if len(r.tests) == 0 && !reason.MatchString(shown) {
		return r, fmt.Errorf("it names no test and does not say why: expected `open: …`, `needs …` or `no test: …`")
	}
	return r, nil
}

// static says which tests there are not, by the sources alone. Whether they run, and all below a test, is known when they have.
func (t *table) static(root string) error {
	var errs []error
	known := map[string]map[string]bool{} // by package
	for _, r := range t.rows {
		for _, n := range r.tests {
			if known[n.pkg] == nil {
				names, err := testsIn(filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(n.pkg, t.module+"/"))))
				if err != nil {
					errs = append(errs, t.wrong(r, n, "%v", err))
				}
				known[n.pkg] = names
			}
			name, _, _ := strings.Cut(n.name, "/")
			if here, ok := known[n.pkg][name]; known[n.pkg] != nil && !ok {
				errs = append(errs, t.wrong(r, n, "the package has no test %s", name))
			} else if ok && !here {
				t.absent[n] = true
			}
		}
	}
	return errors.Join(errs...)
}

// testsIn are the functions in the tests of a folder, and whether this system compiles them.
func testsIn(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("there is no such package with tests"))
	}
	names := map[string]bool{}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		here, err := build.Default.MatchFile(filepath.Split(path))
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names[fn.Name.Name] = names[fn.Name.Name] || here
			}
		}
	}
	return names, nil
}

// check says which tests of the table have not run, or not to a good end. Of those that were skipped it tells out, unless
// it is for want of a Kafka and strict: then they have not run.
func (t *table) check(ran map[test]result, strict bool, out io.Writer) error {
	var errs []error
	for _, r := range t.rows {
		for _, n := range r.tests {
			switch got, ok := t.result(ran, n); {
			case t.absent[n]:
				fmt.Fprintf(out, "NOT FOR THIS SYSTEM, so that nobody knows whether eoc's answer to %s holds here: %s\n", r.id, t.short(n))
			case !ok:
				errs = append(errs, t.wrong(r, n, "it did not run%s", elsewhere(ran, n)))
			case got.end == skipped && strict && strings.Contains(got.why, skip.NoKafka):
				errs = append(errs, t.wrong(r, n, "it was skipped, in whole or in part: %s", got.why))
			case got.end == skipped:
				fmt.Fprintf(out, "SKIPPED, so that nobody knows whether eoc's answer to %s holds here: %s: %s\n", r.id, t.short(n), cmp.Or(got.why, "it says no reason"))
			case got.end == begun:
				errs = append(errs, t.wrong(r, n, "it began and did not end"))
			case got.end == failed:
				errs = append(errs, t.wrong(r, n, "it failed"))
			}
		}
	}
	return errors.Join(errs...)
}

// result is how a test ended. One that has passed though a part of it was skipped counts as skipped, for the reasons of all parts.
func (t *table) result(ran map[test]result, n test) (result, bool) {
	got, ok := ran[n]
	if got.end != passed {
		return got, ok
	}
	var reasons []string
	for other, r := range ran {
		if r.end == skipped && other.pkg == n.pkg && strings.HasPrefix(other.name, n.name+"/") {
			got.end = skipped
			reasons = append(reasons, r.why)
		}
	}
	slices.Sort(reasons)
	got.why = strings.Join(slices.Compact(reasons), "; ")
	return got, ok
}

// elsewhere is a hint at other packages that have a test of the name.
func elsewhere(ran map[test]result, n test) string {
	var others []string
	for other := range ran {
		if other.name == n.name {
			others = append(others, other.pkg)
		}
	}
	if len(others) == 0 {
		return ""
	}
	slices.Sort(others)
	return "; a test of that name is in " + strings.Join(others, ", ")
}

func (t *table) short(n test) string { return strings.TrimPrefix(n.pkg, t.module+"/") + "." + n.name }

func (t *table) wrong(r row, n test, what string, args ...any) error {
	return fmt.Errorf("%s:%d: %s names %s: %s", page, r.line, r.id, t.short(n), fmt.Sprintf(what, args...))
}
