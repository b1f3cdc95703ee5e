package settings

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// compiler is the version of the eoc that built the program. `eoc build` has the linker set it; nothing assigns it.
var compiler = "an unknown eoc"

// Compiler is the eoc that made the program, with its version.
func Compiler() string { return compiler }

// exitCodes says what the exit codes of a program mean, in the order of --help.
var exitCodes = []struct {
	code failure.Kind
	text string
}{
	{0, "stopped or finished: everything read is in a committed checkpoint"},
	{failure.Internal, "a bug of eoc: please report the log"},
	{failure.Usage, "a flag, an environment variable or the path of the state is wrong"},
	{failure.Record, "a bad record or result, under on_error fail"},
	{failure.Fenced, "another copy owns the pipeline or its state directory: one runs at a time"},
	{failure.State, "the state is refused: damaged, too old, or of another program"},
	{failure.Disk, "the disk is full or fails, or the state directory cannot be used"},
	{failure.Cluster, "the cluster is not as needed: topic missing, limit too low, no rights, no trust"},
	{failure.Lost, "input is gone before it was read"},
	{failure.Unknown, "whether a transaction was committed cannot be known"},
	{failure.Deadline, "stopped without a last checkpoint: the next start goes on from the one before"},
	{failure.Differs, "verify: counts do not add up, or topics do not hold what the pipeline has written"},
	{failure.Unproved, "verify: it cannot be said, since records or what is known of them are gone"},
	{failure.Memory, "the state does not fit into memory: with more, the next start goes on from the last checkpoint"},
}

func helpText(d Defaults, of Verb, list []option) string {
	var b strings.Builder
	if of == Run {
		fmt.Fprintf(&b, "%s runs the pipeline of %s, made by eoc.\n\nUsage:\n  %s [verb] [flags]\n\n%s\n", d.Name, d.File, d.Name, verbsText(d.Name))
	} else {
		fmt.Fprintf(&b, "%s\nUsage:\n  %s %s [flags]\n\n%s", about(of), d.Name, of.usage(), of.actionsText())
	}
	fmt.Fprintf(&b, "Flags, each with its environment variable if it has one. A flag goes over the variable, the variable over %s.\n", d.File)
	idle := of.about().idle
	list = slices.DeleteFunc(slices.Clone(list), func(o option) bool { return slices.Contains(idle, o.flag) })
	width := 0
	for _, o := range list {
		width = max(width, utf8.RuneCountInString(o.usage()))
	}
	for _, o := range list {
		fmt.Fprintf(&b, "  %s  %s\n", pad(o.usage(), width), o.help)
		if o.env != "" {
			fmt.Fprintf(&b, "  %s  %s%s\n", pad("", width), o.env, o.origin())
		}
	}
	fmt.Fprintf(&b, "  %s  show this text\n", pad("--help", width))
	fmt.Fprintf(&b, "  %s  show what the program was made of\n", pad("--version", width))
	if idle != nil {
		fmt.Fprintf(&b, "\nFlags and variables that only a run needs are taken, and change nothing here: --%s.\n", strings.Join(idle, ", --"))
	}
	if of == State {
		return b.String() + exitText(failure.Usage, failure.State, failure.Disk)
	}
	b.WriteString(secretsText(d))
	b.WriteString(variablesText(d))
	if of == Verify {
		return b.String() + exitText(failure.Usage, failure.State, failure.Disk, failure.Cluster, failure.Differs, failure.Unproved)
	}
	if d.Memory {
		b.WriteString("\nState is kept in memory: it is lost at exit.\n")
	}
	if of == Txn {
		return b.String() + exitText(failure.Internal, failure.Usage, failure.Fenced, failure.State, failure.Disk, failure.Cluster, failure.Lost, failure.Unknown)
	}
	if of == Doctor {
		return b.String() + "\nThe exit code is 0 if no check has failed, else that with which a start would end: its codes are in --help.\n"
	}
	b.WriteString("\nSIGTERM or SIGINT makes a last checkpoint and stops; a second one stops at once, and loses nothing.\n")
	return b.String() + exitText()
}

// about is the first line of the help for a verb.
func about(of Verb) string {
	help := of.about().help
	return strings.ToUpper(help[:1]) + help[1:] + ".\n"
}

// exitText lists exit codes; without any given, those of run.
func exitText(only ...failure.Kind) string {
	var b strings.Builder
	b.WriteString("\nExit codes:\n")
	for _, e := range exitCodes {
		switch {
		case len(only) > 0 && e.code == 0 && slices.Contains(only, failure.Differs):
			fmt.Fprintf(&b, "  %2d  everything holds\n", e.code)
		case len(only) > 0 && e.code == 0:
			fmt.Fprintf(&b, "  %2d  the answer is on standard output\n", e.code)
		case len(only) == 0 && e.code != failure.Differs && e.code != failure.Unproved || slices.Contains(only, e.code):
			fmt.Fprintf(&b, "  %2d  %s\n", e.code, e.text)
		}
	}
	return b.String()
}

// variablesText lists the variables that the .eo file names, but for that of the state, which --state shows.
func variablesText(d Defaults) string {
	list := d.Variables
	if d.TxnPrefix.Env != "" {
		list = append(list[:len(list):len(list)], Variable{d.TxnPrefix, "the prefix of transactional ids"})
	}
	if len(list) == 0 {
		return ""
	}
	width := 0
	for _, v := range list {
		width = max(width, utf8.RuneCountInString(v.Setting.Env))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nEnvironment variables of %s:\n", d.File)
	for _, v := range list {
		initial := "has to be set"
		if v.Setting.HasDefault {
			initial = fmt.Sprintf("default %q", v.Setting.Text)
		}
		fmt.Fprintf(&b, "  %s  %s, %s\n", pad(v.Setting.Env, width), v.What, initial)
	}
	return b.String()
}

func (o option) usage() string {
	if o.value == "" {
		return "--" + o.flag
	}
	return "--" + o.flag + " " + o.value
}

// origin says the default and who chose it.
func (o option) origin() string {
	switch {
	case o.initial == (Setting{}):
		return ""
	case o.from == "":
		return ", default " + o.initial.String()
	}
	return ", default " + o.initial.String() + " from " + o.from
}

func versionText(d Defaults) string {
	return fmt.Sprintf("%s, from %s\ncompiler %s\nruntime  API %d\ngo       %s %s/%s\n",
		d.Name, d.File, compiler, d.API, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", width-utf8.RuneCountInString(s))
}

func flagNames(list []option) []string {
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = o.flag
	}
	return names
}

// nearest is the known name that is at most two edits away from name, or "".
func nearest(name string, known []string) string {
	best, found := 3, ""
	for _, k := range known {
		if n := edits(name, k); n < best {
			best, found = n, k
		}
	}
	return found
}

// edits is the number of insertions, deletions and replacements of a byte that make b of a
// (Levenshtein's distance).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
