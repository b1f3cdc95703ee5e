package dsl_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/golden"
)

// A case is testdata/errors/<code>_<case>.txtar: a source, whose name is that of the file
// checked, and `want`, the full text that a user sees.
func errorCases(t testing.TB) map[string]*txtar.Archive {
	files, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	cases := map[string]*txtar.Archive{}
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Files) == 1 && golden.Updating() {
			a.Files = append(a.Files, txtar.File{Name: "want"})
		}
		if len(a.Files) != 2 || a.Files[1].Name != "want" {
			t.Fatalf("%s holds a source and `want`, nothing else", f)
		}
		cases[f] = a
	}
	return cases
}

func TestErrors(t *testing.T) {
	for path, a := range errorCases(t) {
		code, _, ok := strings.Cut(filepath.Base(path), "_")
		if !ok {
			t.Errorf("%s is not named <code>_<case>.txtar", path)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			src := a.Files[0]
			p, diags := dsl.Check(src.Name, src.Data)
			if len(diags) == 0 {
				t.Fatal("no error")
			}
			if p != nil {
				t.Error("an error, and a program too")
			}
			for _, d := range diags {
				if d.Code != code {
					t.Errorf("code %s, the file is named after %s", d.Code, code)
				}
				if s := d.Span; s.Line < 1 || s.Column < 1 || s.Length < 1 || s.File != src.Name {
					t.Errorf("%s is at %+v", d.Code, s)
				}
			}
			var out bytes.Buffer
			if err := diag.Render(&out, diags, src.Data, false); err != nil {
				t.Fatal(err)
			}
			made := &txtar.Archive{Comment: a.Comment, Files: []txtar.File{src, {Name: "want", Data: out.Bytes()}}}
			golden.Check(t, path, txtar.Format(made))
		})
	}
}

// Every code has a case, and every case a code that `eoc explain` knows.
func TestEveryCodeHasACase(t *testing.T) {
	seen := map[string]bool{}
	for path := range errorCases(t) {
		code, _, _ := strings.Cut(filepath.Base(path), "_")
		seen[code] = true
		if _, ok := diag.Explain(code); !ok {
			t.Errorf("%s: docs/errors.md does not explain %s", path, code)
		}
	}
	for _, code := range diag.Codes() {
		if !seen[code] {
			t.Errorf("testdata/errors has no case %s_….txtar", code)
		}
	}
}
