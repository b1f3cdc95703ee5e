//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/crashpoint"
	"github.com/eoc-lang/eoc/internal/e2e/program"
)

// TestSecondCopyIsRefused starts copies of a running program: one on its state, one on an empty one.
func TestSecondCopyIsRefused(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	p := r.halfDone(t)
	exits(t, r.start(t), 4, r.state)

	state := r.state
	r.state = filepath.Join(t.TempDir(), "empty")
	exits(t, r.start(t), 5, "--fresh")
	r.state = state
	r.awaitMore(t, p, 50) // the first has lost nothing
	r.complete(t, p)
}

// phases are those of a checkpoint in which a program is paused: before its transaction is prepared, while it is, within EndTxn and behind it.
func phases(all bool) []string {
	if all {
		return slices.Concat(checkpointPoints, preparedPoints)
	}
	return []string{"before-marker", "after-store", "after-end-txn-sent"}
}

// TestPauseMatrix pauses the program, lets a copy of its state take over, and wakes it up: it must see that it has
// lost the pipeline, and add nothing. It is paused at some moment, and in each phase of a checkpoint; EO_MATRIX=1 does so at every point of one.
func TestPauseMatrix(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("V", version), func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, version))
			points := phases(os.Getenv("EO_MATRIX") == "1")
			const moments = 3
			r := newRun(t, p, failpoints, 1, makeLoad(p.graph, seed(t), 1500*(2*len(points)+moments+1)))
			next := r.feeder.shares(2*len(points) + moments + 1)
			current := r.start(t, debug)
			for round := range moments {
				next()
				r.awaitMore(t, current, 20+7*round)
				current = r.replace(t, current, round%2 == 0)
			}
			for _, later := range []bool{true, false} {
				for i, point := range points {
					current.Kill(t)
					next()
					current = r.replace(t, r.haltAt(t, point, 1+i%3, debug), later)
				}
			}
			r.complete(t, current)
		})
	}
}

// takeover is a pause of a program in its start, in which another one takes over.
type takeover struct {
	occasion
	later bool // it wakes up when the other one has gone on, else at once
}

// takeovers are two at each point of a start in `make matrix`, and some of them in `make test`. Each schedule is that of a pipeline.
func takeovers(rng *rand.Rand, all bool) [][]takeover {
	if !all {
		return [][]takeover{{
			{ofStart(rng, "startup-before-marker-0"), true}, {ofStart(rng, "startup-before-end-txn"), false}, {ofStart(rng, "startup-after-fence"), true},
		}}
	}
	var pauses []takeover
	for _, point := range pointsOfStart() {
		pauses = append(pauses, takeover{ofStart(rng, point), true}, takeover{ofStart(rng, point), false})
	}
	return deal(rng, pauses, func(p takeover) occasion { return p.occasion })
}

// TestEveryPauseIsScheduled holds what TestPauseMatrix and TestStartPauseMatrix do against the points that there are.
func TestEveryPauseIsScheduled(t *testing.T) {
	scheduled := phases(true)
	ways := map[string]int{}
	for _, pauses := range takeovers(rand.New(rand.NewPCG(1, 1)), true) {
		for i, p := range pauses {
			if i > 0 == slices.Contains(firstPoints, p.point) {
				t.Errorf("%v is number %d of a pipeline's pauses", p.occasion, i)
			}
			way := 1
			if p.later {
				way = 2
			}
			ways[p.point] |= way
		}
	}
	for point, both := range ways {
		if both != 1|2 {
			t.Errorf("at %s a program wakes up in one way alone", point)
		}
		scheduled = append(scheduled, point)
	}
	points := crashpoint.All()
	slices.Sort(points)
	slices.Sort(scheduled)
	if !slices.Equal(points, scheduled) {
		t.Errorf("programs are paused at\n%q, the points are\n%q", scheduled, points)
	}
}

// TestStartPauseMatrix is TestPauseMatrix for programs that are paused in their start. EO_MATRIX=1 does so at every point of one.
func TestStartPauseMatrix(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("V", version), func(t *testing.T) {
			t.Parallel()
			seed := seed(t)
			for i, pauses := range takeovers(rand.New(rand.NewPCG(seed, 6)), os.Getenv("EO_MATRIX") == "1") {
				p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, version))
				r := newRun(t, p, failpoints, 2, makeLoad(p.graph, seed+uint64(i), 2000*(len(pauses)+1)))
				share := r.feeder.left() / (len(pauses) + 1)
				var current *program.Process
				for _, pause := range pauses {
					if current != nil {
						current.Kill(t)
					}
					t.Logf("pipeline %d: %v, awake later: %v", i, pause.occasion, pause.later)
					r.feeder.phase(share)
					current = r.replace(t, r.haltThere(t, pause.occasion, debug), pause.later)
				}
				r.complete(t, current)
			}
		})
	}
}

// replace pauses the program and starts another on a copy of its state. It wakes the first up when the
// second has gone on, or at once.
func (r *run) replace(t testing.TB, paused *program.Process, later bool) *program.Process {
	t.Helper()
	before := r.state
	next := r.beside(t, paused)
	if later {
		awaitCheckpoints(t, next, 2) // both transactional ids are its own
	}
	paused.Signal(t, syscall.SIGCONT)
	if !later && r.keeps(t, paused, next) {
		r.state = before
		return paused
	}
	return r.succeeds(t, paused, next, before, later)
}

// beside pauses the program and starts another on a copy of its state.
func (r *run) beside(t testing.TB, paused *program.Process) *program.Process {
	t.Helper()
	paused.Freeze(t)
	before := r.state
	r.state = filepath.Join(r.place(t), "state")
	if err := os.CopyFS(r.state, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	next := r.start(t, debug)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of the program that was started beside it:\n%s", next.Tail(20))
		}
	})
	return next
}

// succeeds waits until a program that was paused has given up, and returns the one that goes on: next, or another one on the state that is the newest.
func (r *run) succeeds(t testing.TB, paused, next *program.Process, before string, later bool) *program.Process {
	t.Helper()
	// A program that was paused for long gives up its work at first, and sees at its next start that it is behind.
	if exit := paused.Wait(t, dieLimit, "to see that it has lost the pipeline"); exit.Code != 4 && exit.Code != 5 {
		t.Fatalf("the paused program: %v, want exit code 4 or 5; the end of its log:\n%s", exit, paused.Tail(20))
	}
	// The first may have been about to take an id when it was paused, and does so when it wakes up: then both have to give up. If
	// both start at once, it may also have committed a checkpoint that the copy has not, and then its state is the one to go on with.
	switch exit, ended := r.survives(t, next); {
	case !ended:
		return next
	case exit.Code == 5 && !later:
		r.state = before
	case exit.Code != 4:
		t.Fatalf("the second program: %v, want exit code 4 or 5; the end of its log:\n%s", exit, next.Tail(20))
	}
	return r.start(t, debug)
}

// keeps waits for the end of one of two programs that have started at once, and says whether the first keeps the pipeline: each time that the second has
// fenced an id, the first may have been about to take it anew. Then the second sees that it is behind or fenced, and gives up.
func (r *run) keeps(t testing.TB, first, second *program.Process) bool {
	t.Helper()
	select {
	case <-first.Done():
		return false
	case <-second.Done():
	case <-time.After(dieLimit):
		t.Fatalf("two programs run on one pipeline for %v; the end of the log of the first:\n%s", dieLimit, first.Tail(20))
	}
	if code := second.Exit().Code; code != 4 && code != 5 {
		return false
	}
	const enough = 20 // results, of more than the two transactions that may be under way
	target := r.follower.Total() + enough
	ctx, cancel := whileAlive(t, first, dieLimit)
	defer cancel()
	return r.follower.Await(ctx, func(counts map[string]int) bool { return total(counts) >= target }) == nil
}

// survives waits until a program has used both transactional ids anew, so that nobody has taken them, or has ended.
func (r *run) survives(t testing.TB, p *program.Process) (exit program.Exit, ended bool) {
	t.Helper()
	const enough = 3 // the first may be committed although the id of the second is lost
	target := checkpoints(p) + enough
	poll(t, p, "to go on or to give up", func() bool {
		select {
		case <-p.Done():
			exit, ended = p.Exit(), true
			return true
		default:
			return checkpoints(p) >= target
		}
	})
	return exit, ended
}

// TestOldStateIsRefused puts an older copy of the state back: what came after it is committed and must not be doubled. A program that runs on the newest
// one does not notice the start of the other.
func TestOldStateIsRefused(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	p := r.halfDone(t)
	r.stop(t, p)
	old, newest := filepath.Join(t.TempDir(), "old"), r.state
	if err := os.CopyFS(old, os.DirFS(r.state)); err != nil {
		t.Fatal(err)
	}
	p = r.halfDone(t, debug)
	r.state = old
	exits(t, r.start(t), 5, "older than the output")
	r.state = newest
	for range 3 { // both transactional ids are used again
		before := checkpoints(p)
		r.feeder.phase(r.feeder.left() / 4)
		awaitCheckpoints(t, p, before+1)
	}
	r.stop(t, p)
	if strings.Contains(p.Log(), "the pipeline cannot run") {
		t.Errorf("the program that ran has noticed it; the end of its log:\n%s", p.Tail(20))
	}
	r.state = old
	exits(t, r.start(t), 5, "older than the output")
	r.state = newest
	r.finish(t)
}

// TestDamagedState starts a program on a state of which a disk has kept the beginning alone, and on one with bytes that are others. It is refused, and both ways out that are
// named lead on: a copy of the directory, with which nothing is missing or doubled, and --fresh, which keeps the damaged file and makes all results once more.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 2)
	file := filepath.Join(r.state, "state.db")
	damage := func(how func(data []byte) []byte) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, how(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // a start changes nothing about it
			exits(t, r.start(t), 5, "state file "+file+" is damaged", "put back a copy of the state directory", "--fresh")
		}
	}
	r.feeder.phase(r.feeder.left() / 2)
	p := r.start(t)
	r.awaitMore(t, p, 50)
	r.stop(t, p)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(r.state)); err != nil {
		t.Fatal(err)
	}
	meta := 2 * os.Getpagesize() // bbolt's two pages that say where everything is
	damage(func(data []byte) []byte { return data[:meta+os.Getpagesize()] })
	if err := os.RemoveAll(r.state); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(r.state, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	r.finish(t)

	damage(func(data []byte) []byte {
		const every = 64
		for i := meta; i < len(data); i += every {
			data[i] ^= 1
		}
		return data
	})
	p = r.start(t, "EO_FRESH=true")
	r.expectTwice()
	r.endWithResults(t, p)
	if kept, err := filepath.Glob(file + ".damaged-*"); err != nil || len(kept) != 1 {
		t.Errorf("the damaged file is kept as %q (%v)", kept, err)
	}
}

// expectTwice expects each result twice.
func (r *run) expectTwice() {
	for sink, outputs := range r.want.Sinks {
		r.want.Sinks[sink] = append(outputs, outputs...)
	}
	r.want.DeadLetters = append(r.want.DeadLetters, r.want.DeadLetters...)
}

// TestFreshBeginsAnew: --fresh makes all results once more, and says so before.
func TestFreshBeginsAnew(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	p := r.start(t)
	r.feeder.finish(t, r.pipeline, r.last)
	r.await(t, p)
	r.stop(t, p)
	p = r.start(t, "EO_FRESH=true")
	r.expectTwice()
	r.endWithResults(t, p)
}
