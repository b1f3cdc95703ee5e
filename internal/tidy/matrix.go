package tidy

import (
	"bytes"
	"slices"
	"strings"
)

// asksForMatrix is how a test asks whether it may take long.
var asksForMatrix = []byte(`os.Getenv("EO_MATRIX")`)

// unrun wants the target matrix of the Makefile to run each package whose tests do more for it: nothing else would.
func unrun(files []*File) []Breach {
	var all []Breach
	for _, f := range files {
		if f.Go == nil || !f.isTest() || !bytes.Contains(f.Text, asksForMatrix) {
			continue
		}
		makefile, err := find(files, "Makefile")
		if err != nil {
			return append(all, Breach{Path: f.Path, Text: "it asks for EO_MATRIX, and " + err.Error()})
		}
		if !slices.Contains(strings.Fields(recipe(string(makefile.Text), "matrix")), "./"+f.dir()) {
			all = append(all, Breach{Path: f.Path, Text: "it asks for EO_MATRIX, but the target matrix of the Makefile does not run ./" + f.dir() + ": add a line with the test's name there"})
		}
	}
	return all
}

// recipe are the lines of a target of a Makefile.
func recipe(makefile, target string) string {
	_, text, _ := strings.Cut("\n"+makefile, "\n"+target+":")
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}
