package diag

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// What is wrong with a file is often read by others, in the log of a build, and somebody may have written a password into it, in
// whatever wrong way. So where a file is about passwords, all is hidden but what surely says something else: the words of the
// language, and texts that name something or say where it is.
var (
	// declaring opens a declaration; the options of the first three may be about passwords, and so may those of a sink that stands in a stream.
	declaring = regexp.MustCompile(`^\s*(?:(job|source|sink)|type|stream)\s+\w`)
	inPlace   = regexp.MustCompile(`\bkafka\s*\(.*\{\s*$`)

	// aboutSecrets is what only somebody writes who is about to say a password.
	aboutSecrets = regexp.MustCompile(`^\s*sasl|\bsasl\s*[:=]?\s*\w+\s*\(|\b(?:password|passwd|token)\b\s*[:=]?\s*(?:["']|env\b|secret\b)|\bbrokers\s*[:=]?\s*["'][^"']*@|\w+://[^\s/"']*:[^\s/"']*@`)
	// likeSecrets is a word that may begin the same where options stand, unless it names something there.
	likeSecrets = regexp.MustCompile(`(?i)[a-z0-9_]*(?:sasl|oauthbearer|scram|passwor|passwd|token|secret|credential)[a-z0-9_]*|\b(?:pass|passphrase|pwd|pw|plain|auth|api_?key)\b`)
	named       = regexp.MustCompile(`(?:\b(?:job|source|sink|from|time|key)\s|:\s*|\bkey\s[\w\s,]*,\s*)$`)
	// saidSecrets is so too, even in what seems to be a text: a quote that is too much turns texts inside out.
	saidSecrets = regexp.MustCompile(`(?i)(?:passwor[dt]|passwd|token)\s*[:=]`)
	// goesOn ends a line whose next one says the rest.
	goesOn = regexp.MustCompile(`(?i)(?:passwor[dt]|passwd|token|secret|\bsasl(?:\s*[:=]?\s*[\w-]+)?|[:=,(])\s*$`)
	// mentioned is in every line that one of these matches.
	mentioned = regexp.MustCompile(`(?i)sasl|pass|pwd|pw|token|secret|credential|brokers|auth|scram|plain|api_?key|://`)

	// someText is a text, perhaps without its second quote.
	someText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|'[^']*'?`)
	bareWord = regexp.MustCompile("[^\\s\"'`(){},:=;]+")
	// secretKey is in front of a secret, whatever that is.
	secretKey = regexp.MustCompile(`(?i)(?:^|[\s,;({])(?:passwor[dt]|passwd|pass|pwd|pw|token)\s*[:=]?\s*$`)

	naming = regexp.MustCompile(`\b(?:user\s*:|(?:user\s*:\s*)?env\s*\(|secret\s*\()\s*$`)
	aName  = regexp.MustCompile(`^"[A-Za-z_][A-Za-z0-9_.@-]*"$`)
	// bareName is the name of a variable behind the word `secret`, without brackets or without quotes. It has capital letters alone: another text may be the secret.
	bareName   = regexp.MustCompile(`^"?[A-Z][A-Z0-9_]*"?$`)
	bareSecret = regexp.MustCompile(`\b(?:password|passwd|token)\s*[:=]\s*secret\s*\(?\s*$`)
	// placing is in front of a text that says where something is: a topic, brokers, a file, a time. None of these is taken for one
	// if it has other signs, such as the user:password@ of a URL.
	placing = regexp.MustCompile(`\b(?:kafka|dlq|group|bolt|timestamp)\s*\(\s*$|\bbrokers\s*$|\bfiles\s*\([^()]*\b(?:ca|cert|key)\s*:\s*$`)
	aPlace  = regexp.MustCompile(`^"[A-Za-z0-9_./,: -]*"$`)
	aMethod = regexp.MustCompile(`\bsasl\s*[:=]?\s*$`)
)

// optionWords stand in options, or in what may follow them on a line, or people know them from elsewhere. Another word may be a password.
var optionWords = strings.Fields(`at_least_once backoff bolt brokers ca cert checkpoint commit delivery dlq earliest env exactly_once
	fail files format from group json kafka key latest max memory none oauthbearer off on on_error parallelism partitions password plain
	replication restart sasl scram256 scram512 secret skip start store stream time timestamp tls to token txn_prefix txn_timeout user watermark

	jaas login mechanism pass passwd pw pwd sasl_mechanism sasl_password sasl_user scram-sha-256 scram-sha-512 true username`)

// longestNaming is how far in front of something is looked for what makes it a name or a place.
const longestNaming = 128

// part is a stretch of a line: its start and end, in bytes.
type part [2]int

// secrets are the parts of each line that nobody is to see.
func secrets(lines []string) [][]part {
	parts := make([][]part, len(lines))
	options, depth, more := true, 0, false // in front of all declarations somebody may set what is no option
	for i, line := range lines {
		if d := declaring.FindStringSubmatch(line); d != nil {
			options, depth, more = d[1] != "", 0, false
		}
		options = options || inPlace.MatchString(line)
		texts := someText.FindAllStringIndex(line, -1)
		from := 0
		if depth == 0 && !more {
			if from = aboutFrom(line, texts, options); from < 0 {
				continue // nearly every line
			}
		}
		parts[i] = hidden(line, texts, from)
		rest := blank(line, texts)[from:]
		depth, more = brackets(rest, depth), goesOn.MatchString(rest) || isOpen(line, texts) || more && strings.Trim(rest, " \t(){}:=,") == ""
	}
	return parts
}

// aboutFrom is where a line begins to be about passwords, -1 if it is not.
func aboutFrom(line string, texts [][]int, options bool) int {
	if !mentioned.MatchString(line) {
		return -1
	}
	first := len(line)
	begin := func(about *regexp.Regexp, line string) {
		if at := about.FindStringIndex(line); at != nil {
			first = min(first, at[0])
		}
	}
	begin(aboutSecrets, line)
	if options {
		begin(saidSecrets, line)
		b := blank(line, texts)
		for _, at := range likeSecrets.FindAllStringIndex(b, -1) {
			if !named.MatchString(b[max(0, at[0]-longestNaming):at[0]]) {
				first = min(first, at[0])
				break
			}
		}
	}
	if first == len(line) {
		return -1
	}
	return first
}

// blank is a line with nothing in its texts.
func blank(line string, texts [][]int) string {
	b := []byte(line)
	for _, at := range texts {
		for i := at[0] + 1; i < at[1]-1; i++ {
			b[i] = '.'
		}
	}
	return string(b)
}

// isOpen reports whether the last text of a line lacks its second quote.
func isOpen(line string, texts [][]int) bool {
	if len(texts) == 0 {
		return false
	}
	last := texts[len(texts)-1]
	return last[1]-last[0] == 1 || line[last[0]] != line[last[1]-1]
}

// brackets is how many are open behind a line. With a block that ends on a line of its own, what was open in it has ended.
func brackets(line string, depth int) int {
	if strings.HasPrefix(strings.TrimSpace(line), "}") {
		depth = 0
	}
	for _, r := range line {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		}
	}
	return depth
}

// hidden are the parts of a line that is about passwords, its words from a place on.
func hidden(line string, texts [][]int, from int) []part {
	var parts []part
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
		parts = append(parts, part{at[0] + 1, end})
	}
	for _, at := range bareWord.FindAllStringIndex(line[from:], -1) {
		start, end := from+at[0], from+at[1]
		i, within := slices.BinarySearchFunc(texts, start, func(text []int, at int) int { return cmp.Compare(text[0], at) })
		within = within || i > 0 && start < texts[i-1][1]
		key := from > 0 && start == from // with which it begins
		if !within && !key && !shownWord(line, start, end) {
			parts = append(parts, part{start, end})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a[0], b[0]) })
	return parts
}

// shownWord reports whether a word without quotes is not a secret.
func shownWord(line string, start, end int) bool {
	word, before := line[start:end], line[max(0, start-longestNaming):start]
	next := strings.TrimLeft(line[end:], " \t")
	known := slices.Contains(optionWords, strings.ToLower(word))
	switch {
	case bareName.MatchString(word) && bareSecret.MatchString(before):
		return true
	case secretKey.MatchString(before): // a secret, or a function with its argument, perhaps without its bracket
		return known && strings.HasPrefix(next, "(") || (word == "secret" || word == "env") && strings.HasPrefix(next, `"`)
	case known:
		return true
	case strings.HasPrefix(next, "(") && aMethod.MatchString(before):
		return true
	}
	slip := Nearest(word, optionWords) != ""
	return slip && (strings.HasPrefix(next, ":") || strings.HasPrefix(next, "=") || strings.HasPrefix(next, "("))
}

// veil is a line as it may be shown. It keeps its length.
func veil(line string, parts []part) string {
	var b strings.Builder
	last := 0
	for _, p := range parts {
		b.WriteString(line[last:p[0]] + stars(line[p[0]:p[1]]))
		last = p[1]
	}
	return b.String() + line[last:]
}

func stars(s string) string { return strings.Repeat("*", len([]rune(s))) }

// Veil hides in what diagnostics say of a source what Render hides in its lines.
func Veil(diags []Diagnostic, source []byte) {
	lines := strings.Split(string(source), "\n")
	parts := secrets(lines)
	of := func(s Span) (secrets []string) { // what is said of a place may be about what comes next
		for n := max(0, s.Line-1); n <= s.Line && n < len(lines); n++ {
			for _, p := range parts[n] {
				secrets = append(secrets, lines[n][p[0]:p[1]])
			}
		}
		return secrets
	}
	for i := range diags {
		d := &diags[i]
		secrets := of(d.Span)
		said := []*string{&d.Message, &d.Label, &d.Help}
		for k := range d.Notes {
			said = append(said, &d.Notes[k])
		}
		for k := range d.Related {
			said = append(said, &d.Related[k].Message)
			secrets = append(secrets, of(d.Related[k].Span)...)
		}
		if len(secrets) == 0 {
			continue
		}
		for _, s := range said {
			*s = quoted.ReplaceAllStringFunc(*s, func(q string) string {
				inner := strings.Trim(q, q[:1])
				before, after, _ := strings.Cut(q, inner)
				return before + unsaid(inner, secrets) + after
			})
		}
	}
}

var (
	// quoted is what a diagnostic says word for word.
	quoted     = regexp.MustCompile("`[^`]*`?|\"(?:[^\"\\\\]|\\\\.)*\"?")
	quotedWord = regexp.MustCompile(`[\pL\pN_]+`)
)

// unsaid is a quotation without what is a part of a secret.
func unsaid(quotation string, secrets []string) string {
	hide := func(s string) string {
		ofOne := func(secret string) bool { return s == secret || len(s) > 2 && strings.Contains(secret, s) }
		if slices.Contains(optionWords, s) || !slices.ContainsFunc(secrets, ofOne) {
			return s
		}
		return stars(s)
	}
	return quotedWord.ReplaceAllStringFunc(hide(quotation), hide)
}
