package runtime

import (
	"bytes"
	"io/fs"
	"os"
	"testing"

	"github.com/eoc-lang/eoc/internal/golden"
)

// Programs are built with the embedded copies, so they must be what eoc is tested with.
func TestEmbeddedModuleFilesAreCurrent(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		want, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name+".txt", want)
		embedded, err := fs.ReadFile(SourceTree(), name+".txt")
		if err != nil {
			t.Fatal(err)
		}
		// With -update the embedded copy is that of the next build.
		if !golden.Updating() && !bytes.Equal(embedded, want) {
			t.Errorf("runtime/%s.txt is not embedded as it is", name)
		}
	}
}
