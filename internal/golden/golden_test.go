package golden

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the top of the repository, seen from this package.
const root = "../.."

// TestFolders keeps examples and golden folders in step, one folder for each example. Those in packages are packages,
// where the others are programs.
func TestFolders(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.eo"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, f := range files {
		examples = append(examples, strings.TrimSuffix(filepath.Base(f), ".eo"))
	}
	entries, err := os.ReadDir(filepath.Join(root, "golden"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "packages" {
			folders = append(folders, e.Name())
		}
	}
	for _, message := range unmatched(examples, folders) {
		t.Error(message)
	}
}

// unmatched says what is there without its counterpart, and what to do.
func unmatched(examples, folders []string) []string {
	var messages []string
	for _, e := range examples {
		if !slices.Contains(folders, e) {
			messages = append(messages, "examples/"+e+".eo has no folder golden/"+e+": run the tests with -update to make it")
		}
	}
	for _, f := range folders {
		if !slices.Contains(examples, f) {
			messages = append(messages, "golden/"+f+" has no examples/"+f+".eo: remove the folder, or add the example")
		}
	}
	return messages
}

func TestUnmatched(t *testing.T) {
	got := unmatched([]string{"clicks", "orders"}, []string{"orders", "old"})
	if len(got) != 2 || !strings.Contains(got[0], "clicks.eo has no folder") || !strings.Contains(got[1], "golden/old has no") {
		t.Errorf("%q", got)
	}
	if got := unmatched([]string{"a"}, []string{"a"}); got != nil {
		t.Errorf("%q", got)
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ got, want, diff string }{
		{"a\nb\n", "a\nb\n", ""},
		{"a\nx\n", "a\nb\n", "differs at line 2 (of 2, want 2)\n    a\nwant b\ngot  x"},
		{"a\nb \n", "a\nb\n", "differs at line 2 (of 2, want 2)\n    a\nwant b\ngot  \"b \\n\""},
		{"a\n", "", "differs at line 1 (of 1, want 0)\ngot  a"},
		{"a\nb", "a\nb\n", "differs at line 2 (of 2, want 2)\n    a\nwant b\ngot  \"b\""},
	} {
		if d := Diff([]byte(c.got), []byte(c.want)); d != c.diff {
			t.Errorf("Diff(%q, %q) = %q, want %q", c.got, c.want, d, c.diff)
		}
	}
}

// recorder is a test that remembers how it failed.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Errorf(f string, _ ...any) { r.failed = f }
func (r *recorder) Fatalf(f string, _ ...any) { r.failed = f; panic(r) }

func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "file.txt")
	check := func(got string, updating bool) (failed string) {
		defer func(old bool) { *update = old }(*update)
		*update = updating
		r := &recorder{TB: t}
		defer func() {
			if p := recover(); p != nil && p != any(r) {
				panic(p)
			}
			failed = r.failed
		}()
		Check(r, path, []byte(got))
		return r.failed
	}
	if f := check("one\n", false); !strings.Contains(f, "-update") {
		t.Errorf("a missing file: %q", f)
	}
	if f := check("one\n", true); f != "" {
		t.Errorf("update: %q", f)
	}
	if f := check("one\n", false); f != "" {
		t.Errorf("equal: %q", f)
	}
	if f := check("two\n", false); !strings.Contains(f, "-update") {
		t.Errorf("different: %q", f)
	}
}
