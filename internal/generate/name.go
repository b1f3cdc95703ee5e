package generate

import (
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// prefix goes in front of what cannot be the name of a package by itself.
const prefix = "pipeline"

// special are names that mean something to the go command: as a package (main, documentation) or as a folder.
var special = map[string]bool{"main": true, "documentation": true, "internal": true, "vendor": true, "testdata": true}

// Name is the name of the package that the .eo file at path becomes, and of its folder: the small letters and
// digits of the file's name, capitals made small and everything else left out, since Go wants names of
// packages short, and import paths ASCII. Where that is no name (a keyword such as `type`, a predeclared name such as `string`, one that
// is special to the go command, one that begins with a digit, nothing at all), `pipeline` goes in front.
func Name(path string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(path), ".eo"))
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, base)
	if !token.IsIdentifier(name) || types.Universe.Lookup(name) != nil || special[name] {
		return prefix + name
	}
	return name
}
