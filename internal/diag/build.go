package diag

import (
	"cmp"
	"fmt"
)

// New is an error at a place. What explains it is added by the methods below, each of
// which returns the longer diagnostic.
func New(code string, at Span, format string, args ...any) Diagnostic {
	return Diagnostic{Code: code, Severity: Error, Span: at, Message: fmt.Sprintf(format, args...)}
}

// WithLabel says something beside the carets.
func (d Diagnostic) WithLabel(format string, args ...any) Diagnostic {
	d.Label = fmt.Sprintf(format, args...)
	return d
}

// DidYouMean proposes the known word nearest to a misspelt one; if there is none, another label stays. Finding it takes its
// time, so Sort does it, for those that are shown.
func (d Diagnostic) DidYouMean(word string, known []string) Diagnostic {
	d.meant = func() string {
		if k := Nearest(word, known); k != "" {
			return "did you mean `" + k + "`?"
		}
		return ""
	}
	return d
}

// settle finds the label of a diagnostic that will be shown; one that will not needs none.
func (d *Diagnostic) settle(shown bool) {
	if d.meant != nil && shown {
		d.Label = cmp.Or(d.meant(), d.Label)
	}
	d.meant = nil
}

// WithRelated points at a second place.
func (d Diagnostic) WithRelated(at Span, format string, args ...any) Diagnostic {
	d.Related = append(d.Related[:len(d.Related):len(d.Related)], Related{at, fmt.Sprintf(format, args...)})
	return d
}

// WithNote adds context.
func (d Diagnostic) WithNote(format string, args ...any) Diagnostic {
	d.Notes = append(d.Notes[:len(d.Notes):len(d.Notes)], fmt.Sprintf(format, args...))
	return d
}

// WithHelp says what to do.
func (d Diagnostic) WithHelp(format string, args ...any) Diagnostic {
	d.Help = fmt.Sprintf(format, args...)
	return d
}
