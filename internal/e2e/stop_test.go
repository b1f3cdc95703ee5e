//go:build unix

package e2e

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/reference"
)

// caseRecords is how much a single case is fed.
const caseRecords = 10_000

// newCase is a run of an example without crash points.
func newCase(t testing.TB, name string, parallelism int) *run {
	t.Helper()
	p := newPipeline(t, name, patient(example(t, name)), brokers.Broker(t, 2))
	return newRun(t, p, program.Mode{}, parallelism, makeLoad(p.graph, seed(t), caseRecords))
}

// exits waits for the end of a program that has to give up, with the exit code and all the texts in its log.
func exits(t testing.TB, p *program.Process, code int, texts ...string) {
	t.Helper()
	if exit := p.Wait(t, dieLimit, fmt.Sprintf("to end with exit code %d", code)); exit.Code != code {
		t.Fatalf("%v, want exit code %d; the end of its log:\n%s", exit, code, p.Tail(20))
	}
	for _, text := range texts {
		if !strings.Contains(p.Log(), text) {
			t.Errorf("%q is not in its log:\n%s", text, p.Tail(20))
		}
	}
}

// TestStopAndGoOn stops the program in the middle, with SIGTERM, and goes on with another number of tasks.
func TestStopAndGoOn(t *testing.T) {
	t.Parallel()
	r := newCase(t, "payments", 1)
	next := r.feeder.shares(3)
	for _, parallelism := range []int{1, 3} {
		r.parallelism = parallelism
		next()
		p := r.start(t)
		r.awaitMore(t, p, 50)
		r.stop(t, p)
	}
	r.parallelism = 2
	r.finish(t)
}

// TestBoundedRun ends at what the topics hold at its start, with every window closed.
func TestBoundedRun(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 3)
	r.feeder.finish(t, r.pipeline, nil)
	r.want = reference.Run(r.graph, r.input) // at the end of its input all windows close
	p := r.start(t, "EO_UNTIL=latest")
	exits(t, p, 0, "finished")
	r.judge(t, p)

	again := r.start(t, "EO_UNTIL=latest")
	exits(t, again, 0, "finished")
	r.feeder.finish(t, r.pipeline, r.last)
	exits(t, r.start(t, "EO_UNTIL=latest"), 5, "--fresh")
	if d := r.compare(t); d != "" {
		t.Errorf("a finished run was not left alone: %s", d)
	}
}

// TestBoundedRunDies dies in a bounded run and at its end.
func TestBoundedRunDies(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, 1))
	r := newRun(t, p, failpoints, 3, makeLoad(p.graph, seed(t), caseRecords))
	r.feeder.finish(t, r.pipeline, nil)
	r.want = reference.Run(r.graph, r.input)
	for _, point := range []string{"before-store:1", "after-store:1", "after-end-txn:1", "before-confirm:1"} {
		p := r.start(t, "EO_UNTIL=latest", "EO_CHECKPOINT_INTERVAL=10ms", "EO_FAILPOINT="+point)
		exit := p.Wait(t, dieLimit, point)
		const missed = 70 // the run was at its end before it came to the point
		if exit.Code == missed {
			break
		}
		if !exit.Killed() {
			t.Fatalf("%s: %v; the end of its log:\n%s", point, exit, p.Tail(20))
		}
	}
	exits(t, r.start(t, "EO_UNTIL=latest"), 0)
	r.judgeResults(t)
}

// debug makes a program log its checkpoints.
const debug = "EO_LOG_LEVEL=debug"

// checkpoints is how many checkpoints a program has logged.
func checkpoints(p *program.Process) int { return strings.Count(p.Log(), `"checkpoint is complete"`) }

// awaitCheckpoints waits until a program has completed so many checkpoints.
func awaitCheckpoints(t testing.TB, p *program.Process, n int) {
	t.Helper()
	poll(t, p, fmt.Sprintf("to complete %d checkpoints", n), func() bool { return checkpoints(p) >= n })
}

// poll asks until a program has done something that can only be asked for.
func poll(t testing.TB, p *program.Process, what string, done func() bool) {
	t.Helper()
	const pause = 20 * time.Millisecond
	ctx, cancel := whileAlive(t, p, dieLimit)
	defer cancel()
	for !done() {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if !done() {
				t.Fatalf("%s: %v; the end of its log:\n%s", what, ctx.Err(), p.Tail(20))
			}
			return
		}
	}
}

// TestStopTwice stops the program while the broker answers nothing, so that its final checkpoint cannot be made: it waits. Another
// signal ends it at once, and the next start goes on.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	broker := kafkatest.Start(t, kafkatest.Options{})
	p := newPipeline(t, "orders", patient(example(t, "orders")), broker)
	r := newRun(t, p, program.Mode{}, 1, makeLoad(p.graph, seed(t), caseRecords))
	r.feeder.phase(r.feeder.left() / 2)
	alive := program.Start(t, r.binary, program.Config{
		Env: append(r.environment(r.state, 1, r.interval), "EO_LOG_FORMAT=text", "TERM=xterm", "NO_COLOR=", "CI="), Terminal: runtime.GOOS == "linux",
	})
	r.awaitMore(t, alive, 50)
	if runtime.GOOS == "linux" {
		poll(t, alive, "to show its progress", func() bool { return progressLine.MatchString(alive.Log()) })
	}
	hold := func(s syscall.Signal) {
		if err := syscall.Kill(broker.Pid(), s); err != nil {
			t.Fatal(err)
		}
	}
	hold(syscall.SIGSTOP)
	program.AwaitStopped(t, broker.Pid())
	defer hold(syscall.SIGCONT)
	alive.Signal(t, syscall.SIGTERM)
	poll(t, alive, "to say that it stops", func() bool { return strings.Contains(alive.Log(), "asked to stop") })
	again := time.NewTicker(200 * time.Millisecond) // the first ones may be taken for an echo of the first signal
	defer again.Stop()
	poll(t, alive, "to end", func() bool {
		<-again.C
		return alive.SignalIfAlive(syscall.SIGTERM) != nil
	})
	exits(t, alive, 10, "ended at once by a second signal")
	if runtime.GOOS == "linux" {
		leavesNoLine(t, alive.Log())
	}
	hold(syscall.SIGCONT)
	r.finish(t)
}

// progressLine is the line of progress as a terminal gets it: written over the one before it, or on the new row below a log line.
var progressLine = regexp.MustCompile(`[\r\n](running|stopping)  `)

// leavesNoLine fails if the line of progress still stands on the terminal.
func leavesNoLine(t *testing.T, shown string) {
	t.Helper()
	rows := strings.Split(shown, "\r\n")
	rewritten := strings.Split(rows[len(rows)-1], "\r")
	if last := strings.TrimSpace(rewritten[len(rewritten)-1]); last != "" {
		t.Errorf("%q stands on the terminal", last)
	}
}
