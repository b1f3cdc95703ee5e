package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eoc-lang/eoc/internal/pages"
)

// foreign are commands of others that pages name.
var foreign = []string{
	"cd", "cp", "chown", "curl", "date", "docker", "export", "git", "go", "grep", "install", "journalctl", "kafka-acls.sh", "kafka-configs.sh", "kafka-console-consumer.sh",
	"kafka-console-producer.sh", "kafka-consumer-groups.sh", "kafka-topics.sh", "kafka-transactions.sh", "kubectl", "mkdir", "mv",
	"rsync", "scp", "ssh", "sudo", "systemctl", "tar", "true", "useradd",
}

// ownTest names the pages whose commands a test of their own runs.
var ownTest = map[string]string{"docs/embedding.md": "TestEmbedding", "docs/doctor.md": "TestDoctorPage"}

// ofKafka is what TestPages has beside a folder and eoc: the embedded broker, and what stands for Kafka's tools.
const ofKafka = "a Kafka at localhost:9092"

// runElsewhere are commands for which that Kafka does not do, or which take longer, by a part of them, and the tests that run them.
var runElsewhere = []struct{ part, test string }{
	{"./orders txn ", "internal/e2e.TestLostMarkers"},
	{"./orders txn ", "internal/e2e.TestUndecidedTransactions"},
	{"./orders verify ", "internal/e2e.TestVerifyPage"},
	{"kafka-acls.sh ", "internal/e2e.TestRightsPage"},
	{"kafka:9093", "internal/e2e.TestSecureConnections"},
	{"orders-state.tgz", "internal/e2e.TestDoctorPage"},
	{"eoc test --crash", "internal/crashtest.TestExamplesPass"},
}

// runNowhere is what no test has.
var runNowhere = []string{"a network", "Docker", "a Kubernetes cluster", "systemd", "the other machine", "the sources of eoc", "Go and a C compiler"}

// runs reports whether TestPages runs a block.
func runs(b pages.Block) bool {
	return b.Lang == "sh" && (b.Needs() == "" || strings.HasPrefix(b.Needs(), ofKafka) && elsewhere(b) == nil)
}

// elsewhere are the tests that run a block in place of TestPages.
func elsewhere(b pages.Block) (tests []string) {
	for _, e := range runElsewhere {
		if b.Needs() != "" && strings.Contains(b.Text, e.part) {
			tests = append(tests, e.test)
		}
	}
	return tests
}

func readPages(t *testing.T) []pages.Page {
	t.Helper()
	list, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// checker knows what may be said to eoc, to a program and to make.
type checker struct {
	verbs   map[string]*cobra.Command
	program string // --help of a program
	targets string // the Makefile
}

// Commands that TestPages does not run are run by another test, unless they need what none has. And what they say to eoc, to programs and to make is what these
// have.
func TestCommandsThatAreNotRun(t *testing.T) {
	c := newChecker(t)
	for _, p := range readPages(t) {
		for _, b := range p.Blocks {
			if b.Lang != "sh" || runs(b) && ownTest[p.Path] == "" {
				continue
			}
			tests := elsewhere(b)
			for _, test := range tests {
				if !isTest(t, test) {
					t.Errorf("%s: %s should run it, and does not exist", b.Place(), test)
				}
			}
			if nowhere := func(need string) bool { return strings.HasPrefix(b.Needs(), need) }; b.Needs() != "" && tests == nil && !slices.ContainsFunc(runNowhere, nowhere) {
				t.Errorf("%s: no test runs it, and it needs nothing that none has", b.Place())
			}
			for _, complaint := range c.check(b.Text) {
				t.Errorf("%s: %s", b.Place(), complaint)
			}
		}
	}
}

// isTest reports whether a test of the name PACKAGE.TEST is there.
func isTest(t *testing.T, name string) bool {
	t.Helper()
	folder, test, _ := strings.Cut(name, ".")
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "\nfunc "+test+"(")
	})
}

// The checker finds what is wrong.
func TestChecker(t *testing.T) {
	c := newChecker(t)
	for _, line := range []string{
		"eoc build orders.eo && ./orders --brokers localhost:9092 --state=/s", "make test",
		"EO_LOG_LEVEL=debug ./orders # --what", "sudo eoc fmt -w \\\n  orders.eo | cd x", "exec /usr/local/bin/orders --fresh",
	} {
		if got := c.check(line); len(got) > 0 {
			t.Errorf("%s: %v", line, got)
		}
	}
	for _, line := range []string{
		"eoc biuld orders.eo", "eoc build --outptu x orders.eo", "./orders --broker x", "./orders \\\n --statte x", "make tset",
		"EO_LOG_LEVLE=debug ./orders", "koubectl apply", "cd x && eoc buidl x",
	} {
		if got := c.check(line); len(got) != 1 {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{verbs: map[string]*cobra.Command{}, program: programHelp(t), targets: "\n" + string(makefile)}
	for _, cmd := range newRoot(streams{}).Commands() {
		c.verbs[cmd.Name()] = cmd
	}
	return c
}

// programHelp is what the program of examples/orders.eo says to --help, of its verbs with flags of their own too. Every program has these flags.
func programHelp(t *testing.T) string {
	t.Helper()
	var help []byte
	for _, of := range [][]string{{"--help"}, {"txn", "--help"}, {"verify", "--help"}} {
		cmd := exec.Command("go", append([]string{"run", "./golden/orders"}, of...)...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		help = append(help, out...)
	}
	return string(help)
}

var (
	comment   = regexp.MustCompile(`(^|\s)#.*`)
	connector = regexp.MustCompile(`&&|\|\||\||;`)
	variable  = regexp.MustCompile(`\bEO_[A-Z_]+`)
	assigned  = regexp.MustCompile(`^[A-Z_]+=\S*$`)
)

// ofTests are variables that tests of eoc read.
var ofTests = []string{"EO_REQUIRE_KAFKA", "EO_REQUIRE_CHROMIUM", "EO_MATRIX"}

// check returns what is wrong with the lines of a block.
func (c *checker) check(text string) []string {
	var complaints []string
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = comment.ReplaceAllString(strings.TrimSpace(line), "")
		for _, name := range variable.FindAllString(line, -1) {
			if !slices.Contains(ofTests, name) && !c.has(strings.TrimSuffix(name, "_FILE")) {
				complaints = append(complaints, name+" is a variable of nothing")
			}
		}
		for _, command := range connector.Split(line, -1) {
			words := strings.Fields(command)
			for len(words) > 0 && (assigned.MatchString(words[0]) || words[0] == "sudo" || words[0] == "exec") {
				words = words[1:]
			}
			if len(words) == 0 {
				continue
			}
			if complaint := c.command(words); complaint != "" {
				complaints = append(complaints, complaint)
			}
		}
	}
	return complaints
}

// has reports whether the program's --help has a word.
func (c *checker) has(word string) bool {
	return regexp.MustCompile(regexp.QuoteMeta(word) + `\b`).MatchString(c.program)
}

func (c *checker) command(words []string) string {
	name := words[0]
	switch {
	case name == "eoc":
		return c.verb(words[1:])
	case name == "make":
		if len(words) > 1 && !strings.Contains(c.targets, "\n"+words[1]+":") {
			return "make has no target " + words[1]
		}
	case strings.HasPrefix(name, "./"), strings.HasPrefix(name, "/usr/local/bin/"):
		return c.flags(words[1:])
	case !slices.Contains(foreign, name):
		return "nobody knows the command " + name
	}
	return ""
}

// flags checks the flags of a program.
func (c *checker) flags(words []string) string {
	for _, w := range words {
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(flag, "--") && flag != "--help" && flag != "--version" && !c.has("  "+flag) {
			return "programs have no flag " + flag
		}
	}
	return ""
}

// verb checks a call of eoc.
func (c *checker) verb(words []string) string {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return ""
	}
	cmd := c.verbs[words[0]]
	if cmd == nil {
		if words[0] == "completion" || words[0] == "help" { // cobra adds them when it runs
			return ""
		}
		return "eoc has no command " + words[0] + ", but " + strings.Join(slices.Sorted(maps.Keys(c.verbs)), ", ")
	}
	for _, w := range words[1:] {
		if w == "--" {
			break
		}
		if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "-") && flag != "-" && !hasFlag(cmd, flag) {
			return "eoc " + cmd.Name() + " has no flag " + flag
		}
	}
	return ""
}

func hasFlag(cmd *cobra.Command, flag string) bool {
	var f *pflag.Flag
	if name, long := strings.CutPrefix(flag, "--"); long {
		f = cmd.Flags().Lookup(name)
	} else {
		f = cmd.Flags().ShorthandLookup(flag[1:2])
	}
	return f != nil || flag == "-h" || flag == "--help"
}
