package codegen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/planner"
)

// hostile is what a text would be that wants to become code: it ends a comment, a line, a string of each kind,
// a block, and has what Go refuses in a source file.
const hostile = "*/\n\r\u2028func init() { panic(1) }\n`+x+`\"+x+\"\\'}\x00\xff\ufeff\u202e//go:embed x\n//line y:1\n)"

// TestHostileTexts adds the text to every text of a graph, to one after the other wherever it stands and to all at
// once. dsl lets little of it pass; the files must be Go all the same, with the declarations that they had.
func TestHostileTexts(t *testing.T) {
	fresh := func() *planner.Graph { return plan(t, filepath.Join(root, "examples", "payments.eo")) }
	honest := declarations(t, generate(t, fresh(), codegen.Options{}))
	all := map[string]bool{}
	texts(reflect.ValueOf(fresh()), func(v reflect.Value) { all[v.String()] = true })
	delete(all, "")
	if len(all) < 50 {
		t.Fatalf("only %d texts in the graph", len(all))
	}
	targets := append(slices.Sorted(maps.Keys(all)), "all of them")
	for _, target := range targets {
		g := fresh()
		texts(reflect.ValueOf(g), func(v reflect.Value) {
			if v.String() != "" && (target == "all of them" || target == v.String()) {
				v.SetString(v.String() + hostile)
			}
		})
		got := declarations(t, generate(t, g, codegen.Options{}))
		if len(got) != len(honest) || slices.Contains(got, "func init") {
			t.Errorf("%q became code: %d declarations, want %d:\n%s", target, len(got), len(honest), got)
		}
	}
}

// texts calls f for every string that can be reached from v and set.
func texts(v reflect.Value, f func(reflect.Value)) {
	seen := map[any]bool{}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || seen[v.Interface()] {
				return
			}
			seen[v.Interface()] = true
			visit(v.Elem())
		case reflect.Interface:
			if !v.IsNil() {
				visit(v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					visit(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		case reflect.String:
			// Operators and aggregates have types of their own.
			if v.CanSet() && v.Type().PkgPath() == "" && !seen[v.Addr().Interface()] {
				seen[v.Addr().Interface()] = true
				f(v)
			}
		}
	}
	visit(v)
}

// declarations are the names declared in files.
func declarations(t *testing.T, files []codegen.File) []string {
	t.Helper()
	var list []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file.Name, file.Data, parser.ParseComments)
		if err != nil {
			t.Fatalf("%s: %v\n%s", file.Name, err, file.Data)
		}
		for _, c := range f.Comments {
			for _, line := range c.List {
				if strings.HasPrefix(line.Text, "//go:") || strings.HasPrefix(line.Text, "//line") || strings.HasPrefix(line.Text, "/*") {
					t.Errorf("%s: comment %q", file.Name, line.Text)
				}
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				list = append(list, "func "+d.Name.Name)
			case *ast.GenDecl:
				list = append(list, fmt.Sprint(d.Tok, " ", len(d.Specs)))
			}
		}
	}
	return list
}
