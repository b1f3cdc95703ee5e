//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// startStep is a step of a start at which it dies.
type startStep struct {
	point string
	pass  int
	once  bool // a start that dies here has done what takes the next one past it
}

// Starts by what they find.
var (
	// firstStart finds nothing, or a checkpoint 0 that is not confirmed.
	firstStart = []startStep{
		{"startup-before-marker-read", 1, false}, {"startup-after-checkpoint-0", 1, true},
		{"startup-before-fence", 1, false}, {"startup-after-fence", 1, false}, {"startup-before-fence", 2, false}, {"startup-after-fence", 2, false},
		{"startup-before-marker-read", 2, false}, {"startup-before-marker-0", 1, false}, {"startup-after-marker-0", 1, true},
		{"startup-before-confirm", 1, false}, {"startup-after-confirm", 1, true},
	}
	// preparedStart finds a prepared transaction. What comes behind its EndTxn depends on what became of it.
	preparedStart = []startStep{
		{"startup-before-fence", 1, false}, {"startup-after-fence", 1, false},
		{"startup-before-end-txn", 1, false}, {"startup-after-end-txn", 1, false},
	}
	committedStart = []startStep{
		{"startup-before-confirm", 1, false}, {"startup-after-confirm", 1, true},
		{"startup-before-fence", 2, false}, {"startup-after-fence", 2, false}, {"startup-before-marker-read", 1, false},
	}
	abortedStart = []startStep{
		{"startup-before-fence", 2, false}, {"startup-after-fence", 2, false}, {"startup-before-marker-read", 1, false},
		{"startup-before-drop", 1, false}, {"startup-after-drop", 1, true},
	}
	// lastSteps are those of every start with state.
	lastSteps = []startStep{{"startup-before-marker-read", 2, false}, {"during-restore", 1, false}}
)

// twice makes a start die at a step, and the next one there too, if it comes there.
func twice(s startStep) []death {
	d := death{point: s.point, pass: s.pass}
	if s.once {
		return []death{d}
	}
	return []death{d, d}
}

// inARow is a schedule that dies at each step twice, from one start to the next, until the last one gets through.
func inARow(steps ...startStep) []death {
	var deaths []death
	for _, s := range steps {
		deaths = append(deaths, twice(s)...)
	}
	return deaths
}

// anew is a schedule that makes what a start finds anew for each step: a prepared transaction that is open, one that is committed, or
// one that was aborted. Behind a step that is passed once comes another death, at the first step of the next start.
func anew(rng *rand.Rand, left string, abort bool, steps ...startStep) []death {
	var deaths []death
	for _, s := range steps {
		again := twice(s)
		again[0].abort = abort
		if s.once {
			again = append(again, death{point: "startup-before-fence", pass: 1})
		}
		deaths = append(deaths, death{point: left, pass: 1 + rng.IntN(3)})
		deaths = append(deaths, again...)
	}
	return deaths
}

// TestRecoveryMatrix kills starts, twice in a row at each of their steps. EO_MATRIX=1 does so for each step alone.
func TestRecoveryMatrix(t *testing.T) {
	t.Parallel()
	die := func(name string, version int, schedule func(rng *rand.Rand) []death) {
		t.Run(fmt.Sprintf("%s/V%d", name, version), func(t *testing.T) {
			seed := seed(t)
			p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, version))
			deaths := schedule(rand.New(rand.NewPCG(seed, 4)))
			r := newRun(t, p, failpoints, 2, makeLoad(p.graph, seed, 600*(len(deaths)+2)))
			r.lives(t, deaths)
			r.finish(t)
		})
	}
	row := func(*rand.Rand) []death {
		return slices.Concat(inARow(firstStart...), []death{{point: "after-store", pass: 2}},
			inARow(slices.Concat(preparedStart, committedStart, lastSteps)...))
	}
	die("row", 2, row)
	if os.Getenv("EO_MATRIX") != "1" {
		return
	}
	die("row", 1, row)
	for version := 1; version <= 2; version++ {
		committed, aborted := slices.Concat(preparedStart, committedStart, lastSteps), slices.Concat(preparedStart, abortedStart, lastSteps)
		die("open", version, func(rng *rand.Rand) []death { return anew(rng, "after-store", false, committed...) })
		die("committed", version, func(rng *rand.Rand) []death { return anew(rng, "after-end-txn", false, committed...) })
		die("aborted", version, func(rng *rand.Rand) []death { return anew(rng, "after-store", true, aborted...) })
	}
}

// TestEveryStartStepIsScheduled holds the steps against the points of starts.
func TestEveryStartStepIsScheduled(t *testing.T) {
	var scheduled []string
	for _, s := range slices.Concat(firstStart, preparedStart, committedStart, abortedStart, lastSteps) {
		scheduled = append(scheduled, s.point)
	}
	slices.Sort(scheduled)
	want := pointsOfStart()
	slices.Sort(want)
	if got := slices.Compact(scheduled); !slices.Equal(got, want) {
		t.Errorf("starts die at\n%q, their points are\n%q", got, want)
	}
}
