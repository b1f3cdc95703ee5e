package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Parse reads the verb and the flags in args (without the program's name) and the environment. An empty
// variable counts as one that is not set. With an error, what the settings say of verb and form of the answer holds all the same.
func Parse(args []string, env Env, d Defaults) (Settings, error) {
	verb, args, err := splitVerb(args)
	asked := Settings{Verb: verb, JSON: verb != Run && wantsJSON(args)}
	if err != nil {
		return asked, err
	}
	action, args, err := verb.splitAction(args)
	if err != nil {
		return asked, err
	}
	p := protection{program: true}
	list := verb.of(options(d, &p))
	given, answer, err := parseFlags(args, d, verb, list)
	if err != nil || answer != "" {
		asked.Answer = answer
		return asked, err
	}
	s, err := resolve(list, &p, env, d, told{
		look: func(o option) (text, where string, ok bool) {
			if text, ok := given[o.flag]; ok {
				return text, "--" + o.flag, true
			}
			if o.env == "" {
				return "", "", false
			}
			text, ok = env(o.env)
			return text, "environment variable " + o.env, ok && text != ""
		},
		name: "--brokers or EO_BROKERS",
		over: func(o option) string { return "--" + o.flag + " and " + o.env + " go over it" },
		help: flagsHelp,
	})
	s.Verb, s.Action, s.JSON = verb, action, asked.JSON
	if err == nil && verb == Txn && (s.JSON && action != TxnList || s.Yes && action == TxnList) {
		err = usage("%s %s has no such flag: --json is for list, --yes for the others", verb, action)
	}
	return s, err
}

// wantsJSON finds --json in arguments that may be wrong: who has asked for JSON is told in JSON what is wrong with them.
func wantsJSON(args []string) (on bool) {
	for _, a := range args {
		text, given := strings.CutPrefix(a, "--json")
		switch value, err := strconv.ParseBool(strings.TrimPrefix(text, "=")); {
		case !given:
		case text == "":
			on = true
		case text[0] == '=' && err == nil:
			on = value
		}
	}
	return on
}

// told is what a program is told from outside, which goes over the .eo file.
type told struct {
	look func(o option) (text, where string, ok bool)
	name string                // how brokers are named
	over func(o option) string // where o could be told: it ends the sentence about a variable that is missing
	help string                // ends the sentence about what was told wrongly; may be empty
}

// resolve sets every option: as it was told, else as the file or the runtime has it.
func resolve(list []option, p *protection, env Env, d Defaults, from told) (s Settings, err error) {
	for _, o := range list {
		if err := o.apply(&s, env, d, from); err != nil {
			return Settings{}, err
		}
		if _, _, told := from.look(o); o.flag == "brokers" && o.from == "" && !told {
			s.Unnamed = from.name
		}
	}
	if s.Connection, err = p.config(d, env); err != nil {
		return Settings{}, err
	}
	if err = s.checkHTTP(); err != nil {
		return Settings{}, err
	}
	s.TxnPrefix = s.Name
	if d.TxnPrefix != (Setting{Text: d.Name}) && d.TxnPrefix != (Setting{}) {
		if s.TxnPrefix, err = d.TxnPrefix.Resolve(env, "txn_prefix in the job of "+d.File); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

func (o option) apply(s *Settings, env Env, d Defaults, from told) error {
	text, where, ok := from.look(o)
	if !ok {
		if o.initial == (Setting{}) {
			return nil
		}
		where = "the " + o.flag + " of " + d.File
		var err error
		if text, err = o.initial.Resolve(env, where+" ("+from.over(o)+")"); err != nil {
			return err
		}
	}
	if err := o.set(s, text); err != nil {
		return failure.New(failure.Usage, from.help, nil, "%s is %q: %v", where, text, err)
	}
	return nil
}

// parseFlags returns the text of every flag that was given, or the answer to --help or --version.
func parseFlags(args []string, d Defaults, verb Verb, list []option) (given map[string]string, answer string, err error) {
	flags := pflag.NewFlagSet(d.Name, pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {}
	for _, o := range list {
		flags.String(o.flag, "", o.help)
		if o.value == "" {
			flags.Lookup(o.flag).NoOptDefVal = "true"
		}
	}
	help := flags.BoolP("help", "h", false, "")
	version := flags.Bool("version", false, "")
	if err := flags.Parse(args); err != nil {
		return nil, "", flagError(err, list, verb, d)
	}
	switch {
	case *help:
		return nil, helpText(d, verb, list), nil
	case *version:
		return nil, versionText(d), nil
	case flags.NArg() > 0:
		return nil, "", usage("%q is not expected: what is no flag is a verb, and stands first", flags.Arg(0))
	}
	given = map[string]string{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	return given, "", nil
}

// flagError says in our words what pflag found.
func flagError(err error, list []option, verb Verb, d Defaults) error {
	of := "this program"
	if verb != Run {
		of = "its verb " + string(verb)
	}
	var missing *pflag.NotExistError
	var valueless *pflag.ValueRequiredError
	switch {
	case errors.As(err, &missing):
		name := missing.GetSpecifiedName()
		if secret := secretFlags[name]; secret != "" {
			return usage("--%s is not a flag, since everybody can see the flags of a process: set %s or %s%s", name, secret, secret, fileSuffix)
		}
		if name == "state" && d.Memory {
			return failure.New(failure.Usage, failure.MemoryHelp, nil, "--state is not a flag of this program: %s keeps its state in memory", d.File)
		}
		if len(missing.GetSpecifiedShortnames()) > 0 {
			return usage("-%s is not a flag of %s", name, of)
		}
		if near := nearest(name, flagNames(list)); near != "" {
			return usage("--%s is not a flag of %s; did you mean --%s?", name, of, near)
		}
		return usage("--%s is not a flag of %s", name, of)
	case errors.As(err, &valueless):
		name := valueless.GetSpecifiedName()
		for _, o := range list {
			if o.flag == name {
				return usage("--%s has no value; expected --%s %s", name, name, o.value)
			}
		}
	}
	return usage("%v", err)
}

const flagsHelp = "--help lists all flags"

func usage(what string, args ...any) error {
	return failure.New(failure.Usage, flagsHelp, nil, "%s", fmt.Sprintf(what, args...))
}
