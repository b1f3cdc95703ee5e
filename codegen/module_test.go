package codegen_test

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/planner"
)

// module is a Go module of its own, in a folder that goes away with the test: generated packages, and what uses
// them. It sees eoc as any other module would.
type module struct {
	dir   string
	names []string                     // of the generated packages
	rows  map[string]map[string]string // the types of what sinks write, by package and topic
}

func newModule(t testing.TB) *module {
	t.Helper()
	m := &module{dir: t.TempDir(), rows: map[string]map[string]string{}}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module github.com/eoc-lang/eoc", "module example.com/generated", 1)
	text += fmt.Sprintf("\nrequire github.com/eoc-lang/eoc v0.0.0\n\nreplace github.com/eoc-lang/eoc => %s\n", here)
	m.write(t, "go.mod", []byte(text))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, "go.sum", sum)
	return m
}

func (m *module) write(t testing.TB, name string, data []byte) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// encoder is the begin of the method of a sink: its topic and the type of its rows.
var encoder = regexp.MustCompile(`to topic ([\w.-]+)\.\nfunc \(p \*pipeline\) \w+\(r \*(\w+), at rt\.Time\)`)

// add generates the package of g as a library.
func (m *module) add(t testing.TB, name string, g *planner.Graph) {
	t.Helper()
	m.rows[name] = map[string]string{}
	for _, f := range generate(t, g, codegen.Options{Package: name}) {
		if formatted, err := format.Source(f.Data); err != nil || string(formatted) != string(f.Data) {
			t.Errorf("%s/%s is not as gofmt writes it (%v)", name, f.Name, err)
		}
		m.write(t, name+"/"+f.Name, f.Data)
		for _, e := range encoder.FindAllStringSubmatch(string(f.Data), -1) {
			m.rows[name][e[1]] = e[2]
		}
	}
	m.names = append(m.names, name)
}

// addRunner copies the program that runs the packages in memory, with a table of them.
func (m *module) addRunner(t testing.TB) {
	t.Helper()
	src, err := os.ReadFile("testdata/runner/main.go")
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, "runner/main.go", src)
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\trt \"github.com/eoc-lang/eoc/runtime\"\n\n")
	for _, n := range m.names {
		fmt.Fprintf(&b, "\t%q\n", "example.com/generated/"+n)
	}
	b.WriteString(")\n\nvar pipelines = map[string]func() rt.Pipeline{\n")
	for _, n := range m.names {
		fmt.Fprintf(&b, "\t%q: %s.Pipeline,\n", n, n)
	}
	b.WriteString("}\n\nvar rows = map[string]map[string]row{\n")
	for _, n := range m.names {
		fmt.Fprintf(&b, "\t%q: {\n", n)
		for topic, typ := range m.rows[n] {
			fmt.Fprintf(&b, "\t\t%q: new(%s.%s),\n", topic, n, typ)
		}
		b.WriteString("\t},\n")
	}
	b.WriteString("}\n")
	m.write(t, "runner/pipelines.go", []byte(b.String()))
}

// run runs the go command in the module.
func (m *module) run(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, m.shown(string(out)))
	}
}

var position = regexp.MustCompile(`(?m)^(?:vet: )?(\S+\.go):(\d+):`)

// shown is the output of a tool with the lines of code that it speaks of.
func (m *module) shown(out string) string {
	const most = 20
	for _, p := range position.FindAllStringSubmatch(out, most) {
		path := p[1]
		if !filepath.IsAbs(path) {
			path = filepath.Join(m.dir, path)
		}
		if src, err := os.ReadFile(path); err == nil {
			var line int
			fmt.Sscan(p[2], &line)
			if lines := strings.Split(string(src), "\n"); line <= len(lines) {
				out += fmt.Sprintf("\n%s:%d: %s", p[1], line, lines[line-1])
			}
		}
	}
	return out
}
