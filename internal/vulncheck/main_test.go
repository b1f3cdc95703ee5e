package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// database writes one that knows a vulnerability of every version of a module, and returns its address.
func database(t *testing.T, module string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index/db.json":      `{"modified":"2026-01-31T00:00:00Z"}`,
		"index/modules.json": `[{"path":"` + module + `","vulns":[{"id":"GO-2026-9999","modified":"2026-01-31T00:00:00Z"}]}]`,
		"index/vulns.json":   `[{"id":"GO-2026-9999","modified":"2026-01-31T00:00:00Z"}]`,
		"ID/GO-2026-9999.json": `{"schema_version":"1.3.1","id":"GO-2026-9999","modified":"2026-01-31T00:00:00Z","published":"2026-01-31T00:00:00Z",
			"summary":"made up for a test","details":"made up for a test","database_specific":{"url":"https://pkg.go.dev/vuln/GO-2026-9999"},"affected":[{"package":{"name":"` + module + `","ecosystem":"Go"},
			"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],"ecosystem_specific":{}}]}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return "file://" + filepath.ToSlash(dir)
}

// TestFinds: what is found fails, and what is not there does not.
func TestFinds(t *testing.T) {
	for module, want := range map[string]int{"golang.org/x/mod": 3, "example.com/nobody/uses/this": 0} {
		var out strings.Builder
		code := check("../..", database(t, module), []string{"./internal/generate"}, true, lookLimit, &out)
		if code != want || strings.Contains(out.String(), "GO-2026-9999") != (want != 0) {
			t.Errorf("%s: exit code %d, want %d:\n%s", module, code, want, out.String())
		}
	}
	var out strings.Builder
	if code := check("../..", database(t, "golang.org/x/mod"), []string{"./nothing/is/here"}, false, lookLimit, &out); code == 0 {
		t.Errorf("packages that do not exist are fine:\n%s", out.String())
	}
}

// TestUnreachable: nothing was looked for, and nobody may take that for nothing found.
func TestUnreachable(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, db := range []string{gone.URL, other.URL, "file://" + filepath.ToSlash(t.TempDir())} {
		for required, want := range map[bool]int{false: 0, true: 1} {
			var out strings.Builder
			if code := check("../..", db, []string{"./internal/generate"}, required, lookLimit, &out); code != want || strings.Contains(out.String(), "SKIPPED") == required {
				t.Errorf("%s, required %v: exit code %d, want %d:\n%s", db, required, code, want, out.String())
			}
		}
	}
}

// TestSlow: a database that is there and then answers nothing keeps nobody waiting, and is no good news.
func TestSlow(t *testing.T) {
	stop := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/index/db.json" {
			<-stop
		}
	}))
	defer slow.Close()
	defer close(stop)
	const limit = 2 * time.Second
	for required, want := range map[bool]int{false: 0, true: 1} {
		var out strings.Builder
		code := check("../..", slow.URL, []string{"./internal/generate"}, required, limit, &out)
		if said := out.String(); code != want || strings.Contains(said, "SKIPPED") == required || !strings.Contains(said, "did not end within 2s") {
			t.Errorf("required %v: exit code %d, want %d:\n%s", required, code, want, said)
		}
	}
}
