package generate

import (
	"os"
	"path/filepath"
	"testing"
)

// Each state of a go.mod has its advice, with a command that can be copied.
func TestAdvice(t *testing.T) {
	const missing = "go.mod does not require github.com/eoc-lang/eoc, which the generated code imports; run `go get github.com/eoc-lang/eoc@"
	const other = "go.mod requires github.com/eoc-lang/eoc v1.1.0, but this eoc is v1.2.0; run `go get github.com/eoc-lang/eoc@v1.2.0`, " +
		"or generate with the eoc of the module: `go run github.com/eoc-lang/eoc/cmd/eoc generate`"
	const require = "module m\n\ngo 1.26\n\nrequire github.com/eoc-lang/eoc v1.1.0\n"
	for name, c := range map[string]struct{ mod, version, want string }{
		"missing":            {"module m\n", "v1.2.0", missing + "v1.2.0`"},
		"missing, checkout":  {"module m\n", "(devel)", missing + "latest`"},
		"missing, changed":   {"module m\n", "v1.2.0+dirty", missing + "latest`"},
		"replaced alone":     {"module m\n\nreplace github.com/eoc-lang/eoc => ../eoc\n", "v1.2.0", "go.mod does not require github.com/eoc-lang/eoc, which the generated code imports; run `go mod tidy`"},
		"same":               {require, "v1.1.0", ""},
		"other":              {require, "v1.2.0", other},
		"unknown":            {require, "(unknown)", ""},
		"replaced":           {require + "\nreplace github.com/eoc-lang/eoc => ../eoc\n", "v1.2.0", ""},
		"replaced, fork":     {require + "\nreplace github.com/eoc-lang/eoc => example.com/eoc v1.0.0\n", "v1.2.0", ""},
		"replaced, version":  {require + "\nreplace github.com/eoc-lang/eoc => github.com/eoc-lang/eoc v1.2.0\n", "v1.2.0", ""},
		"another's replaced": {require + "\nreplace github.com/eoc-lang/eoc v1.0.0 => ../eoc\n", "v1.2.0", other},
		"pseudo-version":     {"module m\n\nrequire github.com/eoc-lang/eoc v0.0.0-20260101000000-0123456789ab\n", "v0.0.0-20260101000000-0123456789ab", ""},
		"eoc itself":         {"module github.com/eoc-lang/eoc\n", "v1.2.0", ""},
		"no go.mod":          {"", "v1.2.0", "orders is in no Go module; in the folder of your program run `go mod init example.com/NAME`, then `go get github.com/eoc-lang/eoc@v1.2.0`"},
		"broken":             {"modul m\n", "v1.2.0", "the go command will not take this go.mod: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOWORK", "off")
			t.Chdir(t.TempDir())
			if c.mod != "" {
				write(t, "go.mod", c.mod)
			}
			got, err := Advice("orders", c.version)
			if err != nil || got != c.want && (name != "broken" || len(got) < len(c.want) || got[:len(c.want)] != c.want) {
				t.Errorf("got  %s (%v)\nwant %s", got, err, c.want)
			}
		})
	}
}

// The command is for the folder that eoc was started in.
func TestAdviceElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "my service/go.mod", "module m\n")
	got, err := Advice(filepath.Join("my service", "gen", "orders"), "v1.2.0")
	want := filepath.Join("my service", "go.mod") + " does not require github.com/eoc-lang/eoc, which the generated code imports; " +
		"run `go -C 'my service' get github.com/eoc-lang/eoc@v1.2.0`"
	if err != nil || got != want {
		t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
	t.Chdir("my service")
	if err := os.MkdirAll("gen", 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir("gen")
	want = filepath.Join("..", "go.mod") + " does not require github.com/eoc-lang/eoc, which the generated code imports; run `go get github.com/eoc-lang/eoc@v1.2.0`"
	if got, err = Advice("orders", "v1.2.0"); err != nil || got != want {
		t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
}

// In a workspace that has eoc, go.mod need not.
func TestAdviceInWorkspace(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "eoc/go.mod", "module github.com/eoc-lang/eoc\n")
	write(t, "shop/go.mod", "module m\n")
	write(t, "off.work", "go 1.26\n\nuse ./shop\n")
	t.Setenv("GOWORK", "")
	for _, c := range []struct {
		work, gowork string
		advice       bool
	}{
		{"go 1.26\n\nuse (\n\t./eoc\n\t./shop\n)\n", "", false},
		{"go 1.26\n\nuse ./shop\n\nreplace github.com/eoc-lang/eoc => ./eoc\n", "", false},
		{"go 1.26\n\nuse ./shop\n", "", true},
		{"broken", "", true},
		{"go 1.26\n\nuse ./eoc\n", "off", true},
		{"go 1.26\n\nuse ./eoc\n", "off.work", true},
	} {
		write(t, "go.work", c.work)
		t.Setenv("GOWORK", c.gowork)
		if got, err := Advice(filepath.Join("shop", "orders"), "v1.2.0"); err != nil || (got != "") != c.advice {
			t.Errorf("GOWORK=%s\n%s: %q (%v)", c.gowork, c.work, got, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
