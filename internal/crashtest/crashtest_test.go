//go:build unix

package crashtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/build"
	"github.com/eoc-lang/eoc/planner"
)

// eoc is an eoc of this checkout, for its hidden verbs, and binaries the folder for it and what else is compiled.
var eoc, binaries string

func TestMain(m *testing.M) {
	code, err := 1, error(nil)
	if binaries, err = os.MkdirTemp("", "crashtest-"); err == nil {
		eoc = filepath.Join(binaries, "eoc")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", eoc, "../../cmd/eoc").CombinedOutput(); err == nil {
			code = m.Run()
		}
		fmt.Fprintf(os.Stderr, "%s", out)
		err = errors.Join(err, os.RemoveAll(binaries))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// patch replaces text in a file of the runtime, where it stands once.
type patch struct{ file, old, with string }

// compiled is the program of a text, with crash points and with a runtime that is patched. It is built once.
func compiled(t *testing.T, name, text string, patches ...patch) (*planner.Graph, string) {
	t.Helper()
	program, diagnostics := dsl.Check(name+".eo", []byte(text))
	if program == nil {
		t.Fatal(diagnostics)
	}
	graph, diagnostics := planner.Plan(program)
	if graph == nil {
		t.Fatal(diagnostics)
	}
	Adapt(graph)
	key := fmt.Sprint(text, patches)
	if built[key] == "" {
		built[key] = compile(t, graph, name, patches)
	}
	return graph, built[key]
}

// built are the programs that this process has compiled.
var built = map[string]string{}

func compile(t *testing.T, graph *planner.Graph, name string, patches []patch) string {
	t.Helper()
	files, err := codegen.Generate(graph, codegen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := build.Request{Program: map[string][]byte{}, Source: name + ".eo", Name: name}
	for _, f := range files {
		r.Program[f.Name] = f.Data
	}
	dir := t.TempDir()
	if err := build.WriteModule(dir, r); err != nil {
		t.Fatal(err)
	}
	for _, p := range patches {
		path := filepath.Join(dir, "runtime", filepath.FromSlash(p.file))
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(source, []byte(p.old)); n != 1 {
			t.Fatalf("%s has %q %d times, want once", p.file, p.old, n)
		}
		if err := os.WriteFile(path, bytes.Replace(source, []byte(p.old), []byte(p.with), 1), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(binaries, fmt.Sprint(name, len(built)))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", "eo_failpoints", "-ldflags", "-w", "-o", binary, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// example is a file of examples/.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", name+".eo"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// options are those of a test of an example on its data, in one combination.
func options(t *testing.T, name, text string, patches ...patch) Options {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	graph, binary := compiled(t, name, text, patches...)
	return Options{
		File: name + ".eo", Graph: graph, Binary: binary, Command: []string{eoc}, Data: filepath.Join("..", "..", "examples", "data", name),
		Partitions: 3, Transactions: []int{2}, Parallelism: []int{1}, Seed: seed, Repeat: "eoc test --crash " + name + ".eo", Err: &bytes.Buffer{},
	}
}

// text is a report for people.
func text(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, func(text string, _ bool) string { return text }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// left are the folders that a test has left behind.
func left(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(os.TempDir(), "eoc-test-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// matrix says whether all is run, which takes long.
func matrix() bool { return os.Getenv("EO_MATRIX") == "1" }

// The examples pass, and are killed at all points that they have. `make matrix` runs them in every combination.
func TestExamplesPass(t *testing.T) {
	for _, c := range []struct {
		name                      string
		transactions, parallelism int
		never                     string // the only point that is not reached
	}{
		{"orders", 1, 3, ""},
		{"payments", 2, 1, ""},
		{"clicks", 2, 3, "during-restore"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t, c.name, example(t, c.name))
			o.Transactions, o.Parallelism, o.Moments = []int{c.transactions}, []int{c.parallelism}, 2
			if matrix() {
				o.Transactions, o.Parallelism, o.Moments = []int{1, 2}, []int{1, 3}, 20
			}
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			said := text(t, r)
			t.Log(said)
			if !r.Passed() {
				t.Error("it does not pass")
			}
			for _, p := range r.Points {
				switch {
				case p.Name == c.never && (p.Deaths > 0 || !strings.Contains(p.Why, "no windows")):
					t.Errorf("%s: %d deaths, and why: %q", p.Name, p.Deaths, p.Why)
				case p.Name != c.never && p.Deaths == 0:
					t.Errorf("%s is not reached: %s", p.Name, p.Why)
				}
			}
			if list := left(t); len(list) > 0 {
				t.Errorf("left behind: %v", list)
			}
		})
	}
}

// mutants are programs with a runtime that is wrong in one place. A test that passes with one of them is no test.
var mutants = []struct {
	name, example string
	patch         patch
	says          []string // the report
	often         bool     // `make test` runs it, else `make matrix`
}{
	{
		"a start passes over a record", "clicks",
		patch{"internal/engine/attempt.go", "	source := a.Spec.source(p.Source)\n	r := newReach()\n",
			"	if a.base.Number > 0 && p.Next < p.Bound {\n		p.Next++\n	}\n	source := a.Spec.source(p.Source)\n	r := newReach()\n"},
		[]string{" missing, 0 too many", "it differs from the interpreter of plans"}, true,
	},
	{
		"a start reads a record twice", "clicks",
		patch{"internal/engine/attempt.go", "	source := a.Spec.source(p.Source)\n	r := newReach()\n",
			"	if a.base.Number > 0 && p.Next > 0 {\n		p.Next--\n	}\n	source := a.Spec.source(p.Source)\n	r := newReach()\n"},
		[]string{"0 missing, ", " too many", "it differs from the interpreter of plans"}, true,
	},
	{
		"a start forgets the windows", "orders",
		patch{"internal/engine/attempt.go", "		return workers[i].Restore(d)\n", "		return nil\n"},
		[]string{"user-totals: ", " missing, "}, false,
	},
	{
		"a start does not commit what was prepared", "orders",
		patch{"internal/engine/startup.go", "outcome, err := s.clusters.job().EndTxn(ctx, step.Committable)", "outcome, err := checkpoint.Outcome(0), error(nil)"},
		[]string{"the program ended with code 9 in life"}, false,
	},
}

// TestMutants wants each mutant to be found, with a report from which a person can go on: some of them, and with EO_MATRIX=1 all.
func TestMutants(t *testing.T) {
	for i, m := range mutants {
		if !m.often && !matrix() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			o := options(t, m.example, example(t, m.example), m.patch)
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			said := text(t, r)
			t.Log(said)
			if r.Passed() {
				t.Fatal("it passes")
			}
			for _, want := range append(m.says, "FAILED V2, parallelism 1: ", "failed: ") {
				if !strings.Contains(said, want) {
					t.Errorf("the report does not say %q", want)
				}
			}
			failed := r.Runs[slices.IndexFunc(r.Runs, func(run *Result) bool { return len(run.Faults) > 0 })]
			if len(failed.Schedule) == 0 {
				t.Error("it fails without a crash")
			}
			if logs, err := filepath.Glob(filepath.Join(failed.Dir, "life-1-*.log")); err != nil || len(logs) != 1 {
				t.Errorf("%s has the logs %v (%v)", failed.Dir, logs, err)
			}
			repeat := fmt.Sprintf("eoc test --crash %s.eo --seed %d --transactions 2 --parallelism 1 --at %v\n", m.example, o.Seed, failed.Schedule)
			if !strings.Contains(said, repeat) {
				t.Errorf("the report does not say %q", repeat)
			}
			if i > 0 {
				return
			}
			// What the command does is that run, and it fails again.
			o.Only = failed.Schedule
			again, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if again.Passed() || len(again.Runs) != 2 { // and the one without a crash
				t.Errorf("once more, just that: passed %v, %d runs", again.Passed(), len(again.Runs))
			}
		})
	}
}

// untilFailed is a screen that ends a test when the first run has failed.
type untilFailed struct{ end func() }

func (u untilFailed) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(" failed")) {
		u.end()
	}
	return len(p), nil
}

// A failure that was found before the test was interrupted is reported, and its folder kept; those of runs that were under way are not.
func TestFailureBeforeInterrupt(t *testing.T) {
	o := options(t, "clicks", example(t, "clicks"), mutants[0].patch)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Err, o.Terminal = untilFailed{cancel}, true
	r, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || r.Passed() {
		t.Fatalf("error %v, report %v", err, r)
	}
	said := text(t, r)
	t.Log(said)
	var kept []string
	for _, run := range r.Runs {
		if len(run.Faults) > 0 {
			kept = append(kept, run.Dir)
			if !strings.Contains(said, run.Dir) && len(kept) == 1 {
				t.Errorf("the report does not say %s", run.Dir)
			}
		}
	}
	slices.Sort(kept)
	if there, err := filepath.Glob(filepath.Join(os.TempDir(), "eoc-test-*", "*")); err != nil || !slices.Equal(there, kept) {
		t.Errorf("folders %v (%v), want those of runs that failed: %v", there, err, kept)
	}
}

// Ctrl-C in the middle ends the test with code 130, and leaves no process and no folder behind.
func TestInterrupt(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cmd := exec.Command(eoc, "test", "--crash", "--data", filepath.Join("..", "..", "examples", "data", "clicks"), filepath.Join("..", "..", "examples", "clicks.eo"))
	// The test has to end by itself, and with it all that it has started, since they hold its standard error.
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // of a test that has failed in the middle
		if cmd.ProcessState != nil {
			return
		}
		cmd.Process.Signal(os.Interrupt) // so that it ends what it has started; it may be gone
		defer time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() }).Stop()
		cmd.Wait() // the test has said what was wrong
	})
	said := bufio.NewReader(stderr)
	if line, err := said.ReadString('\n'); err != nil || !strings.HasPrefix(line, "0 of ") {
		t.Fatalf("it begins with %q (%v)", line, err)
	}
	// Its folder is there as soon as a run has begun.
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); ; <-tick.C {
		if runs, err := filepath.Glob(filepath.Join(os.TempDir(), "eoc-test-*", "*", "state", "*")); err != nil || len(runs) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no program has begun")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(said) // to the end of the last process
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // ProcessState says how it ended
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("code %d, want 130: %s", code, rest)
	}
	if list := left(t); len(list) > 0 {
		t.Errorf("left behind: %v", list)
	}
}

// What a user has to mend is said before anything runs.
func TestRefusals(t *testing.T) {
	o := options(t, "clicks", strings.Replace(example(t, "clicks"), "on_error dlq(\"clicks.dlq\")", "on_error fail", 1))
	var stop StopError
	if _, err := Run(t.Context(), o); !errors.As(err, &stop) || !strings.Contains(err.Error(), "clicks.jsonl:") || !strings.Contains(err.Error(), "on_error skip") {
		t.Errorf("a record that stops the pipeline: %v", err)
	}
	o = options(t, "clicks", strings.Replace(example(t, "clicks"), "on_error dlq(\"clicks.dlq\")", "on_error skip\n  on_null fail", 1))
	o.Data = t.TempDir()
	if err := os.WriteFile(filepath.Join(o.Data, "clicks.jsonl"), []byte("{}\n\nnull\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); !errors.As(err, &stop) || !strings.Contains(err.Error(), "clicks.jsonl:3: this record") || !strings.Contains(err.Error(), "on_null skip") {
		t.Errorf("a record without value that stops the pipeline: %v", err)
	}
	folder := func(text string) string {
		dir := t.TempDir()
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, "clicks.jsonl"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	dirs := t.TempDir()
	if err := os.Mkdir(filepath.Join(dirs, "clicks.jsonl"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, data, only, want string }{
		{"no folder", "", "none", "there is no sample data: it belongs into " + filepath.Join("data", "TOPIC.jsonl")},
		{"no file", folder(""), "none", "clicks.jsonl, a record in each line; --data names another folder"},
		{"an empty file", folder("\n"), "none", "clicks.jsonl holds no record; write one into each line; --data names another folder"},
		{"a folder", dirs, "none", filepath.Join(dirs, "clicks.jsonl") + " is a folder; expected a file with a record in each line"},
		{"a long line", folder("{}\n" + strings.Repeat("x", 2_000_000) + "\n"), "none", "clicks.jsonl:2: a record of 2000000 bytes is not fed: clients send 999900 at most"},
		{"nothing comes of it", folder(`{"id":"1","page":"/health","status":200,"at":1772442006608}`), "none",
			"leads to no result, late record or dead letter, so there is nothing that could be lost or doubled (of 48 read: 48 kept by no `where` or `if`); add records that do"},
		{"no such point", o.Data, "after-stor:1", "did you mean after-store?"},
	} {
		o.Data = c.data
		var err error
		if o.Only, err = ParseSchedule(c.only); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	o.Only, o.Key = nil, map[string]string{"click": "id"}
	if _, err := Run(t.Context(), o); err == nil || err.Error() != "--key is click=id, but no source reads a topic click; there is clicks" {
		t.Errorf("a key of a topic that nobody reads: %v", err)
	}
	o.Key = nil
	o.Graph.Job.Memory = true
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "store memory") {
		t.Errorf("store memory: %v", err)
	}
}
