package codegen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var heap = regexp.MustCompile(`(?m)^(?:github\.com/eoc-lang/eoc/)?(golden/\S+\.go):(\d+):\d+: (.*(?:escapes to heap|moved to heap).*)$`)

// newJSON is the name of a function that makes a cursor.
var newJSON = regexp.MustCompile(`^new\w+JSON\d*$`)

// TestNothingPerRecord asks the compiler what the programs of the examples put on the heap: only what is made
// once, when a task begins.
func TestNothingPerRecord(t *testing.T) {
	cmd := exec.Command("go", "build", "-gcflags=-m", "./golden/...")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := heap.FindAllStringSubmatch(string(out), -1)
	if len(found) == 0 {
		t.Fatalf("the compiler does not say what it puts on the heap:\n%.1000s", out)
	}
	for _, m := range found {
		switch f := function(t, filepath.Join(root, m[1]), atoi(t, m[2])); {
		case f == "build" || f == "definition" || f == "Pipeline" || f == "main":
		case strings.HasPrefix(m[3], "append "): // a slab or scratch space that grows and stays
		case strings.HasPrefix(m[3], "[]byte{} "): // no memory: the empty text that is not nil
		case newJSON.MatchString(f):
		case f == "MarshalJSON" || f == "UnmarshalJSON" || f == "String": // which no pipeline calls
		default:
			t.Errorf("%s:%s: %s: %s", m[1], m[2], f, m[3])
		}
	}
}

// function is the name of the function around a line.
func function(t *testing.T, path string, line int) string {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && set.Position(fn.Pos()).Line <= line && line <= set.Position(fn.End()).Line {
			return fn.Name.Name
		}
	}
	return ""
}
