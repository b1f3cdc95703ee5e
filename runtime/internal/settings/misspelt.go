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
	known := []string{failpoint.Env}
	for _, o := range options(d, &protection{}) {
		known = append(known, o.env)
	}
	for _, secret := range []string{passwordVariable, tokenVariable} {
		known = append(known, secret, secret+fileSuffix)
	}
	own := slices.Clone(known) // what the file names is no misspelling, whatever it looks like
	for _, v := range d.Variables {
		own = append(own, v.Setting.Env)
	}
	own = append(own, d.StateDir.Env, d.TxnPrefix.Env)
	var found []Misspelling
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "EO_") || slices.Contains(own, name) {
			continue
		}
		if meant := nearest(name, known); meant != "" {
			found = append(found, Misspelling{name, meant})
		}
	}
	slices.SortFunc(found, func(a, b Misspelling) int { return strings.Compare(a.Name, b.Name) })
	return found
}
