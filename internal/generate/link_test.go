//go:build unix

package generate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinksAreNotFollowed: who has put a link where a package or one of its files belongs does not choose what eoc writes.
func TestLinksAreNotFollowed(t *testing.T) {
	ours := Header + "orders.eo. DO NOT EDIT.\n\npackage orders\n"
	for name, link := range map[string]func(top, target string) error{
		"a file": func(top, target string) error {
			return os.Symlink(filepath.Join(target, "main.go"), filepath.Join(top, "orders", "main.go"))
		},
		"a file that leads nowhere": func(top, target string) error {
			return os.Symlink(filepath.Join(target, "new.go"), filepath.Join(top, "orders", "main.go"))
		},
		"the folder": func(top, target string) error {
			if err := os.Remove(filepath.Join(top, "orders")); err != nil {
				return err
			}
			return os.Symlink(target, filepath.Join(top, "orders"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			top, target := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(target, "main.go"), []byte(ours), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(top, "orders"), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := link(top, target); err != nil {
				t.Fatal(err)
			}
			p := Package{Source: filepath.Join(top, "orders.eo"), Name: "orders", Dir: filepath.Join(top, "orders"), Files: map[string][]byte{"main.go": []byte(ours + "\nvar x int\n")}}
			err := p.Check()
			if err == nil || !strings.Contains(err.Error(), "is a symbolic link") || !strings.Contains(err.Error(), filepath.Join(top, "orders")) {
				t.Errorf("checked: %v", err)
			}
			entries, err := os.ReadDir(target)
			if err != nil || len(entries) != 1 {
				t.Errorf("what the link leads to holds %v, %v", entries, err)
			}
			if text, err := os.ReadFile(filepath.Join(target, "main.go")); err != nil || string(text) != ours {
				t.Errorf("what the link leads to is %q, %v", text, err)
			}
		})
	}
}

// TestOtherLinks: a link to the folder that packages are put into is the user's own way, and a link beside the files of a package is theirs, too. One to a
// file that eoc has made goes like such a file: the link, not what it leads to.
func TestOtherLinks(t *testing.T) {
	ours := Header + "orders.eo. DO NOT EDIT.\n\npackage orders\n"
	top, target := t.TempDir(), filepath.Join(t.TempDir(), "old.go")
	if err := os.Mkdir(filepath.Join(top, "real"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, []byte(ours), 0o666); err != nil {
		t.Fatal(err)
	}
	p := Package{Source: "orders.eo", Name: "orders", Dir: filepath.Join(top, "link", "orders"), Files: map[string][]byte{"main.go": []byte(ours)}}
	edited, old := filepath.Join(p.Dir, ".#main.go"), filepath.Join(p.Dir, "old.go")
	for i := range 2 {
		if i == 1 {
			if err := errors.Join(os.Symlink("user@host.1:2", edited), os.Symlink(target, old)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(edited); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to what eoc has made before: %v", err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != ours {
		t.Errorf("what it led to is %q, %v", text, err)
	}
}
