package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxLines is the length that a file never passes. Most stay below 400.
const maxLines = 500

func length(f *File) []Breach {
	if n := f.lines(); n > maxLines {
		return []Breach{{f.Path, 0, fmt.Sprintf("%d lines, at most %d: find the two things that it is about, and give each a file", n, maxLines)}}
	}
	return nil
}

// sleeps finds tests that wait for time instead of an event.
func sleeps(f *File) []Breach {
	var breaches []Breach
	ast.Inspect(f.Go, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && !isBubble(f) {
				breaches = append(breaches, f.breach(sel,
					"time.Sleep in a test: wait for the event itself, with a generous deadline, or use testing/synctest"))
			}
		}
		return true
	})
	return breaches
}

// isBubble reports whether a test runs in bubbles, where sleeping takes no time.
func isBubble(f *File) bool {
	return slices.ContainsFunc(f.Go.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"testing/synctest"` })
}

var (
	// workplace is a path of a machine on which someone works.
	workplace = regexp.MustCompile(`\B/(work|home|Users|root)/[\w.-]`)
	// registry is the name of a host that serves packages. Go and Maven know theirs.
	registry = regexp.MustCompile(`\b(goproxy|proxy|registry|repo\d?|nexus|artifactory|mirrors?|sum)\.[a-z0-9-]+\.[a-z]{2,}\b`)
	address  = regexp.MustCompile(`https?://[^\s"'` + "`" + `)>\]]+`)
)

// hosts are those that texts may refer to, with what is below them. The last ones are nobody's, by RFC 2606.
var hosts = []string{
	"localhost", "127.0.0.1", "example.com", "github.com", "go.dev", "apache.org", "confluent.io", "graphviz.org", "w3.org",
	"rfc-editor.org", "unicode.org", "no-color.org", "json.org", "acm.org", "arxiv.org", "doi.org", "research.swtch.com", "ietf.org",
	"example", "invalid", "test",
}

// words looks for what does not belong into the repository.
func words(f *File) []Breach {
	if f.Path == "go.sum" || strings.HasPrefix(f.Path, "internal/tidy/") {
		return nil // the rules name what they forbid
	}
	var breaches []Breach
	each := func(re *regexp.Regexp, message func(match string) string) {
		for _, at := range re.FindAllIndex(f.Text, -1) {
			if text := message(string(f.Text[at[0]:at[1]])); text != "" {
				line := 1 + bytes.Count(f.Text[:at[1]], []byte("\n"))
				breaches = append(breaches, Breach{f.Path, line, text})
			}
		}
	}
	each(workplace, func(m string) string {
		return "a path of one machine (" + m + "…): use a path within the repository, t.TempDir() or a flag"
	})
	each(registry, func(m string) string {
		return m + " is a package registry: leave the choice to the tool's own settings"
	})
	each(address, func(m string) string {
		if host := foreignHost(m); host != "" {
			return host + " is not among the hosts that texts refer to: cite a lasting source, or add it to hosts in internal/tidy"
		}
		return ""
	})
	return breaches
}

// foreignHost is the host of an address if it is not one of hosts. Placeholders are no hosts.
func foreignHost(text string) string {
	u, err := url.Parse(text)
	if err != nil || !strings.Contains(u.Hostname(), ".") {
		return ""
	}
	for _, h := range hosts {
		if u.Hostname() == h || strings.HasSuffix(u.Hostname(), "."+h) {
			return ""
		}
	}
	return u.Hostname()
}
