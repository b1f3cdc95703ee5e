package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Whoever has installed eoc can build without a network: the modules that Go fetched for cmd/eoc are enough.
func TestBuildNeedsOnlyTheModulesOfEoc(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	proxy := "file://" + filepath.ToSlash(goEnv(t, "GOMODCACHE")) + "/cache/download"
	r := request(t, hello)
	t.Setenv("GOMODCACHE", t.TempDir())

	list := exec.Command("go", "list", "-deps", "./cmd/eoc")
	list.Dir = root
	list.Env = append(os.Environ(), "GOPROXY="+proxy, "GOFLAGS=-modcacherw")
	if out, err := list.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("GOPROXY", "off")
	if _, err := Build(t.Context(), r); err != nil {
		t.Error(err)
	}
}
