package diag

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// What is wrong with a file is often read by others, in the log of a build, and somebody may have written a password into it. So
// in a line that is about passwords the texts are hidden, but for those that surely name something. This goes by the line alone, since the
// rest of it may be wrong in any way.
var (
	aboutSecrets = regexp.MustCompile(`^\s*sasl|\bsasl\s*[:=]?\s*\w+\s*\(|\b(?:password|passwd|token)\b\s*[:=]?\s*(?:["']|env\b|secret\b)`)
	// someText is a text, perhaps without its second quote.
	someText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|'[^']*'?`)
	// bareWord is a secret without quotes. What is followed by a bracket is a function.
	bareWord = regexp.MustCompile(`\b(?:password|passwd|token)\s*[:=]\s*([^\s"'(),]+)\s*[^\s"'(]?`)
	naming   = regexp.MustCompile(`\b(?:user\s*:|(?:user\s*:\s*)?env\s*\(|secret\s*\()\s*$`)
	// bareName is the name of a variable that stands in quotes behind the word `secret`, without its bracket. It has capital letters alone: another text may be the secret.
	bareName   = regexp.MustCompile(`^"[A-Z][A-Z0-9_]*"$`)
	bareSecret = regexp.MustCompile(`\b(?:password|passwd|token)\s*[:=]\s*secret\s*$`)
	aName      = regexp.MustCompile(`^"[A-Za-z_][A-Za-z0-9_.@-]*"$`)
	// placing is in front of a text that says where something is: a topic, brokers, a file, a time. None of these is taken for one
	// if it has other signs, such as the user:password@ of a URL.
	placing = regexp.MustCompile(`\b(?:kafka|dlq|group|bolt|timestamp)\s*\(\s*$|\bbrokers\s*$|\bfiles\s*\([^()]*\b(?:ca|cert|key)\s*:\s*$`)
	aPlace  = regexp.MustCompile(`^"[A-Za-z0-9_./,: -]*"$`)
)

// longestNaming is how far in front of a text is looked for what makes it a name or a place.
const longestNaming = 128

// hidden are the parts of a line that nobody is to see: start and end of each, in bytes.
func hidden(line string) [][2]int {
	mentions := func(word string) bool { return strings.Contains(line, word) }
	if !slices.ContainsFunc([]string{"sasl", "password", "passwd", "token"}, mentions) || !aboutSecrets.MatchString(line) {
		return nil // nearly every line, so it is found out without the slow way
	}
	var parts [][2]int
	texts := someText.FindAllStringIndex(line, -1)
	for _, at := range texts {
		text := line[at[0]:at[1]]
		before := line[max(0, at[0]-longestNaming):at[0]]
		if aName.MatchString(text) && naming.MatchString(before) || bareName.MatchString(text) && bareSecret.MatchString(before) || aPlace.MatchString(text) && placing.MatchString(before) {
			continue
		}
		end := at[1]
		if len(text) > 1 && text[len(text)-1] == text[0] {
			end--
		}
		parts = append(parts, [2]int{at[0] + 1, end})
	}
	for _, at := range bareWord.FindAllStringSubmatchIndex(line, -1) {
		i, exact := slices.BinarySearchFunc(texts, at[2], func(text []int, at int) int { return cmp.Compare(text[0], at) })
		within := exact || i > 0 && at[2] < texts[i-1][1]
		next := strings.TrimLeft(line[at[3]:], " \t")
		word := line[at[2]:at[3]]
		call := strings.HasPrefix(next, "(") || (word == "secret" || word == "env") && strings.HasPrefix(next, `"`) // perhaps without its bracket
		if !call && !within {
			parts = append(parts, [2]int{at[2], at[3]})
		}
	}
	slices.SortFunc(parts, func(a, b [2]int) int { return a[0] - b[0] })
	return parts
}

// veil is a line as it may be shown. It keeps its length.
func veil(line string) string {
	var b strings.Builder
	last := 0
	for _, part := range hidden(line) {
		b.WriteString(line[last:part[0]] + stars(line[part[0]:part[1]]))
		last = part[1]
	}
	return b.String() + line[last:]
}

func stars(s string) string { return strings.Repeat("*", len([]rune(s))) }

// Veil hides in what diagnostics say of a source what Render hides in its lines.
func Veil(diags []Diagnostic, source []byte) {
	lines := strings.Split(string(source), "\n")
	known := map[int][][2]int{}
	for i := range diags {
		d := &diags[i]
		if d.Span.Line < 1 || d.Span.Line > len(lines) {
			continue
		}
		line := lines[d.Span.Line-1]
		parts, ok := known[d.Span.Line]
		if !ok {
			parts = hidden(line)
			known[d.Span.Line] = parts
		}
		said := strings.Join(append([]string{d.Message, d.Label, d.Help}, d.Notes...), "\n")
		for _, part := range parts {
			text := line[part[0]:part[1]]
			if text == "" || !strings.Contains(said, text) {
				continue
			}
			replace := strings.NewReplacer(`"`+text, `"`+stars(text), "`"+text+"`", "`"+stars(text)+"`")
			d.Message, d.Label, d.Help = replace.Replace(d.Message), replace.Replace(d.Label), replace.Replace(d.Help)
			for k := range d.Notes {
				d.Notes[k] = replace.Replace(d.Notes[k])
			}
		}
	}
}
