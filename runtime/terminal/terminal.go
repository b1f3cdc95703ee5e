// Package terminal says what may be written to a terminal: the compiler and the programs that it makes go by the same rules.
package terminal

import (
	"os"

	"github.com/mattn/go-isatty"
)

// Is says whether a stream is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// Coloured says whether colours are welcome on a stream: it is a terminal that has them, and nobody says no. lookup is as os.LookupEnv.
func Coloured(stream any, lookup func(string) (string, bool)) bool {
	return Is(stream) && !plain(lookup)
}

// Rewritten says whether a line that is written over again and again is wanted: where colours are, but for build servers (CI), which keep what
// they are written.
func Rewritten(stream any, lookup func(string) (string, bool)) bool {
	return Coloured(stream, lookup) && !set(lookup, "CI")
}

// plain follows https://no-color.org: any text in NO_COLOR turns colours off. A dumb terminal has none.
func plain(lookup func(string) (string, bool)) bool {
	term, _ := lookup("TERM")
	return set(lookup, "NO_COLOR") || term == "dumb"
}

func set(lookup func(string) (string, bool), name string) bool {
	value, _ := lookup(name)
	return value != ""
}
