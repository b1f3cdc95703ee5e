//go:build unix

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/pages"
)

// ask runs a verb of the program that only looks, as it would be run on the machine of the pipeline. It returns the answer and the exit code.
func (r *run) ask(t testing.TB, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), append(r.environment(r.state, r.parallelism, r.interval), r.more...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if stderr.Len() > 0 {
		t.Logf("%v: %s", args, &stderr)
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// checks are those of a report of doctor with the given name.
func (r *run) doctor(t testing.TB) (checks func(name, result string) string, code int) {
	t.Helper()
	text, code := r.ask(t, "doctor", "--json")
	var report struct {
		Checks []struct{ Check, Result, Text string }
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	t.Logf("code %d: %s", code, text)
	return func(name, result string) string {
		var found []string
		for _, c := range report.Checks {
			if c.Check == name && c.Result == result {
				found = append(found, c.Text)
			}
		}
		return strings.Join(found, "\n")
	}, code
}

// picture is everything that a program can change: every file of the state directory with its times, how far each topic goes, those of the
// coordinators too, the transactional ids and the group.
func (r *run) picture(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	files, err := os.ReadDir(r.state)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(r.state + "/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %v %v %x\n", f.Name(), info.Mode(), info.ModTime(), sha256.Sum256(data))
	}
	topics := append(r.broker.InternalTopics(t), r.outputs()...)
	slices.Sort(topics)
	for _, topic := range topics {
		fmt.Fprintf(&b, "%s %v\n", topic, r.broker.EndOffsets(t, topic))
	}
	fmt.Fprintf(&b, "%q\n", r.broker.TransactionalIDs(t, r.name+"-"))
	return b.String()
}

// freeze stops a program by SIGSTOP and waits until nothing changes any more: what it has asked for may be on its way through a broker that is busy.
func (r *run) freeze(t testing.TB, p *program.Process) string {
	t.Helper()
	const often = 20
	p.Freeze(t)
	before, same := "", 0
	for deadline := time.Now().Add(stopLimit); ; {
		now := r.picture(t)
		if same++; now != before {
			before, same = now, 0
		}
		switch {
		case same == often:
			return now
		case time.Now().After(deadline):
			t.Fatalf("it does not come to rest:\n%s", now)
		}
	}
}

// TestLookBesideAProgram asks a program that runs, one that is frozen in the middle, and one that was killed, and proves that asking changes
// nothing. It runs alone, since what it compares is the whole broker.
func TestLookBesideAProgram(t *testing.T) {
	r := newCase(t, "orders", 2)
	next := r.feeder.shares(3)
	check, code := r.doctor(t)
	if code != 0 || !strings.Contains(check("start", "ok"), "begins a new state") {
		t.Errorf("before the first start: code %d, %s", code, check("start", "ok"))
	}
	for _, verb := range []string{"state", "verify"} {
		if _, code := r.ask(t, verb); code != 5 {
			t.Errorf("%s before the first start: code %d", verb, code)
		}
	}
	next()
	p := r.start(t)
	r.awaitMore(t, p, 50)
	if check, code = r.doctor(t); code != 0 || !strings.Contains(check("state-directory", "ok"), fmt.Sprintf("in use by process %d", p.Pid())) {
		t.Errorf("while it runs: code %d, %s", code, check("state-directory", "ok"))
	}
	var held struct {
		Use        string
		Process    int
		Fits       bool
		Checkpoint struct{ Number int64 }
	}
	text, code := r.ask(t, "state", "--json")
	if err := json.Unmarshal([]byte(text), &held); err != nil || code != 0 || held.Use != "in use" || held.Process != p.Pid() || !held.Fits || held.Checkpoint.Number < 1 {
		t.Errorf("state while it runs: code %d, %v, %s", code, err, text)
	}

	r.verify(t)
	before := r.freeze(t, p)
	if _, code = r.doctor(t); code != 0 {
		t.Errorf("beside a frozen program: code %d", code)
	}
	r.verify(t)
	r.ask(t, "doctor")
	r.ask(t, "state")
	if after := r.picture(t); after != before {
		t.Errorf("asking has changed something:\n%s\nwas\n%s", after, before)
	}
	p.Signal(t, syscall.SIGCONT)

	next()
	r.awaitMore(t, p, 50)
	p.Kill(t)
	r.verify(t)
	if check, code = r.doctor(t); code != 0 || check("start", "ok") == "" {
		t.Errorf("after a kill: code %d, start: %s", code, check("start", "ok"))
	}
	r.finish(t)
	if check, code = r.doctor(t); code != 0 || !strings.Contains(check("start", "ok"), "it goes on from checkpoint") {
		t.Errorf("after a stop: code %d, start: %s", code, check("start", "ok"))
	}
}

// verify has the program count whether all is there. Everything has to hold, but in pipelines that say nothing that could be compared.
func (r *run) verify(t testing.TB) {
	t.Helper()
	if text, code := r.ask(t, "verify"); code != 0 {
		t.Errorf("verify: code %d\n%s", code, text)
	}
}

// operations are the blocks of commands of docs/operations.md in which the program is asked with a verb, in order.
func operations(t testing.TB, verb string) []string {
	t.Helper()
	list, err := pages.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, p := range list {
		for _, b := range p.Blocks {
			if p.Path == "docs/operations.md" && b.Lang == "sh" && strings.Contains(b.Text, "./orders "+verb+" ") {
				blocks = append(blocks, b.Text)
			}
		}
	}
	return blocks
}

// TestDoctorPage runs the commands of docs/doctor.md, of a program that does not start in docs/operations.md, and of the move in docs/deployment.md: each procedure
// as it is told, with a program between.
func TestDoctorPage(t *testing.T) {
	t.Parallel()
	list, err := pages.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, p := range list {
		for _, b := range p.Blocks {
			diagnosis := p.Path == "docs/operations.md" && strings.Contains(b.Text, "./orders doctor") && strings.Contains(b.Text, "./orders state")
			if b.Lang == "sh" && (p.Path == "docs/doctor.md" || diagnosis || strings.Contains(b.Text, "orders-state.tgz")) {
				found[p.Path] = append(found[p.Path], b.Text)
			}
		}
	}
	blocks := slices.Concat(found["docs/doctor.md"], found["docs/operations.md"], found["docs/deployment.md"])
	if len(found) != 3 || len(blocks) != 4 {
		t.Fatalf("found are %v, want a block of docs/doctor.md, before the first start, one of docs/operations.md, when it does not start, and two of docs/deployment.md, of a move", found)
	}
	r := newCase(t, "orders", 2)
	here, there := t.TempDir(), t.TempDir()
	for _, machine := range []string{here, there} {
		if err := os.Symlink(r.binary, filepath.Join(machine, "orders")); err != nil {
			t.Fatal(err)
		}
	}
	sh := func(machine, commands string) string {
		t.Helper()
		commands = strings.NewReplacer("localhost:9092", r.broker.Addr, "/var/lib", machine+"/lib").Replace(commands)
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", commands)
		cmd.Dir, cmd.Env = machine, append(os.Environ(), r.environment("", r.parallelism, r.interval)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", commands, err, out)
		}
		return string(out)
	}
	expect := func(out string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%q is not in\n%s", text, out)
			}
		}
	}
	expect(sh(here, blocks[0]), "0 failures", "does not exist; the first start makes it")
	r.state = filepath.Join(here, "lib", "orders")
	p := r.halfDone(t)
	r.stop(t, p)
	expect(sh(here, blocks[1]), "it goes on from checkpoint", "can go on from it")
	expect(sh(here, blocks[2]), "confirmed")
	archive, err := os.ReadFile(filepath.Join(here, "orders-state.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(there, "orders-state.tgz"), archive, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(there, "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	expect(sh(there, blocks[3]), "0 failures", "it goes on from checkpoint")
	r.state = filepath.Join(there, "lib", "orders")
	r.finish(t)
	r.state = filepath.Join(here, "lib", "orders")
	if check, code := r.doctor(t); code != 5 || !strings.Contains(check("start", "failure"), "the state is older than the output") {
		t.Errorf("the old copy: code %d, %s", code, check("start", "failure"))
	}
}
