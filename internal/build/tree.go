package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime"
)

// modulePath is that of eoc itself. The tree is a module of the same name, so that generated
// code finds the runtime under the path that it imports.
const modulePath = "github.com/eoc-lang/eoc"

// programDir is the folder of the generated package in the tree.
const programDir = "program"

// unusedFor is how long a tree stays in the cache after it was last built.
const unusedFor = 7 * 24 * time.Hour

// treeFiles is everything that the go command needs: slash-separated path to contents.
func treeFiles(program map[string][]byte) (map[string][]byte, error) {
	files := map[string][]byte{}
	source := runtime.SourceTree()
	err := fs.WalkDir(source, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(path, "_test.go") || path == "embed.go":
			return nil
		}
		text, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		switch path {
		case "go.mod.txt", "go.sum.txt":
			files[strings.TrimSuffix(path, ".txt")] = text
		default:
			files["runtime/"+path] = text
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the embedded runtime: %w", err)
	}
	for name, text := range program {
		files[programDir+"/"+name] = text
	}
	return files, nil
}

// treeName is a hash of paths and contents: equal trees have equal names.
func treeName(files map[string][]byte) string {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n", path, len(files[path]))
		h.Write(files[path])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// cache is a folder of build trees, or of binaries (Cached). Trees are kept because the go command finds its own results faster for
// files that it has seen, and so that a report about one can name files that exist.
type cache struct{ dir string }

func openCache(name string) (cache, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return cache{}, &EnvironmentError{What: "there is no folder for caches", Err: err, Help: "set HOME or XDG_CACHE_HOME"}
	}
	dir := filepath.Join(user, "eoc", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cache{}, &EnvironmentError{What: "cannot make the cache folder", Err: err, Help: "XDG_CACHE_HOME chooses another"}
	}
	return cache{dir}, nil
}

// place returns a folder that holds exactly the given files. Several processes may place the same files at
// the same time: each writes a folder of its own, and the first that renames it wins.
func (c cache) place(files map[string][]byte) (string, error) {
	final := filepath.Join(c.dir, treeName(files))
	if holds(final, files) {
		now := time.Now()
		os.Chtimes(final, now, now) // else it would be pruned though it is in use; it is whole either way
		return final, nil
	}
	temporary, err := os.MkdirTemp(c.dir, "new-")
	if err != nil {
		return "", cannotWrite(c.dir, err)
	}
	defer os.RemoveAll(temporary)
	for path, text := range files {
		name := filepath.Join(temporary, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return "", cannotWrite(c.dir, err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return "", cannotWrite(c.dir, err)
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return "", cannotWrite(c.dir, err)
	}
	if os.Rename(temporary, final) == nil || holds(final, files) {
		return final, nil
	}
	// Something else stands there: a tree that was tampered with or half deleted.
	if err := os.RemoveAll(final); err != nil {
		return "", cannotWrite(c.dir, err)
	}
	if err := os.Rename(temporary, final); err != nil && !holds(final, files) {
		return "", cannotWrite(c.dir, err)
	}
	return final, nil
}

// holds says whether dir has the given files and no other Go files beside them.
func holds(dir string, files map[string][]byte) bool {
	found := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, ok := files[filepath.ToSlash(relative)]
		if !ok || !bytes.Equal(text, want) {
			return errors.New("differs")
		}
		found++
		return nil
	})
	return err == nil && found == len(files)
}

// prune removes trees that have not been built for long, and what interrupted builds have left. What
// cannot be removed is tried again by the next build.
func (c cache) prune(keep string) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		path := filepath.Join(c.dir, entry.Name())
		info, err := entry.Info()
		if err == nil && path != keep && time.Since(info.ModTime()) > unusedFor {
			os.RemoveAll(path)
		}
	}
}

func cannotWrite(dir string, err error) error {
	return &EnvironmentError{What: "cannot write the build tree in " + dir, Err: err, Help: "XDG_CACHE_HOME chooses another place"}
}
