package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// userModule copies a folder of testdata/embed and makes it a module of its own, as a user's is after
// `go mod init` and `go get -tool`: it requires eoc, which stands in this repository, and has eoc as a tool.
func userModule(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "embed", name))); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	// What eoc requires, its users require indirectly.
	text := strings.Replace(string(mod), "module github.com/eoc-lang/eoc", "module example.com/"+name, 1)
	text = regexp.MustCompile(`(?ms)^tool (\(.*?^\)|[^\n]*$)`).ReplaceAllString(text, "tool github.com/eoc-lang/eoc/cmd/eoc")
	text += fmt.Sprintf("\nrequire github.com/eoc-lang/eoc v0.0.0\n\nreplace github.com/eoc-lang/eoc => %s\n", here)
	for file, data := range map[string]string{"go.mod": text, "go.sum": string(sum)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goIn runs the go command in a user's module, without a network, and returns what it printed. With -trimpath it finds compiled what `make test` has compiled.
func goIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -trimpath", "GOWORK=off", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A user's module generates its package, tests it and has a service around it: docs/embedding.md shows these files, and its
// commands are run as they stand there.
func TestEmbedding(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "embedding.md"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	paths, err := filepath.Glob("testdata/embed/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(text))
	}
	blocks := regexp.MustCompile("(?s)```(go|eo|sh)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	dir := userModule(t, "shop")
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, filepath.Join(filepath.Dir(dir), "eoc")); err != nil { // the page's clone of eoc
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, b := range blocks {
		if b[1] != "sh" {
			if !strings.Contains(strings.Join(files, "\x00"), b[2]) {
				t.Errorf("docs/embedding.md shows what is in no file of testdata/embed:\n%s", b[2])
			}
			continue
		}
		for line := range strings.Lines(b[2]) {
			command, _, _ := strings.Cut(strings.TrimSpace(line), " #")
			switch words := strings.Fields(command); {
			case len(words) < 2 || words[0] != "go":
				t.Errorf("docs/embedding.md has a command that this test does not run: %s", line)
			case words[1] == "get" || words[1] == "mod" && words[2] != "edit": // userModule does as much, without a network
			case words[1] == "test":
				if out := goIn(t, dir, append([]string{"test", "-v"}, words[2:]...)...); !strings.Contains(out, "--- PASS: TestCrash") {
					t.Errorf("the unit tests did not run:\n%s", out)
				}
				ran["test"] = true
			default:
				goIn(t, dir, words[1:]...)
				ran[words[1]] = true
			}
		}
	}
	for _, verb := range []string{"mod", "generate", "vet", "test", "build"} {
		if !ran[verb] {
			t.Errorf("docs/embedding.md does not show go %s", verb)
		}
	}
	if out := goIn(t, dir, "generate", "./..."); out != "" {
		t.Errorf("go generate says %q", out)
	}
}

// What eoc init writes into a module of a user's becomes a package that compiles.
func TestInitInModule(t *testing.T) {
	dir := userModule(t, "shop")
	eoc := exec.Command("eoc", "init", "first")
	eoc.Dir = dir
	if out, err := eoc.CombinedOutput(); err != nil {
		t.Fatalf("eoc init: %v\n%s", err, out)
	}
	goIn(t, dir, "generate", "./first")
	goIn(t, dir, "vet", "./first/orders")
}
