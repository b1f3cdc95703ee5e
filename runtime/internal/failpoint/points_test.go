package failpoint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestAll reads points.go: every constant is in All, has a sentence on what is durable, and no name stands twice.
func TestAll(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "points.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Point
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if v.Names[0].Name == "Env" {
				continue
			}
			name, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, Point(name))
			if doc := v.Doc.Text(); !strings.HasPrefix(doc, v.Names[0].Name+":") || !strings.Contains(doc, "Durable: ") {
				t.Errorf("%s: its comment must begin with its name and say what is durable", v.Names[0].Name)
			}
		}
	}
	if !slices.Equal(declared, All()) {
		t.Errorf("All() differs from the constants\n all: %v\nfile: %v", All(), declared)
	}
	sorted := slices.Sorted(slices.Values(declared))
	if len(slices.Compact(sorted)) != len(declared) {
		t.Errorf("a name stands twice: %v", declared)
	}
}
