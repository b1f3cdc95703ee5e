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

// said runs a program and returns what it has written to standard output.
func said(t *testing.T, p Pipeline, env settings.Env, args ...string) (string, failure.Kind) {
	t.Helper()
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	os.Stdout = file
	code := run(p, args, env)
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), code
}

func noEnv(string) (string, bool) { return "", false }

// With doctor, wrong settings are a check that has failed, in the form that was asked for.
func TestDoctorOfWrongSettings(t *testing.T) {
	for flag, want := range map[string]string{"--parallelism=0": `--parallelism is "0"`, "--paralelism=1": "did you mean --parallelism?"} {
		text, code := said(t, embedded(), noEnv, "doctor", flag, "--json")
		if code != failure.Usage {
			t.Errorf("code %d", code)
		}
		var answer struct {
			Checks []struct{ Check, Result, Text string }
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if c := answer.Checks[0]; c.Check != "settings" || c.Result != "failure" || !strings.Contains(c.Text, want) || len(answer.Checks) < 10 {
			t.Errorf("%s", text)
		}
	}
}

// Who has asked for JSON gets JSON, and with it why there is no answer; who has not, nothing on standard output.
func TestNoAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code failure.Kind
		want string
	}{
		{[]string{"state", "--state", filepath.Join(t.TempDir(), "none")}, failure.State, "there is no state in"},
		{[]string{"state", "--state", file}, failure.Usage, "is a file"},
		{[]string{"state", "--stat", file}, failure.Usage, "did you mean --state?"},
		{[]string{"state", "--name", "A B"}, failure.Usage, `--name is "A B"`},
		{[]string{"verify", "--state", filepath.Join(t.TempDir(), "none")}, failure.State, "there is no state in"},
		{[]string{"verify", "--since", "x"}, failure.Usage, "expected the number of a checkpoint, or kept"},
		{[]string{"txn", "list", "--state", file, "--brokers", kafkatest.StartLiar(t).Addr}, failure.Usage, "is a file"},
		{[]string{"txn", "list", "--brokers", "127.0.0.1:1"}, failure.Cluster, "cannot reach Kafka"},
		{[]string{"txn", "commit"}, failure.Usage, "--json is for list"},
		{[]string{"txn"}, failure.Usage, "wants to know what to do"},
		{[]string{"verfy"}, failure.Usage, "did you mean verify?"},
	} {
		text, code := said(t, embedded(), noEnv, append(c.args, "--json")...)
		var answer struct {
			Pipeline, File, Error string
			Code                  failure.Kind
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Errorf("%v: %v in %q", c.args, err, text)
		}
		if code != c.code || answer.Code != code || !strings.Contains(answer.Error, c.want) || answer.Pipeline != embedded().Name || answer.File != embedded().File {
			t.Errorf("%v: code %d, %s", c.args, code, text)
		}
		if c.want == "--json is for list" {
			continue
		}
		if text, again := said(t, embedded(), noEnv, c.args...); text != "" || again != code {
			t.Errorf("%v without --json: code %d, %q", c.args, again, text)
		}
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
