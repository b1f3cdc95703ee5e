package build

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestTreeHasWhatTheCompilerNeedsAndNoMore(t *testing.T) {
	files, err := treeFiles(map[string][]byte{"main.go": []byte("package main\n")})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"go.mod", "go.sum", "program/main.go", "runtime/main.go", "runtime/internal/failure/failure.go"} {
		if len(files[path]) == 0 {
			t.Errorf("%s is missing", path)
		}
	}
	for path := range files {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") || strings.HasSuffix(path, ".txt") {
			t.Errorf("%s is there", path)
		}
	}
}

func TestTreeNameFollowsPathsAndContents(t *testing.T) {
	base := map[string][]byte{"a": []byte("1"), "b": []byte("2")}
	for _, other := range []map[string][]byte{
		{"a": []byte("1")},
		{"a": []byte("1"), "b": []byte("3")},
		{"a": []byte("1"), "c": []byte("2")},
		{"a": []byte("2"), "b": []byte("1")},
	} {
		if treeName(base) == treeName(other) {
			t.Errorf("%v and %v have one name", base, other)
		}
	}
}

func TestPlaceAtTheSameTime(t *testing.T) {
	c := cache{t.TempDir()}
	files := map[string][]byte{}
	for i := range 50 {
		files[fmt.Sprintf("d%d/f%d.go", i%7, i)] = bytes.Repeat([]byte{byte(i)}, 1000)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				dir, err := c.place(files)
				if err != nil {
					t.Error(err)
				} else if !holds(dir, files) {
					t.Error("the tree is not whole")
				}
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(c.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the cache holds %v (%v), want one tree", entries, err)
	}
}

func TestPlaceRepairsATree(t *testing.T) {
	c := cache{t.TempDir()}
	files := map[string][]byte{"a/a.go": []byte("package a\n"), "b.go": []byte("package b\n")}
	for _, damage := range []func(dir string) error{
		func(dir string) error { return os.Remove(filepath.Join(dir, "b.go")) },
		func(dir string) error { return os.WriteFile(filepath.Join(dir, "b.go"), []byte("package c\n"), 0o644) },
		func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "a", "x.go"), []byte("package a\n"), 0o644)
		},
	} {
		dir, err := c.place(files)
		if err != nil {
			t.Fatal(err)
		}
		if err := damage(dir); err != nil {
			t.Fatal(err)
		}
		if holds(dir, files) {
			t.Fatal("the damage is not seen")
		}
		if again, err := c.place(files); err != nil || again != dir || !holds(dir, files) {
			t.Errorf("placed %s (%v), want %s whole", again, err, dir)
		}
	}
}
