package generate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// modulePath is that of eoc, which generated packages import.
const modulePath = "github.com/eoc-lang/eoc"

// Advice says what is to be done so that a package in dir compiles with the runtime that belongs to the eoc of the
// given version: "" if that is nothing. It is advice and no error because the files are right without it, and because
// `go get` is best run when they are there: a requirement that nothing imports is dropped by `go mod tidy`.
func Advice(dir, version string) (string, error) {
	want := version
	if !semver.IsValid(version) || semver.Build(version) != "" {
		want = "latest" // built from a checkout: nobody can get that version
	}
	root, err := moduleRoot(dir)
	if err != nil {
		return "", err
	}
	if root == "" {
		return fmt.Sprintf("%s is in no Go module; in the folder of your program run `go mod init example.com/NAME`, then `go get %s@%s`", dir, modulePath, want), nil
	}
	path := filepath.Join(root, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	mod, err := modfile.Parse(path, text, nil)
	if err != nil {
		return fmt.Sprintf("the go command will not take this go.mod: %v", err), nil
	}
	have := requirement(mod)
	if have != local && inWorkspace(root) {
		return "", nil
	}
	get, err := goCommand(root, "get "+modulePath+"@"+want)
	if err == nil && have == "" && replaced(mod) { // there may be no version to get, and tidy takes what the generated code imports
		get, err = goCommand(root, "mod tidy")
	}
	switch {
	case err != nil:
		return "", err
	case have == "":
		return fmt.Sprintf("%s does not require %s, which the generated code imports; run `%s`", shortest(path), modulePath, get), nil
	case have == local || want == "latest" || have == want:
		return "", nil
	}
	return fmt.Sprintf("%s requires %s %s, but this eoc is %s; run `%s`, or generate with the eoc of the module: `go run %s/cmd/eoc generate`",
		shortest(path), modulePath, have, want, get, modulePath), nil
}

// local is the version of a module that stands in a folder of this machine: whoever put it there knows which it is.
const local = "local"

// replaced says whether mod takes eoc, whatever its version, from elsewhere.
func replaced(mod *modfile.File) bool {
	return slices.ContainsFunc(mod.Replace, func(r *modfile.Replace) bool { return r.Old.Path == modulePath && r.Old.Version == "" })
}

// requirement is the version of eoc that a build takes, by what mod alone says; "" if it takes none.
func requirement(mod *modfile.File) string {
	if mod.Module != nil && mod.Module.Mod.Path == modulePath {
		return local
	}
	have := ""
	for _, r := range mod.Require {
		if r.Mod.Path == modulePath {
			have = r.Mod.Version
		}
	}
	for _, r := range mod.Replace {
		if have == "" || r.Old.Path != modulePath || r.Old.Version != "" && r.Old.Version != have {
			continue
		}
		if r.New.Version == "" || r.New.Path != modulePath {
			return local // a folder or a fork
		}
		return r.New.Version
	}
	return have
}

// inWorkspace says whether eoc stands beside the module in root, in a workspace: a go.work above it uses or replaces eoc.
func inWorkspace(root string) bool {
	path := os.Getenv("GOWORK")
	if path == "" {
		if dir, err := rootWith("go.work", root); err == nil && dir != "" {
			path = filepath.Join(dir, "go.work")
		}
	}
	text, err := os.ReadFile(path) // GOWORK=off is no file
	if err != nil {
		return false
	}
	work, err := modfile.ParseWork(path, text, nil)
	if err != nil {
		return false // the go command will say so
	}
	for _, use := range work.Use {
		dir := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(path), dir)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && modfile.ModulePath(text) == modulePath {
			return true
		}
	}
	for _, r := range work.Replace {
		if r.Old.Path == modulePath {
			return true
		}
	}
	return false
}

// moduleRoot is the folder, dir or above it, that has a go.mod; "" if there is none. dir need not exist.
func moduleRoot(dir string) (string, error) { return rootWith("go.mod", dir) }

func rootWith(name, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && info.Mode().IsRegular() {
			return dir, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

// goCommand is a command for the module in root, as it has to be written here.
func goCommand(root, what string) (string, error) {
	here, err := moduleRoot(".")
	if err != nil {
		return "", err
	}
	if here != root {
		return "go -C " + quoted(shortest(root)) + " " + what, nil
	}
	return "go " + what, nil
}

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t'\"$&;()*?[]") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// shortest is path, from here if that is shorter.
func shortest(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(here, path); err == nil && len(relative) < len(path) {
		return relative
	}
	return path
}

// InModule says whether dir, which need not exist, belongs to a Go module.
func InModule(dir string) (bool, error) {
	root, err := moduleRoot(dir)
	return root != "", err
}
