package codegen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/golden"
	"github.com/eoc-lang/eoc/planner"
)

// root is the top of the repository, seen from this package.
const root = ".."

// examples are the names of all examples.
func examples(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.eo"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".eo"))
	}
	return names
}

// plan checks and plans a file.
func plan(t testing.TB, path string) *planner.Graph {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return planText(t, filepath.Base(path), src)
}

func planText(t testing.TB, name string, src []byte) *planner.Graph {
	t.Helper()
	program, diagnostics := dsl.Check(name, src)
	fatal(t, name, diagnostics)
	g, diagnostics := planner.Plan(program)
	fatal(t, name, diagnostics)
	return g
}

func fatal(t testing.TB, name string, diagnostics []diag.Diagnostic) {
	t.Helper()
	for _, d := range diagnostics {
		if d.Severity == diag.Error {
			t.Fatalf("%s:%d:%d: %s [%s]", name, d.Span.Line, d.Span.Column, d.Message, d.Code)
		}
	}
}

func generate(t testing.TB, g *planner.Graph, o codegen.Options) []codegen.File {
	t.Helper()
	files, err := codegen.Generate(g, o)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestGolden compares the program of every example with its golden folder. The Go files there are
// a package that `go vet ./...` compiles.
func TestGolden(t *testing.T) {
	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, filepath.Join(root, "examples", name+".eo"), filepath.Join(root, "golden", name), codegen.Options{})
		})
	}
}

// TestGoldenOfRuntime keeps the records, folds and encoders of orders.eo where the runtime's own tests and benchmarks are: they
// measure the code that users get.
func TestGoldenOfRuntime(t *testing.T) {
	const imported = "import rt \"github.com/eoc-lang/eoc/runtime\"\n"
	text := []byte("package runtime_test\n\n// What golden/orders has beside main.go, in one file.\n\n" + imported)
	for _, f := range generate(t, plan(t, filepath.Join(root, "examples", "orders.eo")), codegen.Options{}) {
		if f.Name != "main.go" {
			_, body, _ := bytes.Cut(f.Data, []byte(imported))
			text = append(text, body...)
		}
	}
	golden.Check(t, filepath.Join(root, "runtime", "generated_test.go"), text)
}

// TestGoldenPackages does so with packages that `eoc generate` makes: of each example, which tests of the runtime and examples of rttest use, and of a pipeline whose
// columns have every type.
func TestGoldenPackages(t *testing.T) {
	paths := []string{"testdata/corpus/columns.eo"}
	for _, name := range examples(t) {
		paths = append(paths, filepath.Join(root, "examples", name+".eo"))
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".eo")
		t.Run(name, func(t *testing.T) {
			checkGolden(t, path, filepath.Join(root, "golden", "packages", name), codegen.Options{Package: name})
		})
	}
}

// TestGoldenOfSettings keeps the main files of the corpus that say every option of job, source, sink and connection: what each becomes
// for the runtime is to be read there. TestCorpus compiles them, but in memory most options make no difference. In filters.eo it is `store memory`.
func TestGoldenOfSettings(t *testing.T) {
	for _, name := range []string{"settings", "connection", "filters"} {
		for _, f := range generate(t, plan(t, filepath.Join("testdata", "corpus", name+".eo")), codegen.Options{}) {
			if f.Name == "main.go" {
				golden.Check(t, filepath.Join("testdata", "golden", name+".go"), f.Data)
			}
		}
	}
}

func checkGolden(t *testing.T, path, dir string, o codegen.Options) {
	t.Helper()
	made := map[string]bool{}
	for _, f := range generate(t, plan(t, path), o) {
		golden.Check(t, filepath.Join(dir, f.Name), f.Data)
		made[f.Name] = true
	}
	removeOthers(t, dir, made)
}

// removeOthers fails for a Go file that is not generated any more, or removes it with -update.
func removeOthers(t *testing.T, dir string, made map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if made[filepath.Base(f)] || strings.HasSuffix(f, "_test.go") {
			continue
		}
		if !golden.Updating() {
			t.Errorf("%s is not generated; run the test with -update to remove it", f)
		} else if err := os.Remove(f); err != nil {
			t.Error(err)
		}
	}
}

// TestSameBytes generates everything twice: maps in between must not show.
func TestSameBytes(t *testing.T) {
	for _, name := range examples(t) {
		path := filepath.Join(root, "examples", name+".eo")
		first := generate(t, plan(t, path), codegen.Options{})
		for range 5 {
			for i, f := range generate(t, plan(t, path), codegen.Options{}) {
				if f.Name != first[i].Name || !bytes.Equal(f.Data, first[i].Data) {
					t.Fatalf("%s: %s differs between two runs", name, f.Name)
				}
			}
		}
	}
}
