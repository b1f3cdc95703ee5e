//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The commands of each page are run as they stand there, one block after the other; see package pages. A program that runs until it is stopped runs on
// beside the commands behind it. What needs more than this test has is looked at by TestCommandsThatAreNotRun.
func TestPages(t *testing.T) {
	for _, p := range readPages(t) {
		if ownTest[p.Path] != "" {
			continue
		}
		t.Run(filepath.Base(p.Path), func(t *testing.T) {
			f := &folder{t: t, dir: t.TempDir(), lib: t.TempDir()}
			if err := os.CopyFS(filepath.Join(f.dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
				t.Fatal(err)
			}
			f.stand()
			printed := ""
			for _, b := range p.Blocks {
				switch {
				case b.File() != "":
					f.write(b.File(), b.Text)
				case b.Lang == "sh" && b.Needs() == "" && endless(b.Text) != "":
					t.Fatalf("%s: %s runs until it is stopped; begin the block with a comment `# needs …`", b.Place(), endless(b.Text))
				case runs(b) && endless(b.Text) != "":
					f.start(b)
				case runs(b):
					printed = f.run(b)
				case b.Lang == "output" && b.Info == "part" && strings.Contains(spaced(printed), spaced(b.Text)):
				case b.Lang == "output" && spaced(b.Text) != spaced(printed):
					t.Errorf("%s: the commands before it print\n%s", b.Place(), printed)
				case b.Lang == "go":
					t.Errorf("%s: Go that no test compiles; name a file behind the fence, and run it", b.Place())
				}
			}
			f.stop()
		})
	}
}

// forever are a program and a consumer that nothing tells when to end.
var forever = regexp.MustCompile(`(?:^|\n|&& )((?:\./[a-z-]+|kafka-console-consumer\.sh)(?: --(?:brokers|state|name|http|ui|parallelism|create-topics|fresh|bootstrap-server|topic|from-beginning|isolation-level)(?:[= ][^- \n][^ \n]*)?)*\n)$`)

// endless is the command of a block that does not end by itself, its last; "" if all do.
func endless(text string) string {
	if m := forever.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// spaced is text with one space for many: what tools set in columns, pages do too.
func spaced(text string) string { return regexp.MustCompile(`[ \t]+`).ReplaceAllString(text, " ") }
