package runtime

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// A variable that the file names need not be set if a flag says what it would say.
func TestFlagsSpareVariables(t *testing.T) {
	p := Pipeline{
		Name: "p", File: "p.eo", Checkpoint: Second, TxnTimeout: 2 * Minute, Parallelism: 1,
		StateDir: Setting{Env: "NOT_SET"}, TxnPrefix: Setting{Text: "p"},
		Build: Build(func(*Task) struct{} { return struct{}{} }),
	}
	env := func(string) (string, bool) { return "", false }
	parse := func(args ...string) (settings.Settings, engine.Spec, error) {
		return p.resolve(env, func(d settings.Defaults) (settings.Settings, error) { return settings.Parse(args, env, d) })
	}
	set, spec, err := parse("--state", "/s", "--name", "q")
	if err != nil {
		t.Fatal(err)
	}
	if set.StateDir != "/s" || spec.StateDir != "/s" || spec.Name != "q" || spec.TxnPrefix != "q" {
		t.Errorf("state is in %s, name is %s, prefix is %s", spec.StateDir, spec.Name, spec.TxnPrefix)
	}
	if _, _, err = parse(); failure.KindOf(err) != failure.Usage {
		t.Errorf("without the variable: %v", err)
	}
}

// --help tells which variables the file names, though none of them is set.
func TestHelpNamesVariables(t *testing.T) {
	p := Pipeline{Name: "p", File: "p.eo", Checkpoint: Second, TxnTimeout: 2 * Minute, Parallelism: 1, TxnPrefix: Setting{Text: "p"}}
	p.Build = Build(func(t *Task) struct{} {
		t.Source(SourceSpec{Name: "orders", Place: "orders.eo:9", Topic: Setting{Env: "IN"}, OnError: DLQ(Setting{Env: "DEAD"})}, nil)
		t.Sink(SinkSpec{Name: "totals", Place: "orders.eo:24", Topic: Setting{Env: "OUT", Text: "totals", HasDefault: true}})
		return struct{}{}
	})
	env := func(string) (string, bool) { return "", false }
	set, _, err := p.resolve(env, func(d settings.Defaults) (settings.Settings, error) {
		return settings.Parse([]string{"--help"}, env, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"IN    the topic of source orders (orders.eo:9), has to be set",
		"DEAD  the dead-letter topic of source orders (orders.eo:9), has to be set",
		`OUT   the topic of sink totals (orders.eo:24), default "totals"`,
	} {
		if !strings.Contains(set.Answer, want) {
			t.Errorf("%q is missing in\n%s", want, set.Answer)
		}
	}
}

// With doctor, wrong settings are a check that has failed, in the form that was asked for.
func TestDoctorOfWrongSettings(t *testing.T) {
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	os.Stdout = file
	none := func(string) (string, bool) { return "", false }
	if code := run(embedded(), []string{"doctor", "--json", "--parallelism", "0"}, none); code != failure.Usage {
		t.Errorf("code %d", code)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Checks []struct{ Check, Result, Text string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if c := answer.Checks[0]; c.Check != "settings" || c.Result != "failure" || !strings.Contains(c.Text, `--parallelism is "0"`) || len(answer.Checks) < 10 {
		t.Errorf("%s", text)
	}
}

// Whichever verb answers, the exit code is the same when nobody takes the answer, as when standard output leads to a full disk; and when --state names no directory.
func TestVerbsFailAlike(t *testing.T) {
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	p := embedded()
	dir := filepath.Join(t.TempDir(), "state")
	s, err := state.OpenBolt(dir, state.Options{Pipeline: p.Name})
	if err != nil {
		t.Fatal(err)
	}
	made := &checkpoint.Checkpoint{Incarnation: checkpoint.ID{7}, Pipeline: p.Name, Group: "eo-" + p.Name, Account: &checkpoint.Account{}}
	if err := s.Save(made); err != nil {
		t.Fatal(err)
	}
	if err := s.Confirm(0); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	broker := kafkatest.StartLiar(t)
	none := func(string) (string, bool) { return "", false }
	for _, verb := range [][]string{{"state"}, {"state", "--json"}, {"txn", "list"}, {"txn", "list", "--json"}, {"verify"}, {"verify", "--json"}, {"doctor"}, {"doctor", "--json"}} {
		ask := func(dir string) failure.Kind {
			args := append(verb[:len(verb):len(verb)], "--state", dir)
			if verb[0] != "state" {
				args = append(args, "--brokers", broker.Addr)
			}
			return run(p, args, none)
		}
		if file, err = os.Create(file.Name()); err != nil {
			t.Fatal(err)
		}
		os.Stdout = file
		if code := ask(file.Name()); code != failure.Usage {
			t.Errorf("%v: a file in the place of the directory is code %d", verb, code)
		}
		ask(dir)
		if info, err := file.Stat(); err != nil || info.Size() == 0 {
			t.Fatalf("%v: it has no answer (%v)", verb, err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if code := ask(dir); code != failure.Disk {
			t.Errorf("%v: an answer that cannot be written is code %d", verb, code)
		}
	}
	for _, flag := range []string{"--help", "--version"} {
		if code := run(p, []string{flag}, none); code != failure.Disk {
			t.Errorf("%s: an answer that cannot be written is code %d", flag, code)
		}
	}
}
