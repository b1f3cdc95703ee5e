// Package starter writes a first pipeline for somebody who has none: one that can be read, and that runs as it is.
package starter

import (
	"embed"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eoc-lang/eoc/internal/generate"
)

// Pipeline is the name of the pipeline's file.
const Pipeline = "orders.eo"

// goFile is the name of the Go file that has the pipeline generated.
const goFile = "generate.go"

//go:embed files
var embedded embed.FS

// Write writes the pipeline and its data into dir, and a line for go generate if dir is in a Go module. It returns the paths of the files in order, and whether
// it is. If one of them is there already, nothing is written.
func Write(dir string) (written []string, inModule bool, err error) {
	files := map[string][]byte{}
	add := func(name string, text []byte) {
		path := filepath.Join(dir, name)
		files[path], written = text, append(written, path)
	}
	for _, name := range []string{Pipeline, "data/orders.jsonl"} {
		text, err := embedded.ReadFile("files/" + name)
		if err != nil {
			return nil, false, err
		}
		add(filepath.FromSlash(name), text)
	}
	switch info, err := os.Stat(dir); {
	case err == nil && !info.IsDir():
		return nil, false, fmt.Errorf("%s is a file; choose a folder: eoc init DIR", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	inModule, err = generate.InModule(dir)
	if err != nil {
		return nil, false, err
	}
	if inModule {
		name, err := packageOf(dir)
		if err != nil {
			return nil, false, err
		}
		add(goFile, fmt.Appendf(nil, "package %s\n\n//go:generate go tool eoc generate %s\n", name, Pipeline))
	}
	for _, path := range written {
		if _, err := os.Lstat(path); err == nil {
			return nil, false, fmt.Errorf("%s is there already, and nothing is overwritten; choose another folder: eoc init DIR", path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
	}
	for _, path := range written {
		if err := create(path, files[path]); err != nil {
			return nil, false, err
		}
	}
	return written, inModule, nil
}

// create writes a file that must not be there.
func create(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// packageOf is the name of the Go package in dir, or one that would suit it.
func packageOf(dir string) (string, error) {
	if _, err := os.Stat(dir); err == nil {
		p, err := build.ImportDir(dir, 0)
		var none *build.NoGoError
		if err == nil {
			return p.Name, nil
		} else if !errors.As(err, &none) {
			return "", err
		}
	}
	absolute, err := filepath.Abs(dir)
	return generate.Name(absolute), err
}
