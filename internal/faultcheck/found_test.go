package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// foundTests is how an entry of docs/found.md ends: the word, and packages in code spans with the names of tests behind each.
	foundTests = regexp.MustCompile(`(?s)\*Tests\*:(.*?)(?:\n\n|$)`)
	foundWord  = regexp.MustCompile("`([a-z0-9_/]+)`|\\b((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)")
)

// found is what is wrong with the tests that a text in the manner of docs/found.md names, and how many there are.
func found(root, text string) (n int, wrong []string) {
	if entries, ends := strings.Count("\n"+text, "\n## "), len(foundTests.FindAllString(text, -1)); entries != ends {
		wrong = append(wrong, fmt.Sprintf("%d entries, and %d that end with *Tests*", entries, ends))
	}
	for _, m := range foundTests.FindAllStringSubmatch(text, -1) {
		pkg := ""
		for _, word := range foundWord.FindAllStringSubmatch(m[1], -1) {
			if word[1] != "" {
				pkg = word[1]
				continue
			}
			n++
			names, err := testsIn(filepath.Join(root, filepath.FromSlash(pkg)))
			if _, ok := names[word[2]]; err != nil || !ok {
				wrong = append(wrong, fmt.Sprintf("%s.%s is no test (%v)", pkg, word[2], err))
			}
		}
	}
	return n, wrong
}

// TestFound: docs/found.md names tests that there are.
func TestFound(t *testing.T) {
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, "docs", "found.md"))
	if err != nil {
		t.Fatal(err)
	}
	n, wrong := found(root, string(text))
	if len(wrong) > 0 || n < 30 {
		t.Errorf("docs/found.md, with %d tests:\n%s", n, strings.Join(wrong, "\n"))
	}
	for text, want := range map[string]string{
		"## A\n\n*Kind*: b. *Tests*: `internal/faultcheck` TestFound, TestGone.\n": "internal/faultcheck.TestGone",
		"## A\n\n*Tests*: `internal/gone` TestFound.\n":                            "internal/gone.TestFound",
		"## A\n\n*Kind*: b.\n": "1 entries, and 0",
	} {
		if _, wrong := found(root, text); len(wrong) != 1 || !strings.HasPrefix(wrong[0], want) {
			t.Errorf("%q: %q, want %q", text, wrong, want)
		}
	}
}
