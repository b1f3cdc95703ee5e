//go:build unix

package e2e

import (
	"encoding/json"
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
	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// procedures are the commands of docs/operations.md about transactions, in order.
func procedures(t testing.TB) []string {
	t.Helper()
	blocks := operations(t, "txn")
	if len(blocks) != 5 {
		t.Fatalf("docs/operations.md has %d blocks of commands about transactions, want a look, a repair, a grant, a commit and an abort", len(blocks))
	}
	return blocks
}

// The commands of docs/operations.md about transactions, by their place.
const (
	stepLook = iota
	stepRepair
	stepGrant
	stepCommit
	stepAbort
)

// procedure does a step of docs/operations.md as it is told there.
func (r *run) procedure(t testing.TB, step int, texts ...string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(r.binary, filepath.Join(dir, "orders")); err != nil {
		t.Fatal(err)
	}
	env := append(r.environment("", r.parallelism, r.interval), r.more...)
	var all strings.Builder
	for line := range strings.Lines(procedures(t)[step]) {
		switch command := strings.TrimSpace(strings.NewReplacer("localhost:9092", brokersOf(env), "/var/lib/orders", r.state).Replace(line)); {
		case strings.HasPrefix(command, "kafka-acls.sh "):
			r.acls(t, command)
		case strings.HasPrefix(command, "./orders "):
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", command)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			t.Logf("%s\n%s", command, out)
			if err != nil {
				t.Fatalf("%s: %v", command, err)
			}
			all.Write(out)
		case !strings.HasPrefix(command, "#"):
			t.Fatalf("step %d of docs/operations.md has a command that is not understood: %s", step, command)
		}
	}
	out := all.String()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%q is not in\n%s", text, out)
		}
	}
}

// brokersOf is where the last EO_BROKERS of an environment points.
func brokersOf(env []string) string {
	brokers := ""
	for _, v := range env {
		if b, ok := strings.CutPrefix(v, "EO_BROKERS="); ok {
			brokers = b
		}
	}
	return brokers
}

// held is how many partitions ended transactions of the pipeline hold back, by what became of them.
func (r *run) held(t testing.TB) map[string]int {
	t.Helper()
	text, code := r.ask(t, "txn", "list", "--json")
	var report struct {
		Held []struct{ Fate, Topic string }
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil || code != 0 {
		t.Fatalf("code %d, %v in %s", code, err, text)
	}
	n := map[string]int{}
	for _, h := range report.Held {
		n[h.Fate]++
	}
	return n
}

// writtenAfter are the times that `txn list` has for what is held back of the output.
func (r *run) writtenAfter(t testing.TB) (times []time.Time) {
	t.Helper()
	text, code := r.ask(t, "txn", "list", "--json")
	var report struct {
		Held []struct {
			Topic string
			After time.Time `json:"written_after"`
		}
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil || code != 0 {
		t.Fatalf("code %d, %v in %s", code, err, text)
	}
	for _, h := range report.Held {
		if slices.Contains(r.outputs(), h.Topic) { // the group's offsets may be held back, too
			times = append(times, h.After)
		}
	}
	return times
}

// kills is how often TestLostMarkers kills the broker until it gives up. Each may lose a marker, about one in four does.
func kills() int {
	if os.Getenv("EO_MATRIX") == "1" {
		return 24
	}
	return 3
}

// TestLostMarkers kills the only node of a Kafka the moment that it has answered EndTxn, until it has lost markers of the transaction
// (KAFKA-20734). The program has to notice, and readers to see everything once when it was repaired.
func TestLostMarkers(t *testing.T) {
	t.Parallel()
	loseMarkers(t, 2)
	if os.Getenv("EO_MATRIX") == "1" {
		loseMarkers(t, 1)
	}
}

func loseMarkers(t *testing.T, version int) {
	t.Helper()
	broker := kafkatest.Start(t, kafkatest.Options{TransactionVersion: version})
	proxy := faultproxy.Start(t, broker.Addr)
	p := newPipeline(t, "clicks", example(t, "clicks"), broker)
	r := newRun(t, p, program.Mode{}, 2, makeLoad(p.graph, seed(t), caseRecords))
	through := "EO_BROKERS=" + proxy.Addr()
	next := r.feeder.shares(kills() + 3)
	alive := r.start(t, through)
	lost := false
	for n := 1; n <= kills() && !lost; n++ {
		next()
		r.awaitMore(t, alive, 20)
		r.feeder.pause() // what it sends to a broker that dies may be there twice
		r.awaitCommit(t, alive, proxy.Arm(faultproxy.Fault{Key: endTxn, Do: faultproxy.Lose}))
		broker.Kill(t)
		broker.Restart(t)
		// The program has waited for the broker, and goes on; its next start is what looks for markers at once.
		_ = alive.SignalIfAlive(syscall.SIGKILL) // it may have started again by itself, and ended
		alive.Wait(t, dieLimit, "to be gone")
		alive = r.start(t, through)
		lost = r.noticed(t, alive)
		t.Logf("kill %d: lost: %v", n, lost)
	}
	if !lost {
		fmt.Fprintf(os.Stderr, "%s: NO MARKER WAS LOST in %d kills of the broker; the last markers are taken off its logs instead\n", t.Name(), kills())
		alive = r.tear(t, alive, through)
	}
	r.repair(t, alive)
}

// repair looks at what a program says that has ended since markers are lost, repairs it as docs/operations.md tells, and lets a program come to the end.
func (r *run) repair(t testing.TB, ended *program.Process) {
	t.Helper()
	for _, text := range []string{"KAFKA-20734", "txn repair", "producer id "} {
		if !strings.Contains(ended.Log(), text) {
			t.Errorf("%q is not in its log:\n%s", text, ended.Tail(5))
		}
	}
	// By the clock, not in event time.
	if after := r.writtenAfter(t); len(after) == 0 || slices.ContainsFunc(after, func(at time.Time) bool { return time.Since(at) < 0 || time.Since(at) > time.Hour }) {
		t.Errorf("what is held back was written after %v, want times of this test", after)
	}
	if held := r.held(t); held["committed"] == 0 || held["unknown"]+held["aborted"] > 0 {
		t.Errorf("held back are %v, want committed ones", held)
	}
	r.procedure(t, stepLook, "a broker has lost the end markers", "next: txn repair")
	r.procedure(t, stepRepair, "wrote the end marker", "readers of committed records go on")
	r.procedure(t, stepLook, "next: start the program")
	if held := r.held(t); len(held) > 0 {
		t.Errorf("after the repair %v are held back", held)
	}
	last := r.start(t)
	r.feeder.finish(t, r.pipeline, r.last)
	r.reread(t)
	r.end(t, last)
}

// awaitCommit is awaitFault for a commit, of a program whose feeder is paused: as long as it commits nothing it may have read all that there is, and gets a
// little more.
func (r *run) awaitCommit(t testing.TB, alive *program.Process, commit *faultproxy.Armed) {
	t.Helper()
	const patience = time.Second
	for deadline := time.Now().Add(dieLimit); time.Now().Before(deadline); r.feeder.nudge(t) {
		select {
		case <-commit.Done:
			return
		case <-alive.Done():
		case <-time.After(patience):
			continue
		}
		break
	}
	awaitFault(t, alive, commit) // says what is wrong
}

// noticed waits until the program runs, or has ended since it noticed that markers are lost.
func (r *run) noticed(t testing.TB, p *program.Process) bool {
	t.Helper()
	for deadline := time.Now().Add(resultLimit); ; {
		select {
		case <-p.Done():
			if exit := p.Exit(); exit.Code != 7 {
				t.Fatalf("%v, want code 7; the end of its log:\n%s", exit, p.Tail(20))
			}
			return true
		case <-time.After(20 * time.Millisecond):
		}
		switch {
		case strings.Contains(p.Log(), `"msg":"running"`):
			return false
		case time.Now().After(deadline):
			t.Fatalf("it neither runs again nor says why; the end of its log:\n%s", p.Tail(20))
		}
	}
}

// tear stops the program, takes the last marker off each partition of its output, and starts it again, which has to be refused.
func (r *run) tear(t testing.TB, alive *program.Process, env string) *program.Process {
	t.Helper()
	r.feeder.phase(50)
	r.awaitMore(t, alive, 20)
	r.feeder.pause()
	r.stop(t, alive)
	r.quiet(t) // a coordinator that comes up ends what it had not
	r.tearMarkers(t)
	next := r.start(t, env)
	exits(t, next, 7)
	return next
}

// tearMarkers kills the broker, takes the last marker off each partition of the output, and starts the broker again.
func (r *run) tearMarkers(t testing.TB) {
	t.Helper()
	r.broker.Kill(t)
	torn := 0
	for _, topic := range r.outputs() {
		for id := range int32(outPartitions) {
			if r.broker.TearMarker(t, topic, id) >= 0 {
				torn++
			}
		}
	}
	if torn == 0 {
		t.Fatal("no partition of the output ends with a marker")
	}
	r.broker.Restart(t)
}

// TestMarkersLostBeneathProgram has a broker lose end markers while the program runs on. It must write nothing more under an id whose transaction lacks one: if it
// died then, what is committed would be aborted with that. It ends by itself.
func TestMarkersLostBeneathProgram(t *testing.T) {
	t.Parallel()
	broker := kafkatest.Start(t, kafkatest.Options{TransactionVersion: 2})
	proxy := faultproxy.Start(t, broker.Addr)
	p := newPipeline(t, "clicks", example(t, "clicks"), broker)
	r := newRun(t, p, program.Mode{}, 2, makeLoad(p.graph, seed(t), caseRecords))
	next := r.feeder.shares(4)
	next()
	alive := r.start(t, "EO_BROKERS="+proxy.Addr())
	r.awaitMore(t, alive, 20)
	r.feeder.pause()
	r.quiet(t)
	seen := r.follower.Total()
	// Markers that are seen are not lost later, so from here on it sees none.
	blind := proxy.Arm(faultproxy.Fault{Key: faultproxy.ListOffsets, When: faultproxy.AsksStable, Do: faultproxy.Answer, Answer: faultproxy.NotLeader, Count: -1})
	next()
	poll(t, alive, "to commit more", func() bool { return r.follower.Total() > seen })
	r.feeder.pause()
	r.quiet(t)
	r.tearMarkers(t)
	blind.Disarm()
	next()
	exits(t, alive, 7)
	r.repair(t, alive)
}

// TestUndecidedTransactions makes starts that refuse to guess, and decides for them as docs/operations.md says.
func TestUndecidedTransactions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, point string
		step        int
		next        string
	}{
		{"committed", "after-end-txn", stepCommit, "txn commit, since the logs of the sinks say so"},
		{"aborted", "before-end-txn", stepAbort, "txn abort, since the logs of the sinks say so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// Whatever goes into the transaction that is looked for leads to a result: else the logs would not say what became of it.
			text := replaced(t, "clicks", `status < 500 && page not in ["/health", "/metrics"]`, "status < 500 || status >= 500")
			p := newPipeline(t, "clicks", text, brokers.Broker(t, 2))
			r := newRun(t, p, failpoints, 2, allLead(p.graph, makeLoad(p.graph, seed(t), caseRecords)))
			r.feeder.phase(r.feeder.left() / 3)
			r.dieAt(t, 0, death{point: c.point, pass: 20})
			for _, id := range r.transactionalIDs() {
				r.broker.Fence(t, id) // as the broker does when the time is up, and then nobody knows any more
			}
			r.broker.DeleteGroup(t, r.group())
			exits(t, r.start(t), 9, "txn commit", "txn abort", "txn list")
			exits(t, r.start(t), 9) // a start changes nothing about that
			r.procedure(t, stepLook, "next: "+c.next)
			verb := strings.Fields(c.next)[1]
			if out, code := r.ask(t, "txn", strings.TrimSuffix(verb, ",")); code != 2 || !strings.Contains(out, "what will be done") {
				t.Errorf("without a terminal: code %d, %s", code, out)
			}
			r.procedure(t, c.step, "done: the next start goes on from checkpoint")
			r.finish(t)
		})
	}
}

// TestDecisionBesideAProgram: who holds the state is not disturbed.
func TestDecisionBesideAProgram(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	p := r.halfDone(t)
	for _, verb := range []string{"commit", "abort"} {
		if out, code := r.ask(t, "txn", verb, "--yes"); code != 4 {
			t.Errorf("txn %s: code %d, %s", verb, code, out)
		}
	}
	if out, code := r.ask(t, "txn", "repair", "--yes"); code != 0 || !strings.Contains(out, "there is nothing to repair") {
		t.Errorf("txn repair: code %d, %s", code, out)
	}
	text, code := r.ask(t, "txn", "list")
	if ids := r.transactionalIDs(); code != 0 || slices.ContainsFunc(ids, func(id string) bool { return !strings.Contains(text, id) }) ||
		!strings.Contains(text, fmt.Sprintf("the pipeline runs as process %d", p.Pid())) {
		t.Errorf("txn list: code %d, %s", code, text)
	}
	r.complete(t, p)
}
