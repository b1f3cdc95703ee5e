package dsl_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/eoc-lang/eoc/dsl"
)

// slips are words and signs that people write where they do not stand: those of the language, and of others.
var slips = append(strings.Fields(`type source sink stream job from where let select window aggregate to if then else late grace by as in not is null and or
	group order having case cast like on_error key format true x T 7 7.5 7s 7 s "t" ' { } ( ) [ ] < > , . : ; = == != + - * / || && ?? ? ! | @ # $ // :: -> := ++`), "", "\n")

var token = regexp.MustCompile(`"[^"\n]*"|\w+|//[^\n]*|[^\s\w]`)

// However somebody slips once, behind a word of a file or in its place: what is said is an error with its place, and never a panic.
func TestOneSlip(t *testing.T) {
	var examples []string
	for _, name := range []string{"clicks", "orders", "payments"} {
		text, err := os.ReadFile("../examples/" + name + ".eo")
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, string(text))
	}
	rapid.Check(t, func(r *rapid.T) {
		src := rapid.SampledFrom(examples).Draw(r, "file")
		at := rapid.SampledFrom(token.FindAllStringIndex(src, -1)).Draw(r, "word")
		if rapid.Bool().Draw(r, "behind") {
			at[0] = at[1]
		}
		for _, slip := range slips {
			slipped := src[:at[0]] + " " + slip + " " + src[at[1]:]
			checkSoundly(t, slipped)
			dsl.Format("x.eo", []byte(slipped))
		}
	})
}
