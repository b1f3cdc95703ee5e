//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
)

// TestTwoFirstStarts starts a pipeline twice before it has any state, each program with an empty directory of its own. The first is stopped at a point of its start, and
// goes on when the second runs or has been refused, or at once. One of the two goes on with the pipeline, perhaps when it is started once more, and what it writes is there once.
// EO_MATRIX=1 does so at every point of a first start, in both ways.
func TestTwoFirstStarts(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("V", version), func(t *testing.T) {
			t.Parallel()
			seed := seed(t)
			rng := rand.New(rand.NewPCG(seed, 7))
			var pauses []takeover
			for _, point := range firstPoints {
				pauses = append(pauses, takeover{ofStart(rng, point), true}, takeover{ofStart(rng, point), false})
			}
			if os.Getenv("EO_MATRIX") != "1" {
				i := rng.IntN(len(pauses))
				pauses = pauses[i : i+1]
			}
			for i, pause := range pauses {
				t.Logf("%v, awake later: %v", pause.occasion, pause.later)
				p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, version))
				r := newRun(t, p, failpoints, 1, makeLoad(p.graph, seed+uint64(i), 4000))
				r.feeder.phase(r.feeder.left() / 2)
				first, second := attempt{state: r.state}, attempt{state: filepath.Join(t.TempDir(), "state")}
				first.Process = r.haltThere(t, pause.occasion, debug)
				r.state = second.state
				second.Process = r.start(t, debug)
				if pause.later {
					r.survives(t, second.Process)
				}
				first.Signal(t, syscall.SIGCONT)
				r.complete(t, r.oneOf(t, first, second))
			}
		})
	}
}

// attempt is a program with its state.
type attempt struct {
	*program.Process
	state string
}

// oneOf waits until one of two programs has given up, and returns the other. If that has given up, too, one of them is started again.
func (r *run) oneOf(t testing.TB, a, b attempt) *program.Process {
	t.Helper()
	select {
	case <-a.Done():
	case <-b.Done():
		a, b = b, a
	case <-time.After(dieLimit):
		t.Fatalf("two programs run on one pipeline for %v; the end of their logs:\n%s\n%s", dieLimit, a.Tail(20), b.Tail(20))
	}
	if code := a.Exit().Code; code != 4 && code != 5 {
		t.Fatalf("%v, want exit code 4 or 5; the end of its log:\n%s", a.Exit(), a.Tail(20))
	}
	for _, goes := range []attempt{b, {state: b.state}, {state: a.state}} {
		if r.state = goes.state; goes.Process == nil {
			goes.Process = r.start(t, debug)
		}
		switch exit, ended := r.survives(t, goes.Process); {
		case !ended:
			return goes.Process
		case exit.Code != 4 && exit.Code != 5:
			t.Fatalf("%v, want exit code 4 or 5; the end of its log:\n%s", exit, goes.Tail(20))
		}
	}
	t.Fatalf("none of two programs goes on; the end of their logs:\n%s\n%s", a.Tail(20), b.Tail(20))
	return nil
}
