package runtime

import (
	"embed"
	"io/fs"
)

// sourceTree is what `eoc build` compiles generated programs with, so that it needs no checkout of eoc. go.mod and
// go.sum stand a folder above, where nothing can be embedded from, and a folder with a go.mod of its
// own would be a module of its own: hence copies under other names, which a test compares.
//
//go:embed *.go internal terminal go.mod.txt go.sum.txt
var sourceTree embed.FS

// SourceTree is the source of this package and of those below it, with eoc's go.mod and go.sum as go.mod.txt and
// go.sum.txt. Generated programs are built without this file.
func SourceTree() fs.FS { return sourceTree }
