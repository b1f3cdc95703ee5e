// Package ir holds what the checker has understood: types, rows and typed
// expressions. dsl makes them, planner moves them, codegen prints them and the
// reference interpreter evaluates them. It knows none of these packages.
package ir

import "fmt"

// Kind is the kind of a Type.
type Kind uint8

const (
	Bool      Kind = iota + 1
	Int            // 64 bit, signed
	Float          // IEEE 754, 64 bit; never NaN or infinite
	Decimal        // decimal(p, s): p digits, s of them behind the point; 1 <= p <= 38, 0 <= s <= p
	String         // valid UTF-8
	Timestamp      // microseconds since 1970-01-01T00:00:00Z, years 1 to 9999
	Duration       // microseconds, signed
)

// Unit is the form of a timestamp outside: RFC 3339 text, or an integer counting
// from 1970 in the unit. Inside it is microseconds always.
type Unit uint8

const (
	Text Unit = iota
	Seconds
	Millis
	Micros
	Nanos
)

// Type is a type of the language. It is comparable with ==.
type Type struct {
	Kind             Kind
	Precision, Scale int  // of a Decimal
	Unit             Unit // of a Timestamp
	Null             bool // T?: may be null
}

// NonNull is t without null.
func (t Type) NonNull() Type { t.Null = false; return t }

// Nullable is T?.
func (t Type) Nullable() Type { t.Null = true; return t }

// Wide reports whether a decimal needs 128 bits: more than 18 digits do not fit an int64.
func (t Type) Wide() bool { return t.Kind == Decimal && t.Precision > 18 }

// String writes the type as the language does: `decimal(12, 2)?`, `timestamp(ms)`.
func (t Type) String() string {
	s := [...]string{0: "null", Bool: "bool", Int: "int", Float: "float", Decimal: "decimal", String: "string",
		Timestamp: "timestamp", Duration: "duration"}[t.Kind]
	if t.Kind == Decimal {
		s = fmt.Sprintf("decimal(%d, %d)", t.Precision, t.Scale)
	}
	if t.Kind == Timestamp && t.Unit != Text {
		s += "(" + [...]string{Seconds: "s", Millis: "ms", Micros: "us", Nanos: "ns"}[t.Unit] + ")"
	}
	if t.Null {
		s += "?"
	}
	return s
}

// Field is one named value of a row.
type Field struct {
	Name string // as in the .eo file, without backticks
	Type Type
	// Default is the value of a source's field that is missing or null; nil if none.
	Default *Const
	// Known marks a field of type T? that a `where … is not null` above has proved
	// to be there: it is kept as T? and read as Known(Column).
	Known bool
}

// Row is the shape of the rows of a stream: fields in order, names unique.
type Row []Field

// Index is the place of the field of that name, or -1.
func (r Row) Index(name string) int {
	for i := range r {
		if r[i].Name == name {
			return i
		}
	}
	return -1
}

// Places is Index for many names, which tells where each probably is: most rows that meet are alike.
func (r Row) Places() func(name string, probably int) int {
	var index map[string]int
	return func(name string, probably int) int {
		if probably < len(r) && r[probably].Name == name {
			return probably
		}
		if index == nil {
			index = make(map[string]int, len(r))
			for i, f := range r {
				index[f.Name] = i
			}
		}
		if i, ok := index[name]; ok {
			return i
		}
		return -1
	}
}

// Place is where something stands in the .eo file.
type Place struct {
	Line, Column int // from 1; columns count characters
	// Text is the clause or the head of the declaration on one line, single spaces,
	// without comments and braces of a block: `where amount > 0`.
	Text string
}
