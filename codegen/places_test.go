package codegen_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/codegen"
)

var placeComment = regexp.MustCompile(`// ([\w.-]+\.eo):(\d+): (.*)`)

// TestPlaces compares every `// orders.eo:17: where amount > 0` with what stands in that line.
func TestPlaces(t *testing.T) {
	for _, pattern := range []string{"testdata/corpus/*.eo", filepath.Join(root, "examples", "*.eo")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(src), "\n")
			found := 0
			for _, f := range generate(t, plan(t, path), codegen.Options{}) {
				for _, m := range placeComment.FindAllStringSubmatch(string(f.Data), -1) {
					found++
					n, _ := strconv.Atoi(m[2])
					if m[1] != filepath.Base(path) || n < 1 || n > len(lines) {
						t.Errorf("%s: %s", f.Name, m[0])
						continue
					}
					if text := oneLine(lines[n-1:]); !strings.Contains(withoutSpace(text), withoutSpace(m[3])) {
						t.Errorf("%s: %s\nis not in line %d: %.120s", f.Name, m[0], n, text)
					}
				}
			}
			if found < 5 {
				t.Errorf("%s: %d places in the code", path, found)
			}
		}
	}
}

func withoutSpace(s string) string { return strings.ReplaceAll(s, " ", "") }

// oneLine is lines as one, without comments, with single spaces, except in strings and quoted names.
func oneLine(lines []string) string {
	var b strings.Builder
	quote := byte(0)
	text := strings.Join(lines, "\n")
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			b.WriteByte(c)
			if c == '\\' && quote == '"' {
				i++
				b.WriteByte(text[i])
			} else if c == quote {
				quote = 0
			}
			continue
		case c == '"' || c == '`':
			quote = c
		case strings.HasPrefix(text[i:], "//"):
			i += strings.IndexByte(text[i:]+"\n", '\n')
			c = ' '
		case c == '\n' || c == '\t':
			c = ' '
		}
		if c == ' ' && strings.HasSuffix(b.String(), " ") {
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
