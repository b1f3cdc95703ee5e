package settings

import (
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
)

// Misspelling is an environment variable that means nothing to the program, and looks like one that does.
type Misspelling struct{ Name, Meant string }

// Misspellings finds them in an environment, as os.Environ gives it. A program that is told EO_BROKER would else go to a broker that nobody has meant.
func Misspellings(environ []string, d Defaults) []Misspelling {
	known := []string{failpoint.Env, passwordVariable, passwordVariable + fileSuffix, tokenVariable, tokenVariable + fileSuffix}
	named := []string{d.TxnPrefix.Env, d.Connection.SASL.Secret} // by the file: no misspelling, whatever it looks like
	for _, o := range options(d, &protection{}) {
		known, named = append(known, o.env), append(named, o.initial.Env)
	}
	for _, v := range d.Variables {
		named = append(named, v.Setting.Env)
	}
	var found []Misspelling
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "EO_") || slices.Contains(known, name) || slices.Contains(named, strings.TrimSuffix(name, fileSuffix)) {
			continue
		}
		if meant := nearest(name, known); meant != "" {
			found = append(found, Misspelling{name, meant})
		}
	}
	slices.SortFunc(found, func(a, b Misspelling) int { return strings.Compare(a.Name, b.Name) })
	return found
}
