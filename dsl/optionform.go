package dsl

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
)

// wordOption is an option whose value has one of some forms: a word, or a word with something in brackets, such as
// `dlq("topic")`. It gives the word, "" after a report. With a bracket behind the word, call is set too.
func (c *checker) wordOption(o *syntax.Option, forms ...string) (word string, call *syntax.Call) {
	e := o.Values[0]
	if k, ok := e.(*syntax.Call); ok {
		call, e = k, k.Fun
	}
	ref, ok := e.(*syntax.Ref)
	if !ok || ref.Quoted {
		c.badOption(o, c.formMeant(o.Values[0], forms))
		return "", nil
	}
	if formOf(ref.Name, forms) == "" {
		var words []string
		for _, form := range forms {
			words = append(words, formWord(form))
		}
		c.report(diag.New("unknown-value", c.at(ref.Node), "`%s` has no `%s`", o.Word, ref.Name).DidYouMean(ref.Name, words).
			WithNote("here: %s", strings.Join(forms, " · ")))
		return "", nil
	}
	return ref.Name, call
}

// plainWord is wordOption where nothing stands in brackets.
func (c *checker) plainWord(o *syntax.Option, words ...string) string {
	word, call := c.wordOption(o, words...)
	if call != nil {
		c.errorf(call.Node, "bad-option", "`%s` has nothing in brackets", word)
		return ""
	}
	return word
}

// formWord is the word that a form begins with.
func formWord(form string) string {
	word, _, _ := strings.Cut(form, "(")
	return word
}

// formOf is the form that begins with the word, "" if none does.
func formOf(word string, forms []string) string {
	if i := slices.IndexFunc(forms, func(form string) bool { return formWord(form) == word }); i >= 0 {
		return forms[i]
	}
	return ""
}

// oneText is a form with one text and nothing else in its brackets, perhaps with a name.
var oneText = regexp.MustCompile(`^(\w+\((?:\w+: )?)"[^"]*"(\))$`)

// formMeant is the form that somebody meant with a value of another kind, or a list of all.
func (c *checker) formMeant(e syntax.Expr, forms []string) string {
	text := c.file.Line(e.Span())
	l, isLiteral := e.(*syntax.Literal)
	isText := isLiteral && l.Kind == "string"
	if isText {
		text = l.Text
	}
	if isLiteral && l.Kind == "bool" {
		text = map[string]string{"true": "on", "false": "off"}[text]
	}
	if form := formOf(text, forms); form != "" && isText && form == text {
		return form + ", without quotes"
	} else if form != "" {
		return form
	}
	if !isText {
		text = strings.ReplaceAll(text, " ", "") // 2026 - 01 - 01 is a date too
	}
	if at := completed(text); at != "" && formOf("timestamp", forms) != "" {
		return `timestamp("` + at + `")`
	}
	withText := slices.DeleteFunc(slices.Clone(forms), func(form string) bool { return !oneText.MatchString(form) })
	if isText && len(withText) == 1 {
		around := oneText.FindStringSubmatch(withText[0])
		return around[1] + c.file.Line(e.Span()) + around[2]
	}
	if last := len(forms) - 1; last > 0 {
		return strings.Join(forms[:last], ", ") + " or " + forms[last]
	}
	return forms[0]
}

// completed is a point in time as the language has it, of a text that lacks some of it; "" if it is none.
func completed(text string) string {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		for _, layout := range []string{layout, strings.Replace(layout, "T", " ", 1)} {
			if at, err := time.Parse(layout, text); err == nil && inYears(at) {
				return at.Format(time.RFC3339Nano)
			}
		}
	}
	return ""
}
