// Package pages reads the documentation for the tests that hold it to its word: each block of code on a page is run or
// checked by some test, or says in its first line what it would need.
//
// What a block is stands behind its fence:
//
//	sh                 commands that cmd/eoc's tests run, block after block, in a folder of the page's own. It has
//	                   examples/, eoc, an embedded broker at localhost:9092 and a few of Kafka's own tools. A block
//	                   that begins with a comment `# needs …` is not run: only its flags, verbs and variables are checked
//	output             what the block of commands before it prints; `output part`: lines of that
//	eo                 a whole program without faults; `eo clauses`, `eo fragment` and `eo not-yet` are parts of one,
//	                   see dsl's test
//	eo NAME.eo, json NAME.jsonl, go NAME.go …
//	                   a file for the commands behind it
//	scenario           records and results of the program before it, which codegen's test plays
//	text, mermaid, md  for people only
package pages

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Page is a page of the documentation.
type Page struct {
	Path   string // from the repository's root, with slashes
	Blocks []Block
}

// Block is a fenced block of code.
type Block struct {
	Page string // where it stands
	Line int    // the first one of its text
	Lang string // the first word behind the fence
	Info string // what else stands there
	Text string
}

// Place is where the block stands, for messages.
func (b Block) Place() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// File is the name of the file that the block is; "" if it is none.
func (b Block) File() string {
	if strings.ContainsRune(b.Info, '.') {
		return b.Info
	}
	return ""
}

// Needs is what a machine must have to run the block, as the block itself says to its readers; "" if every test can
// run it.
func (b Block) Needs() string {
	first, _, _ := strings.Cut(b.Text, "\n")
	reason, _ := strings.CutPrefix(first, "# needs ")
	if reason == first {
		return ""
	}
	return reason
}

// Read reads README.md, CONTRIBUTING.md and everything below docs.
func Read(root string) ([]Page, error) {
	paths := []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		rel, err := filepath.Rel(root, path)
		paths = append(paths, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []Page
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		blocks, err := parse(path, text)
		if err != nil {
			return nil, err
		}
		list = append(list, Page{path, blocks})
	}
	return list, nil
}

// parse finds the blocks. A fence may be indented, as in a list; its text is then, too.
func parse(path string, text []byte) ([]Block, error) {
	var blocks []Block
	var open *Block
	var indent string
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		rest, fence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case open == nil && fence:
			indent = line[:len(line)-len(rest)-len("```")]
			lang, info, _ := strings.Cut(strings.TrimSpace(rest), " ")
			open = &Block{Page: path, Line: number + 1, Lang: lang, Info: strings.TrimSpace(info)}
		case open != nil && fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block at line %d does not end", path, open.Line)
	}
	return blocks, lines.Err()
}
