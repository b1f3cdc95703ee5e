package tidy

import (
	"fmt"
	"strconv"
	"strings"
)

// importRule says what the packages of some folders may import.
type importRule struct {
	in string // a folder and what is below it
	// ours lists folders of this module whose packages they may import, besides their own.
	ours []string
	why  string
}

// importRules are about this module's own packages. Data flows one way, see docs/architecture.md. A folder
// without a rule may import anything; the longest folder counts. Tests are free.
var importRules = []importRule{
	{"dsl", []string{"internal/diag", "internal/ir"}, "dsl turns text into a program and knows nothing of what comes behind"},
	{"planner", []string{"dsl", "internal/diag", "internal/ir"}, "planner knows the language, not what is made of the graph"},
	{"codegen", []string{"planner", "internal/ir"},
		"codegen prints what the graph says: what it needs of the language, planner passes on (planner/names.go)"},
	{"runtime", nil, "the runtime is built into user programs and knows nothing of the compiler"},
	{"internal/ir", nil, "ir is a leaf"},
	{"internal/diag", []string{"docs"}, "diag is a leaf; what docs say of a code is embedded there"},
	{"docs", nil, "docs hold texts"},
	{"internal/reference", []string{"planner", "internal/ir"}, "the reference judges the runtime, so it shares nothing with it"},
	{"golden", []string{"runtime"}, "generated code sees the runtime's face only"},
}

// ownerRule says which packages alone may import a library.
type ownerRule struct {
	library string // an import path and what is below it
	owners  []string
	why     string
}

var ownerRules = []ownerRule{
	{"github.com/twmb/franz-go", []string{"runtime/internal/kafka", "internal/devkafka", "internal/kafkatest", "internal/faultproxy"},
		"behaviour of Kafka is known in one place: go through engine.Cluster"},
	{"go.etcd.io/bbolt", []string{"runtime/internal/state"}, "the format on disk is known in one place: go through engine.Store"},
	{"github.com/prometheus", []string{"runtime", "runtime/internal/observe"}, "metrics are made of engine.Status in one place: add to it what is missing"},
	{"github.com/alecthomas/participle", []string{"dsl"}, "only dsl parses"},
	{"github.com/dave/jennifer", []string{"codegen"}, "only codegen prints Go"},
}

// imports checks both kinds of rules.
func imports(f *File) []Breach {
	var breaches []Breach
	for _, spec := range f.Go.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // it has been parsed
		}
		if text := wrongImport(f.dir(), path, f.isTest()); text != "" {
			breaches = append(breaches, f.breach(spec, text))
		}
	}
	return breaches
}

// wrongImport says why a package in dir must not import path; "" if it may.
func wrongImport(dir, path string, test bool) string {
	for _, r := range ownerRules {
		if within(path, r.library) && !withinAny(dir, r.owners) {
			return fmt.Sprintf("only %s may import %s: %s", strings.Join(r.owners, ", "), r.library, r.why)
		}
	}
	target, ours := strings.CutPrefix(path, module+"/")
	if !ours || test {
		return ""
	}
	var rule *importRule
	for i := range importRules {
		if r := &importRules[i]; within(dir, r.in) && (rule == nil || len(r.in) > len(rule.in)) {
			rule = r
		}
	}
	if rule == nil || within(target, rule.in) || withinAny(target, rule.ours) {
		return ""
	}
	may := "nothing of ours outside itself"
	if len(rule.ours) > 0 {
		may = "only " + strings.Join(rule.ours, ", ")
	}
	return fmt.Sprintf("%s imports %s, but may import %s: %s", rule.in, target, may, rule.why)
}

// within reports whether path is dir or below it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func withinAny(path string, dirs []string) bool {
	for _, d := range dirs {
		if within(path, d) {
			return true
		}
	}
	return false
}
