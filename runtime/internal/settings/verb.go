package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Verb is what a program is asked to do: its first argument.
type Verb string

const (
	Run    Verb = "run" // what it does without a verb
	Doctor Verb = "doctor"
	State  Verb = "state"
	Txn    Verb = "txn"
	Verify Verb = "verify"
)

// The actions of txn.
const (
	TxnList   = "list"
	TxnCommit = "commit"
	TxnAbort  = "abort"
	TxnRepair = "repair"
)

// verb is a Verb and what belongs to it.
type verb struct {
	name  Verb
	help  string
	flags []string // those of run that it has, besides its own; nil: all of them
	idle  []string // those of them that mean nothing to it: it takes them all the same, so that the flags of a service will do
	// actions are what it can do, of which one has to be named; nil: it is one thing.
	actions []action
	own     []option // its own, besides --json
}

// action is one of the things that a verb can do.
type action struct{ name, help string }

// verbs are all of them, in the order of --help.
var verbs = []verb{
	{name: Run, help: "run the pipeline; without a verb too"},
	{name: Doctor, help: "check everything that a start needs, and change nothing", idle: []string{"log-format", "log-level", "progress"}},
	{name: State, help: "show what the state directory holds, without Kafka and also while the program runs", flags: []string{"state", "name"}},
	{name: Txn, help: "show the pipeline's transactions in the cluster, decide one, repair one",
		flags: []string{"brokers", "tls", "tls-ca", "tls-cert", "tls-key", "sasl-mechanism", "sasl-user", "state", "name"},
		actions: []action{
			{TxnList, "show what the cluster and the state know of the pipeline's transactions, and change nothing"},
			{TxnCommit, "say that the transaction of the newest checkpoint is committed, where a start refuses to guess"},
			{TxnAbort, "say that it is not: the next start makes its records again"},
			{TxnRepair, "write the end markers of transactions that a broker has lost; may be done while the program runs"},
		}},
	{name: Verify, help: "count whether all that was read and written is there, also while the program runs; it changes nothing",
		idle: []string{"until", "parallelism", "checkpoint-interval", "create-topics", "fresh", "accept-loss", "log-format", "log-level", "http", "ui", "pprof"},
		own: []option{
			{flag: "since", value: "CHECKPOINT|kept", help: "begin at that checkpoint or at the next that is known, or at the first of which topics keep everything; default 0, everything", set: setSince},
			{flag: "shared", help: "other producers may write to the topics of sinks: their records are counted, and no fault", set: setSwitch(func(s *Settings) *bool { return &s.Shared })},
		}},
}

// about is what there is to know of a verb.
func (v Verb) about() verb {
	return verbs[slices.IndexFunc(verbs, func(o verb) bool { return o.name == v })]
}

// setSince takes a number or kept.
func setSince(s *Settings, text string) error {
	if text == "kept" {
		s.SinceKept = true
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("expected the number of a checkpoint, or kept")
	}
	s.Since = n
	return nil
}

// splitVerb takes the verb from the arguments.
func splitVerb(args []string) (Verb, []string, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return Run, args, nil
	}
	var names []string
	for _, v := range verbs {
		if string(v.name) == args[0] {
			return v.name, args[1:], nil
		}
		names = append(names, string(v.name))
	}
	list := strings.Join(names, ", ")
	if args[0] == "help" || args[0] == "version" {
		return "", args, usage("%q is not a verb of this program, which has %s; did you mean --%s?", args[0], list, args[0])
	}
	if near := nearest(args[0], names); near != "" {
		return "", args, usage("%q is not a verb of this program, which has %s; did you mean %s?", args[0], list, near)
	}
	return "", args, usage("%q is not a verb of this program, which has %s", args[0], list)
}

// splitAction takes the action of the verb from the arguments. Asked for help, a verb needs none.
func (v Verb) splitAction(args []string) (string, []string, error) {
	actions := v.about().actions
	if actions == nil {
		return "", args, nil
	}
	var names []string
	for _, a := range actions {
		names = append(names, a.name)
	}
	list := strings.Join(names, ", ")
	switch {
	case slices.Contains(args, "--help"), slices.Contains(args, "-h"), slices.Contains(args, "--version"):
		return "", slices.DeleteFunc(slices.Clone(args), func(a string) bool { return slices.Contains(names, a) }), nil
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		return "", nil, usage("%s wants to know what to do, before any flag: %s", v, list)
	case slices.Contains(names, args[0]):
		return args[0], args[1:], nil
	}
	return "", nil, usage("%q is nothing that %s does, which has %s", args[0], v, list)
}

// of keeps the options that the verb has, and adds its own.
func (v Verb) of(list []option) []option {
	if v == Run {
		return list
	}
	if keep := v.about().flags; keep != nil {
		list = slices.DeleteFunc(list, func(o option) bool { return !slices.Contains(keep, o.flag) })
	}
	if v == Txn {
		list = append(list, option{flag: "yes", help: "do it without asking; for all but list", set: setSwitch(func(s *Settings) *bool { return &s.Yes })})
	}
	list = append(list, v.about().own...)
	return append(list, option{flag: "json", help: "answer in JSON", set: setSwitch(func(s *Settings) *bool { return &s.JSON })})
}

// verbsText is what --help says of them.
func verbsText(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Verbs; %s VERB --help lists the flags of one.\n", name)
	for _, v := range verbs {
		fmt.Fprintf(&b, "  %-6s  %s\n", v.name, v.help)
	}
	return b.String()
}

// usage is the verb with its actions, for the first lines of its help.
func (v Verb) usage() string {
	var names []string
	for _, a := range v.about().actions {
		names = append(names, a.name)
	}
	if names == nil {
		return string(v)
	}
	return string(v) + " " + strings.Join(names, "|")
}

// actionsText is what the help of a verb says of its actions.
func (v Verb) actionsText() string {
	var b strings.Builder
	for _, a := range v.about().actions {
		fmt.Fprintf(&b, "  %-6s  %s\n", a.name, a.help)
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}
