package settings

import (
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Value is what a Go program says in place of a flag.
type Value struct {
	Flag string // of the option, without the dashes
	Name string // of the Go field, such as Config.StateDir, for messages
	Text string // as the flag has it
}

// Of is the settings of a pipeline within another program, which has no flags, and no variables but those that
// the .eo file names. The rules are those of Parse. A value whose option this pipeline does not have is refused.
func Of(values []Value, env Env, d Defaults) (Settings, error) {
	var p protection
	list := options(d, &p)
	for _, v := range values {
		if !slices.ContainsFunc(list, func(o option) bool { return o.flag == v.Flag }) {
			return Settings{}, failure.New(failure.Usage, "leave it out", nil, "%s is %q, but %s has no use for it", v.Name, v.Text, d.File)
		}
	}
	return resolve(list, &p, env, d, told{
		look: func(o option) (text, where string, ok bool) {
			for _, v := range values {
				if v.Flag == o.flag {
					return v.Text, v.Name, true
				}
			}
			return "", "", false
		},
		name: "Config.Brokers",
		over: func(o option) string { return "the Config of Run goes over it" },
	})
}
