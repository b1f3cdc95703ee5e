//go:build unix

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// Deadlines that only a fault reaches.
const (
	dieLimit    = 4 * time.Minute // to reach a crash point
	resultLimit = 5 * time.Minute // to commit everything that is expected
	stopLimit   = 2 * time.Minute // to stop
)

// failpoints is the mode of binaries that can die at crash points.
var failpoints = program.Mode{Failpoints: true}

// run is one pipeline from its first start to its last, with the lives between.
type run struct {
	*pipeline
	binary      string
	state       string
	disk        string // a file system for the state and its copies, "" for that of all temporary files
	parallelism int
	interval    time.Duration
	more        []string // environment of what is asked of the program beside its run
	env         []string // further environment of every start
	feeder      *feeder
	follower    *kafkatest.Follower
	*load
}

// newRun is a run of a pipeline that is fed a load, and whose results are followed.
func newRun(t testing.TB, p *pipeline, mode program.Mode, parallelism int, l *load) *run {
	t.Helper()
	r := &run{
		pipeline: p, binary: p.binary(t, mode), state: filepath.Join(t.TempDir(), "state"), parallelism: parallelism,
		interval: 50 * time.Millisecond, load: l,
	}
	if mode.Race {
		r.interval = 100 * time.Millisecond
	}
	r.follow(t)
	r.feeder = newFeeder(t, p, l)
	return r
}

// place is a new directory where a state may be.
func (r *run) place(t testing.TB) string {
	t.Helper()
	if r.disk == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(r.disk, "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// follow follows what the program writes, from the beginning.
func (r *run) follow(t testing.TB) {
	t.Helper()
	r.follower = r.broker.Follow(t, nil, r.outputs()...)
}

// start starts the program, with further environment.
func (r *run) start(t testing.TB, env ...string) *program.Process {
	t.Helper()
	return program.Start(t, r.binary, program.Config{Env: slices.Concat(r.environment(r.state, r.parallelism, r.interval), r.env, env)})
}

// lives goes through a schedule. Each life has an equal share of the input that is left.
func (r *run) lives(t testing.TB, deaths []death) {
	t.Helper()
	next := r.feeder.shares(len(deaths) + 1)
	for i, d := range deaths {
		if d.abort {
			r.abort(t)
		}
		next()
		if d.point == "" {
			r.dieSometime(t, i, d)
		} else {
			r.dieAt(t, i, d)
		}
	}
}

// abort aborts what a death has left, as the broker does when a transaction's timeout has passed.
func (r *run) abort(t testing.TB) {
	t.Helper()
	for _, id := range r.transactionalIDs() {
		r.broker.Fence(t, id)
	}
}

// dieAt starts the program and waits until it has died at a crash point.
func (r *run) dieAt(t testing.TB, number int, d death) {
	t.Helper()
	what := fmt.Sprintf("life %d, to end at %s", number, d)
	p := r.start(t, fmt.Sprintf("EO_FAILPOINT=%s:%d", d.point, d.pass))
	if exit := p.Wait(t, dieLimit, what); !exit.Killed() {
		t.Fatalf("%s: %v; the end of its log:\n%s", what, exit, p.Tail(40))
	}
}

// dieSometime starts the program and kills it at a moment that has nothing to do with what it does.
func (r *run) dieSometime(t testing.TB, number int, d death) {
	t.Helper()
	what := fmt.Sprintf("life %d, to end by %s", number, d)
	p := r.start(t)
	if d.pieces > 0 {
		ctx, cancel := whileAlive(t, p, dieLimit)
		defer cancel()
		if err := r.feeder.await(ctx, d.pieces); err != nil {
			t.Fatalf("%s: %v; the end of its log:\n%s", what, err, p.Tail(40))
		}
	} else {
		r.awaitMore(t, p, d.committed)
	}
	p.Kill(t)
}

// awaitMore waits until n further records are committed.
func (r *run) awaitMore(t testing.TB, p *program.Process, n int) {
	t.Helper()
	ctx, cancel := whileAlive(t, p, dieLimit)
	defer cancel()
	target := r.follower.Total() + n
	if err := r.follower.Await(ctx, func(counts map[string]int) bool { return total(counts) >= target }); err != nil {
		t.Errorf("waiting for %d more results: %v", n, err)
		r.explain(t, p)
		t.FailNow()
	}
}

// whileAlive is a context that ends with the program, or after a limit.
func whileAlive(t testing.TB, p *program.Process, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	go func() {
		select {
		case <-p.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

// finish starts the program for the last time, feeds the rest, waits for the results, stops it and judges.
func (r *run) finish(t testing.TB) {
	t.Helper()
	p := r.start(t)
	r.complete(t, p)
}

// complete is finish for a program that runs.
func (r *run) complete(t testing.TB, p *program.Process) {
	t.Helper()
	r.feeder.finish(t, r.pipeline, r.last)
	r.end(t, p)
}

// end waits for the results of a program that has been fed, stops it and judges.
func (r *run) end(t testing.TB, p *program.Process) {
	t.Helper()
	r.await(t, p)
	r.awaitInput(t, p)
	r.stop(t, p)
	r.judge(t, p)
	r.verify(t)
}

// endWithResults is end for input of which a part was lost or read again, so that only the results are what the reference says, not the counts.
func (r *run) endWithResults(t testing.TB, p *program.Process) {
	t.Helper()
	r.await(t, p)
	r.stop(t, p)
	r.judgeResults(t)
}

// await waits until as many records are committed as the reference has, topic by topic.
func (r *run) await(t testing.TB, p *program.Process) {
	t.Helper()
	if err := r.awaited(t, p); err != nil {
		t.Error(err)
		r.explain(t, p)
		t.FailNow()
	}
}

// awaitInput waits until the whole input is read: what stands at its end need not lead to a result. Of a source on another cluster that is
// told to tools alone, perhaps not before the program stops.
func (r *run) awaitInput(t testing.TB, p *program.Process) {
	t.Helper()
	if r.upstream != r.broker {
		return
	}
	for written, topic := range r.topics {
		if r.source(written) == nil {
			continue
		}
		for id, end := range r.upstream.EndOffsets(t, topic) {
			r.awaitRead(t, p, topic, id, end)
		}
	}
}

// awaited is await, and returns what it has waited for in vain.
func (r *run) awaited(t testing.TB, p *program.Process) error {
	t.Helper()
	want := r.wanted()
	ctx, cancel := whileAlive(t, p, resultLimit)
	defer cancel()
	err := r.follower.Await(ctx, func(counts map[string]int) bool {
		for topic, n := range want {
			if counts[topic] < n {
				return false
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("%w; expected are %v", err, want)
	}
	return nil
}

// explain says what holds results back.
func (r *run) explain(t testing.TB, p *program.Process) {
	t.Helper()
	t.Logf("open transactions: %q", r.broker.OpenTransactions(t, r.outputs()...))
	t.Logf("transactional ids: %q", r.broker.TransactionalIDs(t, r.name+"-"))
	if r.want != nil {
		t.Logf("what is committed differs by: %s", r.compare(t))
	}
	t.Logf("the end of the program's log:\n%s", p.Tail(40))
}

// runs waits until a program runs. Before that it has perhaps not asked for signals yet, and what is committed may be of the life before.
func runs(t testing.TB, p *program.Process) {
	t.Helper()
	poll(t, p, "to run", func() bool { return strings.Contains(p.Log(), `"msg":"running"`) })
}

// halfDone starts the program with half of the input that is left, and waits until it has committed some results.
func (r *run) halfDone(t testing.TB, env ...string) *program.Process {
	t.Helper()
	r.feeder.phase(r.feeder.left() / 2)
	p := r.start(t, env...)
	runs(t, p)
	r.awaitMore(t, p, 50)
	return p
}

// stop stops the program in order.
func (r *run) stop(t testing.TB, p *program.Process) {
	t.Helper()
	runs(t, p)
	p.Signal(t, syscall.SIGTERM)
	if exit := p.Wait(t, stopLimit, "stop by SIGTERM"); exit.Code != 0 {
		t.Fatalf("stop by SIGTERM: %v, want exit code 0; the end of its log:\n%s", exit, p.Tail(40))
	}
}
