package skip

import (
	"io"
	"os"
	"testing"
)

func TestLoudly(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = write
	var skipped bool
	t.Run("part", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		Loudly(t, "no %s here", "moon")
		t.Error("the test goes on")
	})
	os.Stderr = before
	write.Close()
	said, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	if want := "SKIPPED TestLoudly/part: no moon here\n"; !skipped || string(said) != want {
		t.Errorf("skipped %v, said %q, want %q", skipped, said, want)
	}
}
