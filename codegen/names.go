package codegen

import (
	"go/token"
	"strconv"
	"strings"
	"unicode"
)

// scope deals Go names. A name that is taken gets 2, 3 … behind it.
type scope struct {
	taken map[string]bool
	next  map[string]int // of a name that was asked for before: the number to go on with
	outer *scope
}

func newScope(taken ...string) scope {
	s := scope{taken: map[string]bool{}, next: map[string]int{}}
	for _, n := range taken {
		s.taken[n] = true
	}
	return s
}

func (s scope) has(name string) bool {
	return s.taken[name] || s.outer != nil && s.outer.has(name)
}

// take deals the name of a type, function, constant or variable: it hides no predeclared one.
func (s scope) take(name string) string {
	return s.unique(name, func(n string) bool { return token.IsKeyword(n) || predeclared.has(n) })
}

// takeBeside is take in the middle of a function whose scope is inner: no variable that is there, or comes, hides the name.
func (s scope) takeBeside(inner scope, name string) string {
	dealt := s.take(name)
	for inner.taken[dealt] {
		dealt = s.take(name)
	}
	inner.taken[dealt] = true
	return dealt
}

// member deals the name of a field or method, which stands behind a dot.
func (s scope) member(name string) string { return s.unique(name, token.IsKeyword) }

func (s scope) unique(name string, refused func(string) bool) string {
	dealt := name
	if s.has(name) || refused(name) {
		i := max(2, s.next[name])
		for dealt = name + strconv.Itoa(i); s.has(dealt) || refused(dealt); dealt = name + strconv.Itoa(i) {
			i++
		}
		s.next[name] = i + 1
	}
	s.taken[dealt] = true
	return dealt
}

// inner is a scope inside of s: nothing of s is hidden by it.
func (s scope) inner(taken ...string) scope {
	in := newScope(taken...)
	in.outer = &s
	return in
}

var predeclared = newScope("any", "append", "bool", "byte", "cap", "clear", "close", "comparable", "complex", "complex128",
	"complex64", "copy", "delete", "error", "false", "float32", "float64", "imag", "int", "int16", "int32", "int64",
	"int8", "iota", "len", "make", "max", "min", "new", "nil", "panic", "print", "println", "real", "recover", "rune",
	"string", "true", "uint", "uint16", "uint32", "uint64", "uint8", "uintptr", "init", "main", "rt", "_")

var initialisms = newScope("ACL", "API", "ASCII", "CPU", "CSS", "CSV", "DB", "DNS", "EOF", "GUID", "HTML", "HTTP", "HTTPS",
	"ID", "IP", "JSON", "OS", "QPS", "RAM", "RPC", "SKU", "SLA", "SMTP", "SQL", "SSH", "TCP", "TLS", "TTL", "UDP", "UI", "UID",
	"URI", "URL", "UTF8", "UUID", "VM", "XML")

// exported writes a name of the .eo file in Go case: user_id is UserID.
func exported(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		b.WriteString(title(w))
	}
	return identifier(b.String(), "X")
}

// unexported is exported with a small first word: user_id is userID.
func unexported(name string) string {
	var b strings.Builder
	for i, w := range words(name) {
		if i == 0 {
			w = strings.ToLower(w)
		} else {
			w = title(w)
		}
		b.WriteString(w)
	}
	return identifier(b.String(), "x")
}

// identifier puts prefix before a text that cannot begin a name of that kind: one that is empty, begins
// with a digit, or with a letter that has no capital where prefix is one.
func identifier(s, prefix string) string {
	r := []rune(s)
	if len(r) == 0 || !unicode.IsLetter(r[0]) || unicode.IsUpper(r[0]) != (prefix == "X") {
		return prefix + s
	}
	return s
}

func title(word string) string {
	if upper := strings.ToUpper(word); initialisms.has(upper) {
		return upper
	}
	r := []rune(word)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// words splits a name at whatever is neither letter nor digit, and where a capital begins a word:
// userID and user-id are both user and ID. A name without small letters is taken as one without capitals.
func words(name string) []string {
	if strings.ToUpper(name) == name {
		name = strings.ToLower(name)
	}
	var list []string
	runes := []rune(name)
	start := -1
	flush := func(end int) {
		if start >= 0 {
			list = append(list, string(runes[start:end]))
		}
		start = -1
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush(i)
			continue
		}
		if start >= 0 && unicode.IsUpper(r) {
			afterSmall := !unicode.IsUpper(runes[i-1])
			beforeSmall := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterSmall || beforeSmall {
				flush(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(runes))
	return list
}

// phrase is a name as it stands in a sentence: UserEvent is `user event`.
func phrase(name string) string {
	if list := words(name); len(list) > 0 {
		return strings.ToLower(strings.Join(list, " "))
	}
	return "record"
}

// a puts the article before a noun.
func a(noun string) string {
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// file deals the file for a declaration of a kind, such as orders_source.go. It never begins with _ or a dot,
// which Go would leave out, and the kind keeps it from meaning anything to Go, as orders_test.go would.
func (s scope) file(name, kind string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, name)
	if clean = strings.TrimLeft(clean, "_"); clean == "" {
		clean = "x"
	}
	return s.member(clean+"_"+kind) + ".go"
}

// oneLine is text that can stand in a comment: one line of valid UTF-8 without control characters
// and without a byte order mark, which Go refuses.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\uFEFF' || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
