package codegen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/race"
	"github.com/eoc-lang/eoc/planner"
)

// compile takes any text through the compiler. Of a program it demands that the Go is as gofmt writes it, compiles, and does nothing but call the
// runtime: whatever names, texts and comments say. It reports whether the text was a program.
func compile(t testing.TB, file, src string) bool {
	t.Helper()
	p, _ := dsl.Check(file, []byte(src))
	if p == nil {
		return false
	}
	g, _ := planner.Plan(p)
	if g == nil {
		return false
	}
	for _, o := range []codegen.Options{{}, {Package: "embedded"}} {
		files, err := codegen.Generate(g, o)
		if err != nil {
			t.Fatalf("%v, of\n%s", err, src)
		}
		set := token.NewFileSet()
		var parsed []*ast.File
		for _, f := range files {
			if text, err := format.Source(f.Data); err != nil || !bytes.Equal(text, f.Data) {
				t.Fatalf("%s is not as gofmt writes it (%v), of\n%s", f.Name, err, src)
			}
			tree, err := parser.ParseFile(set, f.Name, f.Data, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, tree)
		}
		if wrong := doesMore(t, set, parsed, o.Package == ""); wrong != "" {
			t.Fatalf("%s, of\n%s", wrong, src)
		}
	}
	return true
}

// exports is the runtime as the Go compiler sees it, and what it imports.
var exports = sync.OnceValues(func() (map[string]string, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", runtimePath)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err == io.EOF {
			return files, nil
		} else if err != nil {
			return nil, err
		}
		files[p.ImportPath] = p.Export
	}
})

const runtimePath = "github.com/eoc-lang/eoc/runtime"

// runtimeImporter reads the runtime once for all programs.
var runtimeImporter = sync.OnceValues(func() (types.Importer, error) {
	files, err := exports()
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }), err
})

var (
	// builtins are those that generated code calls. None of them ends the program or writes.
	builtins = []string{"append", "cap", "clear", "copy", "len", "make", "max", "min", "new"}
	// notCalled is what the runtime has for others: a program that starts another is none of a pipeline.
	notCalled = []string{"Run", "SourceTree", "Main"}
	// directive is a comment that means something to Go or to a tool.
	directive = regexp.MustCompile(`^//(go:|line |export |extern |[a-z0-9]+:[a-z0-9])|^/\*|^// ?\+build|^// Code generated .*\n(?s:.*)\n`)
)

// doesMore says what a package does beside declaring types and functions that call the runtime; "" if nothing.
func doesMore(t testing.TB, set *token.FileSet, files []*ast.File, program bool) (wrong string) {
	t.Helper()
	imports, err := runtimeImporter()
	if err != nil {
		t.Fatal(err)
	}
	say := func(at ast.Node, what string, args ...any) {
		if wrong == "" {
			wrong = fmt.Sprintf("%s: %s", set.Position(at.Pos()), fmt.Sprintf(what, args...))
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: imports, Error: func(err error) {
		if wrong == "" {
			wrong = err.Error()
		}
	}}
	pkg, err := config.Check(files[0].Name.Name, set, files, info)
	if err != nil {
		return wrong
	}
	mains := 0
	for _, f := range files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if directive.MatchString(c.Text) {
					say(c, "comment %q", c.Text)
				}
			}
		}
		for _, spec := range f.Imports {
			if spec.Path.Value != `"`+runtimePath+`"` || spec.Name == nil || spec.Name.Name != "rt" {
				say(spec, "imports %s", spec.Path.Value)
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					say(d, "a variable of the package: its value is computed before main")
				}
			case *ast.FuncDecl:
				switch {
				case d.Recv == nil && d.Name.Name == "init", d.Body == nil:
					say(d, "func %s", d.Name.Name)
				case d.Recv == nil && d.Name.Name == "main":
					mains++
					if len(d.Body.List) != 1 || !program || types.ExprString(d.Body.List[0].(*ast.ExprStmt).X) != "rt.Main(definition())" {
						say(d, "main does something else")
					}
					continue
				}
				ast.Inspect(d, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt, *ast.ChanType:
						say(n, "a %T", n)
					case *ast.CallExpr:
						if what := called(pkg, info, n); what != "" {
							say(n, "calls %s", what)
						}
					}
					return true
				})
			}
		}
	}
	if (mains == 1) != program {
		return fmt.Sprintf("%d functions main", mains)
	}
	return wrong
}

// called is what a call calls, if it is neither the package's own, nor the runtime's, nor a conversion, nor a builtin that is allowed.
func called(pkg *types.Package, info *types.Info, call *ast.CallExpr) string {
	fn := ast.Unparen(call.Fun)
	if info.Types[fn].IsType() {
		return ""
	}
	if index, ok := fn.(*ast.IndexExpr); ok {
		fn = index.X
	}
	if index, ok := fn.(*ast.IndexListExpr); ok {
		fn = index.X
	}
	var id *ast.Ident
	switch fn := fn.(type) {
	case *ast.Ident:
		id = fn
	case *ast.SelectorExpr:
		id = fn.Sel
	default:
		return types.ExprString(call.Fun)
	}
	switch obj := info.Uses[id].(type) {
	case *types.Builtin:
		if slices.Contains(builtins, obj.Name()) {
			return ""
		}
	case *types.Func:
		if obj.Pkg() == pkg || obj.Pkg() != nil && obj.Pkg().Path() == runtimePath && !slices.Contains(notCalled, obj.Name()) {
			return ""
		}
	}
	return types.ExprString(call.Fun)
}

// hostileSeeds are programs that are odd on purpose, and the examples.
func hostileSeeds(t testing.TB) map[string]string {
	t.Helper()
	seeds := map[string]string{}
	patterns := []string{"testdata/hostile/*.eo", filepath.Join(root, "examples", "*.eo"), "testdata/corpus/*.eo"}
	if race.Enabled {
		patterns = patterns[:2]
	}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			seeds[filepath.Base(f)] = string(src)
		}
	}
	return seeds
}

// TestHostileProgramsCompile: each seed is a program, so that it shows something.
func TestHostileProgramsCompile(t *testing.T) {
	for file, src := range hostileSeeds(t) {
		if !compile(t, file, src) {
			_, diags := dsl.Check(file, []byte(src))
			t.Errorf("%s is no program: %+v", file, diags)
		}
	}
}

// TestMoreIsNoticed holds the judge against programs that do more.
func TestMoreIsNoticed(t *testing.T) {
	const head = "package main\n\nimport rt \"" + runtimePath + "\"\n\n"
	const main = "func main() { rt.Main(definition()) }\n\nfunc definition() rt.Pipeline { return rt.Pipeline{} }\n\n"
	for text, want := range map[string]string{
		head + main: "",
		strings.Replace(head, "import rt", "import \"os\"\nimport rt", 1) + main + "func f() { os.Exit(1) }\n": "os",
		head + main + "func init() {}\n":                                   "func init",
		head + main + "func f() { panic(1) }\n":                            "calls panic",
		head + main + "func f() { go f() }\n":                              "GoStmt",
		head + main + "var x = f()\n\nfunc f() int { return 1 }\n":         "a variable",
		head + main + "//go:noinline\nfunc f() {}\n":                       "//go:noinline",
		head + main + "//line x.go:1\nfunc f() {}\n":                       "//line",
		head + main + "/* x */\n":                                          "/* x */",
		head + main + "func f(g func()) { g() }\n":                         "calls g",
		head + main + "func f() { func() {}() }\n":                         "calls (func() literal)",
		head + main + "func f() { rt.Main(definition()) }\n":               "calls rt.Main",
		head + strings.Replace(main, "definition())", "rt.Pipeline{})", 1): "something else",
		head + "func definition() rt.Pipeline { return rt.Pipeline{} }\n":  "0 functions main",
		head + main + "func f() { rt.Nothing() }\n":                        "undefined",
		head + main + "func f(e error) string { return e.Error() }\n":      "calls e.Error",
	} {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, "x.go", text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := doesMore(t, set, []*ast.File{f}, true); got == "" != (want == "") || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q, of\n%s", got, want, text)
		}
	}
}

// words are the parts of a program that a mutation takes: texts, quoted names, comments, names, numbers, signs.
var words = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\\n])*\"|`[^`\n]*`|//[^\n]*|[\\pL_][\\pL\\pN_]*|[0-9][\\pL\\pN_.]*|\\s+|[^\\s\\pL]")

// evil are words to put in the place of others.
var evil = []string{
	`"*/ panic(1) /*"`, `"a\nb"`, "\"`+x+`\"", `"\" + x + \""`, `"\x00\xff"`, `"\u2028//go:embed x"`, "`*/`", "`//go:linkname a b`", "`import \"C\"`", "`type`", "`func`", "`init`", "`main`", "`rt`", "`a\"b`",
	"`\\n`", "`x y`", "`\u202e`", "`.`", "`1`", "`Ä`", "`String`", "`_`", "//go:embed /etc/passwd\n", "//go:build ignore\n", "// #include <stdlib.h>\n", "// import \"C\"\n", "//line x.go:1\n", "// */ /*\n",
	"init", "main", "rt", "string", "nil", "true", "len", "p", "t", "definition", "build", "pipeline", "Pipeline", "embedded", "_", "__", "x2",
	"0", "9223372036854775807", "99999999999999999999", "0.1", "1e300", "1us", "292y", "3650d", "-", "(", ")", "{", "}", "if true then 1 else 2", "??", "null", "\r\n",
}

// mutate changes a few words of a program: into evil ones, into others of it, doubled or left out.
func mutate(r *rand.Rand, src string) string {
	list := words.FindAllString(src, -1)
	for range 1 + r.IntN(4) {
		at := r.IntN(len(list))
		if strings.TrimSpace(list[at]) == "" {
			continue
		}
		old := list[at]
		switch with := evil[r.IntN(len(evil))]; r.IntN(6) {
		case 0:
			list[at] = list[r.IntN(len(list))]
		case 1:
			list[at] = ""
		case 2:
			list[at] += " " + with
		case 3:
			list[at] = with
		default: // everywhere, so that it still means something
			for i, w := range list {
				if w == old {
					list[i] = with
				}
			}
		}
	}
	return strings.Join(list, "")
}

// TestMutatedPrograms is a short run of what FuzzCompile does at length, with mutations that more often leave a program.
func TestMutatedPrograms(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	seeds := hostileSeeds(t)
	names := slices.Sorted(maps.Keys(seeds))
	rounds, programs := 400, 0
	if race.Enabled {
		rounds = 80
	}
	for range rounds {
		if compile(t, "x.eo", mutate(r, seeds[names[r.IntN(len(names))]])) {
			programs++
		}
	}
	t.Logf("%d of %d were programs", programs, rounds)
	if programs < rounds/20 {
		t.Errorf("only %d of %d were programs", programs, rounds)
	}
}

func FuzzCompile(f *testing.F) {
	for file, src := range hostileSeeds(f) {
		f.Add(file, src)
	}
	compile(f, "orders.eo", hostileSeeds(f)["orders.eo"]) // reads the runtime, in the time of no input
	f.Fuzz(func(t *testing.T, file, src string) { compile(t, file, src) })
}
