package syntax

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/eoc-lang/eoc/internal/diag"
)

// MaxSource is the largest file in bytes. It bounds memory and time; a pipeline has some KiB.
const MaxSource = 1 << 20

// maxFaults is how many are looked for. A file with more is no pipeline.
const maxFaults = 10 * diag.Limit

// File is one pipeline.
type File struct {
	Name     string
	Decls    []Decl
	Comments []Comment
	// Broken are the declarations of Decls that have faults: only their parts that are right
	// are in the tree; of a stream the clauses in front of the first fault.
	Broken map[Decl]bool
	// Lost are the names of declarations of which nothing else is known.
	Lost []Name

	tokens []lexer.Token
	glue   map[int]bool // offsets of tokens that stick to the one before
}

// Parse reads a whole file. The faults are in the order of the text.
func Parse(name string, src []byte) (*File, []diag.Diagnostic) {
	f := &File{Name: name, Broken: map[Decl]bool{}}
	start := diag.Span{File: name, Line: 1, Column: 1, Length: 1}
	if len(src) > MaxSource {
		return f, []diag.Diagnostic{diag.New("too-big", start, "a pipeline has at most 1 MiB, this file has more")}
	}
	if !utf8.Valid(src) {
		return f, []diag.Diagnostic{notUTF8(start, src)}
	}
	f.tokens, f.Comments = scan(name, string(src))
	var faults []diag.Diagnostic
	for _, part := range split(f.tokens) {
		if len(faults) > maxFaults {
			break
		}
		d, found := f.parsePart(part)
		faults = append(faults, found...)
		switch {
		case d != nil:
			f.Decls = append(f.Decls, d)
			f.Broken[d] = len(found) > 0
		default:
			f.lose(part)
		}
	}
	f.markGlue()
	return f, diag.Sort(faults)
}

// lose notes the name of a declaration of which nothing else is known, perhaps not even its word. That of a job is no name for others.
func (f *File) lose(toks []lexer.Token) {
	if toks[0].Value == "job" {
		return
	}
	if len(toks) < 3 || toks[0].Type != kindDecl && toks[0].Type != kindID || toks[1].Type != kindID && toks[1].Type != kindQ {
		return
	}
	if toks[0].Type == kindDecl || toks[0].Pos.Line == toks[1].Pos.Line {
		f.Lost = append(f.Lost, Name{Node{toks[1].Pos, toks[2].Pos}, ident(unquoteName(toks[1].Value))})
	}
}

// notUTF8 finds the place of the first byte that is not UTF-8.
func notUTF8(at diag.Span, src []byte) diag.Diagnostic {
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		if r == utf8.RuneError && n == 1 {
			break
		}
		at.Column++
		if r == '\n' {
			at.Line, at.Column = at.Line+1, 1
		}
		src = src[n:]
	}
	return diag.New("not-utf8", at, "byte 0x%02x is not UTF-8", src[0]).WithHelp("save the file as UTF-8")
}

// split cuts the tokens where declarations begin, each part with an EOF of its own.
// So recovery needs no help from participle: a fault stays in its part.
func split(toks []lexer.Token) [][]lexer.Token {
	var parts [][]lexer.Token
	start := 0
	for i, t := range toks {
		if (t.Type == kindDecl || t.EOF()) && i > start {
			parts = append(parts, append(slices.Clone(toks[start:i]), lexer.EOFToken(t.Pos)))
			start = i
		}
	}
	return parts
}

// parsePart reads one declaration.
func (f *File) parsePart(part []lexer.Token) (Decl, []diag.Diagnostic) {
	part, joined := f.joinWords(part)
	d, faults := f.parseJoined(part)
	return d, append(joined, faults...)
}

// parseJoined is parsePart where no word was written otherwise. If it has faults, the rest of it is read piece by
// piece, so that each clause or option can have one of its own.
func (f *File) parseJoined(part []lexer.Token) (Decl, []diag.Diagnostic) {
	// Wrong characters first: what the grammar would say after them is a consequence.
	faults := f.badTokens(part)
	if part[0].Type != kindDecl {
		if len(faults) == 0 || isForeign(part[0]) {
			faults = []diag.Diagnostic{f.strayText(part)}
		}
		return nil, faults
	}
	if slices.ContainsFunc(faults, func(d diag.Diagnostic) bool { return d.Code == "nesting" }) {
		return nil, faults // without that bracket the others do not match
	}
	if len(faults) > 0 {
		return f.salvage(part, faults, -1)
	}
	d, m := read(part)
	if m == nil {
		return d, checkOrder(f, d)
	}
	fault := f.explain(part, m)
	marked := slices.IndexFunc(part, func(t lexer.Token) bool {
		return t.Pos.Line == fault.Span.Line && t.Pos.Column == fault.Span.Column
	})
	return f.salvage(part, []diag.Diagnostic{fault}, part[max(marked, 0)].Pos.Offset)
}

// isForeign: text that begins with this outside of declarations is of another language. What signs it has is a consequence.
func isForeign(t lexer.Token) bool { return t.Type == kindID && !declWords[t.Value] }

// badTokens explains the tokens that the lexer could not place: one a line, because
// the rest of it is often the same mistake, as behind a `#`.
func (f *File) badTokens(toks []lexer.Token) []diag.Diagnostic {
	var faults []diag.Diagnostic
	line := 0
	for i, t := range toks {
		if t.Type == kindBad && t.Pos.Line != line && len(faults) <= maxFaults {
			d, ok := f.intervalHabit(toks, i)
			if !ok {
				d = f.badToken(t, toks[min(i+1, len(toks)-1)])
			}
			faults = append(faults, d)
			line = t.Pos.Line
		}
	}
	return faults
}

// read runs the grammar over a declaration.
func read(part []lexer.Token) (Decl, *misfit) {
	lex, err := lexer.Upgrade(&replay{part})
	if err != nil { // replay has no errors
		return nil, &misfit{token: part[0]}
	}
	d, err := parser.ParseFromLexer(lex, participle.AllowTrailing(true))
	if err == nil && lex.Peek().EOF() {
		return d.Decl, nil
	}
	if err == nil {
		return nil, &misfit{token: *lex.Peek()}
	}
	var m *misfit
	var u *participle.UnexpectedTokenError
	switch {
	case errors.As(err, &m):
		return nil, m
	case errors.As(err, &u):
		return nil, &misfit{u.Unexpected, inWords(u.Error())}
	}
	return nil, &misfit{token: part[0], want: internal + err.Error()} // no known way leads here; the fuzz target watches
}

// maxSalvage bounds the tokens that are read again to look for more faults: the head with
// every piece.
const maxSalvage = 1 << 20

const internal = "internal: "

// salvage gets what is right out of a declaration that has faults, and looks for
// further ones behind the first. first is the offset of the fault that the grammar
// has found, or -1 if the lexer has.
func (f *File) salvage(part []lexer.Token, faults []diag.Diagnostic, first int) (Decl, []diag.Diagnostic) {
	head, pieces, tail := cut(part)
	bad := func(t lexer.Token) bool { return t.Type == kindBad }
	if pieces == nil || slices.ContainsFunc(head, bad) || len(head)*len(pieces) > maxSalvage {
		return nil, faults
	}
	behind := tail[1] // EOF, or text that belongs to nothing
	whole := func(body []lexer.Token) []lexer.Token {
		return slices.Concat(head, body, tail[:1], []lexer.Token{lexer.EOFToken(behind.Pos)})
	}
	var good []lexer.Token
	broken := false // a piece in front has been left out
	for i, p := range pieces {
		end := tail[0].Pos.Offset
		if i+1 < len(pieces) {
			end = pieces[i+1][0].Pos.Offset
		}
		switch isFirst := first >= p[0].Pos.Offset && first < end; {
		case slices.ContainsFunc(p, bad), isFirst:
			broken = true
		default:
			if len(faults) > maxFaults {
				return nil, faults
			}
			_, m := read(whole(p))
			if m != nil && first >= p[0].Pos.Offset {
				return nil, faults // it is right as a part of the whole: the cuts are not to be trusted
			}
			if m != nil {
				faults = append(faults, f.explain(whole(p), m))
				broken = true
			} else if !broken || head[0].Value != "stream" {
				good = append(good, p...)
			}
		}
	}
	switch {
	case behind.EOF():
	case first >= behind.Pos.Offset:
		broken = true
		f.lose(tail[1:])
	case behind.Type != kindBad:
		faults = slices.DeleteFunc(faults, func(d diag.Diagnostic) bool {
			isBehind := d.Span.Line > behind.Pos.Line || d.Span.Line == behind.Pos.Line && d.Span.Column > behind.Pos.Column
			return isBehind && isForeign(behind)
		})
		faults = append(faults, f.strayText(tail[1:]))
		f.lose(tail[1:])
	}
	d, m := read(whole(good))
	if !broken || m != nil {
		return nil, faults // the fault is in the head
	}
	return d, append(faults, checkOrder(f, d)...)
}

// cut divides a declaration into its head, up to `{`, the pieces of its body that can
// be read alone, and `}` with what follows. Without a body there are no pieces.
func cut(part []lexer.Token) (head []lexer.Token, pieces [][]lexer.Token, tail []lexer.Token) {
	open := slices.IndexFunc(part, func(t lexer.Token) bool { return t.Value == "{" && t.Type == kindOp })
	if open < 0 {
		return part, nil, nil
	}
	head = part[:open+1]
	depth, start := 1, open+1
	for i := open + 1; i < len(part); i++ {
		if depth == 1 && i > start && startsPiece(part, i) {
			pieces = append(pieces, part[start:i])
			start = i
		}
		if depth += nesting(part[i]); depth == 0 {
			if i > start {
				pieces = append(pieces, part[start:i])
			}
			return head, pieces, part[i:]
		}
	}
	return part, nil, nil
}

// startsPiece: a clause; in other declarations what begins a line and does not go on
// with the one above.
func startsPiece(part []lexer.Token, i int) bool {
	t, before := part[i], part[i-1]
	switch part[0].Value {
	case "stream":
		return t.Type == kindClause
	case "test":
		return t.Pos.Line != before.Pos.Line && (t.Value == "given" || t.Value == "crash" || t.Value == "expect")
	}
	begins := t.Type == kindID || t.Type == kindQ || t.Type == kindStr
	ends := before.Type != kindOp || strings.Contains(")]}?", before.Value) || before.Value == "," && part[0].Value == "type"
	return t.Pos.Line != before.Pos.Line && begins && ends
}
