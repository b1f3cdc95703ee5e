// Package tidy holds the rules of this repository that a compiler does not know: who may import whom,
// how long a file may be, what must be documented. Its test checks them and says for each
// breach what to do instead.
package tidy

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// module is the path of the module.
const module = "github.com/eoc-lang/eoc"

// File is a file of the repository.
type File struct {
	Path string // from the root, with slashes
	Text []byte
	// Of a Go file:
	Go        *ast.File
	Set       *token.FileSet
	Generated bool
}

// dir is the folder of f; "." for the root.
func (f *File) dir() string {
	if i := strings.LastIndexByte(f.Path, '/'); i >= 0 {
		return f.Path[:i]
	}
	return "."
}

func (f *File) isTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

// lines is the number of lines.
func (f *File) lines() int { return bytes.Count(f.Text, []byte("\n")) }

// Breach is a broken rule.
type Breach struct {
	Path string
	Line int    // 0: the file as a whole
	Text string // what is wrong, and what to do instead
}

// breach is a breach at a node of f.
func (f *File) breach(n ast.Node, text string) Breach {
	return Breach{f.Path, f.line(n.Pos()), text}
}

func (f *File) line(p token.Pos) int { return f.Set.Position(p).Line }

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// Read reads all text files below root: Go, Markdown, scripts, pipelines. What begins with a dot is
// left out, but for .ci, and so is testdata of Go files that do not parse on purpose.
func Read(root string) ([]*File, error) {
	var files []*File
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if strings.HasPrefix(name, ".") && path != root && name != ".ci" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text, 0) >= 0 { // a binary
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f := &File{Path: filepath.ToSlash(rel), Text: text, Set: set}
		files = append(files, f)
		if strings.HasSuffix(name, ".go") && !strings.Contains(f.Path, "testdata/") {
			f.Generated = generated.Match(text)
			f.Go, err = parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		}
		return err
	})
	return files, err
}

// Check applies all rules.
func Check(files []*File) []Breach {
	var all []Breach
	for _, f := range files {
		all = append(all, words(f)...)
		if f.Go == nil {
			continue
		}
		all = append(all, imports(f)...)
		if !f.Generated {
			all = append(all, length(f)...)
		}
		if f.isTest() {
			all = append(all, sleeps(f)...)
		} else {
			all = append(all, helpless(f)...)
		}
	}
	all = append(all, undocumented(files)...)
	all = append(all, unrun(files)...)
	return append(all, dependencies(files)...)
}

// find is the file at path.
func find(files []*File, path string) (*File, error) {
	for _, f := range files {
		if f.Path == path {
			return f, nil
		}
	}
	return nil, errors.New(path + " is missing")
}
