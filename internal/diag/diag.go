// Package diag holds diagnostics: what is wrong with a .eo file, as data. It is a
// leaf; dsl and planner fill it, the command line renders it.
package diag

// Severity of a Diagnostic.
type Severity string

const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Span is a stretch of one line. Line and Column count from 1, Column and Length in characters.
type Span struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Length int    `json:"length"`
}

// Related is a second place that explains the first.
type Related struct {
	Span    Span   `json:"span"`
	Message string `json:"message"`
}

// Diagnostic is one fault of a program. Code is a stable name such as
// unknown-field that is never given another meaning.
type Diagnostic struct {
	Code     string    `json:"code"`
	Severity Severity  `json:"severity"`
	Span     Span      `json:"span"`
	Message  string    `json:"message"`           // one sentence, names in backticks
	Label    string    `json:"label,omitempty"`   // stands beside the carets
	Related  []Related `json:"related,omitempty"` // the second place, if one is involved
	Notes    []string  `json:"notes,omitempty"`   // context: `here: user_id string · …`
	Help     string    `json:"help,omitempty"`    // what to do

	meant func() string // finds the label; see DidYouMean
}
