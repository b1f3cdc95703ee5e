package terminal

import (
	"os"
	"testing"
)

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm"}, false},
		{map[string]string{"NO_COLOR": ""}, false},
		{map[string]string{"NO_COLOR": "0"}, true}, // any text
		{map[string]string{"TERM": "dumb"}, true},
	} {
		lookup := func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }
		if got := plain(lookup); got != c.want {
			t.Errorf("with %v: %v", c.env, got)
		}
	}
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if Is(pipe) || Is(nil) || Coloured(pipe, os.LookupEnv) || Rewritten(pipe, os.LookupEnv) {
		t.Error("a pipe is taken for a terminal")
	}
}
