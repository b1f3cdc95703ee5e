//go:build unix

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// TestVerifyPage goes through "Is it all there?" of docs/operations.md with its own commands: after kills everything holds; a record of somebody else is
// found; and when the topic has not kept everything, that is said, and what it has kept holds.
func TestVerifyPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Is it all there?\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := operations(t, "verify")
	if len(blocks) != 2 {
		t.Fatalf("docs/operations.md has %d blocks of commands with verify, want two", len(blocks))
	}
	orders := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, 2))
	r := newRun(t, orders, failpoints, 2, makeLoad(orders.graph, seed(t), caseRecords))
	home := t.TempDir()
	if err := os.Symlink(r.binary, filepath.Join(home, "orders")); err != nil {
		t.Fatal(err)
	}
	r.state = filepath.Join(home, "lib", "orders")
	run := func(commands string, code int, texts ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.NewReplacer("localhost:9092", r.broker.Addr, "/var/lib", home+"/lib").Replace(commands))
		cmd.Dir, cmd.Env = home, append(os.Environ(), r.environment("", r.parallelism, r.interval)...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
			t.Errorf("%s: %v, want code %d\n%s", commands, err, code, out)
		}
		for _, text := range texts {
			if !strings.Contains(string(out), text) || !strings.Contains(section, text) {
				t.Errorf("%q is not said, or not on the page:\n%s", text, out)
			}
		}
	}
	r.lives(t, []death{{point: "after-store", pass: 3}, {committed: 50}, {point: "before-store", pass: 2}})
	p := r.start(t)
	r.awaitMore(t, p, 1)
	run(blocks[0], 0)
	r.complete(t, p)
	run(blocks[0], 0)

	topic := r.topics["user-totals"]
	r.broker.Produce(t, topic, kafkatest.Record{Partition: 1, Value: []byte("foreign")})
	run(blocks[0], 11, "of other producers")
	run(strings.TrimRight(blocks[0], "\n")+" --shared", 0)

	text, _ := r.ask(t, "state", "--json")
	if !json.Valid([]byte(text)) {
		t.Errorf("the evidence that the page asks for: %s", text)
	}
	begun := r.milestone(t)
	r.broker.DeleteRecords(t, begun.Topic, begun.Partition, begun.From)
	run(strings.TrimRight(blocks[0], "\n")+" --shared", 12, "unknown")
	run(strings.TrimRight(blocks[1], "\n")+" --shared", 0)
}

// beginning is a partition of a sink's topic, and where comparing can begin in it.
type beginning struct {
	Topic     string
	Partition int32
	From      int64
}

// milestone finds a partition to which something had been written at the first checkpoint that the program remembers.
func (r *run) milestone(t testing.TB) beginning {
	t.Helper()
	out, _ := r.ask(t, "verify", "--since", "1", "--shared", "--json")
	var report struct{ Sinks []beginning }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, p := range report.Sinks {
		if p.From > 0 {
			return p
		}
	}
	t.Fatalf("the program remembers no place behind the first one: %s", out)
	return beginning{}
}
