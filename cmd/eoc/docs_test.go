package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the top of the repository, seen from this package.
const root = "../.."

// The pipeline in the README is the example that the demo runs.
func TestREADMEShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join(root, "examples", "orders.eo"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(readme, append([]byte("```eo\n"), example...)) {
		t.Error("README.md does not show examples/orders.eo as it is")
	}
}

// What eoc init writes is the pipeline of the README, and the one that docs/embedding.md tests.
func TestOnePipeline(t *testing.T) {
	example, err := os.ReadFile(filepath.Join(root, "examples", "orders.eo"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{root + "/internal/starter/files/orders.eo", "testdata/embed/shop/orders.eo"} {
		if same, err := os.ReadFile(path); err != nil || !bytes.Equal(same, example) {
			t.Errorf("%s is not examples/orders.eo (%v)", path, err)
		}
	}
}

// The README's verbs and targets are there.
func TestREADMENamesWhatExists(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string]bool{}
	for _, cmd := range newRoot(streams{}).Commands() {
		verbs[cmd.Name()] = true
	}
	for _, m := range regexp.MustCompile("(?m)`eoc ([a-z]+) |^eoc ([a-z]+) \\S+\\.eo").FindAllSubmatch(readme, -1) {
		if verb := string(m[1]) + string(m[2]); !verbs[verb] {
			t.Errorf("README.md names `eoc %s`, which does not exist", verb)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)(?:^|&& )make ([a-z]+)$`).FindAllSubmatch(readme, -1) {
		if !bytes.Contains(makefile, append([]byte("\n"), append(m[1], ':')...)) {
			t.Errorf("README.md names `make %s`, which does not exist", m[1])
		}
	}
}

// Examples are as eoc fmt writes them, and without faults.
func TestExamplesAreInOrder(t *testing.T) {
	examples, err := filepath.Glob(filepath.Join(root, "examples", "*.eo"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples (%v)", err)
	}
	for _, args := range [][]string{{"fmt", "-d"}, {"check"}} {
		var out, faults bytes.Buffer
		if code := run(t.Context(), append(args, examples...), streams{nil, &out, &faults}); code != 0 || faults.Len() > 0 {
			t.Errorf("eoc %v: exit code %d\n%s%s", args, code, &out, &faults)
		}
	}
}

// Links between pages lead somewhere, also to a heading.
func TestLinksInDocs(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^):#]*)(#[^)]*)?\)`)
	for _, page := range readPages(t) {
		for _, m := range link.FindAllStringSubmatch(prose(t, page.Path), -1) {
			target := path.Join(path.Dir(page.Path), m[1])
			if m[1] == "" {
				target = page.Path
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, which does not exist", page.Path, target)
			} else if m[2] != "" && !slices.Contains(anchors(t, target), m[2]) {
				t.Errorf("%s links to %s%s, which is no heading", page.Path, target, m[2])
			}
		}
	}
}

// prose is the text of a page without its blocks of code.
func prose(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?s)```.*?```").ReplaceAllString(string(text), "")
}

// anchors are what GitHub makes of the headings of a page.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(prose(t, page), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, "#"+strings.ReplaceAll(name, " ", "-"))
	}
	return list
}
