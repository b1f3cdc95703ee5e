//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/eoc-lang/eoc/internal/crashpoint"
	"github.com/eoc-lang/eoc/internal/e2e/program"
)

// inputRecords is how much each run of the matrix is fed.
const inputRecords = 200_000

// cell is one run of the crash matrix.
type cell struct {
	example     string
	version     int // transaction.version of the broker
	parallelism int
	race        bool
	shift       int  // see everyPoint
	points      bool // every crash point …
	later       bool // … at a later pass
	moments     int  // random moments, between the points
}

func (c cell) name() string {
	name := fmt.Sprintf("%s/V%d/parallelism-%d", c.example, c.version, c.parallelism)
	if c.race {
		name += "/race"
	}
	if c.later {
		name += "/later"
	}
	return name
}

// selection is what `make test` runs: every point with both versions of transactions, all examples, one task and
// three, and the race detector, in about 120 deaths.
func selection() []cell {
	return []cell{
		{example: "orders", version: 2, parallelism: 1, points: true, moments: 4},
		{example: "payments", version: 1, parallelism: 3, points: true, later: true, shift: 1, moments: 4},
		{example: "clicks", version: 1, parallelism: 3, points: true, shift: 2, moments: 2},
		{example: "orders", version: 2, parallelism: 3, race: true, moments: 12},
		{example: "clicks", version: 2, parallelism: 1, moments: 8},
		{example: "payments", version: 2, parallelism: 3, moments: 8},
	}
}

// wholeMatrix is what `make matrix` runs.
func wholeMatrix() []cell {
	var cells []cell
	for shift, example := range []string{"orders", "clicks", "payments"} {
		for version := 1; version <= 2; version++ {
			for _, parallelism := range []int{1, 3} {
				for _, later := range []bool{false, true} {
					cells = append(cells, cell{example: example, version: version, parallelism: parallelism,
						shift: shift + version, points: true, later: later, moments: 15})
				}
			}
			cells = append(cells, cell{example: example, version: version, parallelism: 3, race: true, moments: 10, points: true})
		}
	}
	return cells
}

// TestCrashMatrix kills programs at every crash point and at random moments. EO_MATRIX=1 runs the whole matrix; EO_SEED repeats a run.
func TestCrashMatrix(t *testing.T) {
	cells := selection()
	if os.Getenv("EO_MATRIX") == "1" {
		cells = wholeMatrix()
	}
	seed := seed(t)
	loads := map[string]func() *load{} // each example's is made once, by the first that needs it
	for _, name := range []string{"orders", "clicks", "payments"} {
		graph := declare(t, name, patient(example(t, name)), nil).graph
		loads[name] = sync.OnceValue(func() *load { return makeLoad(graph, seed, inputRecords) })
	}
	for i, c := range cells {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			c.run(t, loads[c.example](), seed+uint64(i))
		})
	}
}

// seed is a random seed, or that of EO_SEED. It is in the log of a test that fails.
func seed(t testing.TB) uint64 {
	s := rand.Uint64()
	if text := os.Getenv("EO_SEED"); text != "" {
		var err error
		if s, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("EO_SEED: %v", err)
		}
	}
	t.Logf("EO_SEED=%d", s)
	return s
}

func (c cell) run(t *testing.T, l *load, seed uint64) {
	p := newPipeline(t, c.example, patient(example(t, c.example)), brokers.Broker(t, c.version))
	deaths := c.deaths(p, rand.New(rand.NewPCG(seed, 2)))
	r := newRun(t, p, program.Mode{Failpoints: true, Race: c.race}, c.parallelism, l)
	r.lives(t, deaths)
	r.finish(t)
}

// deaths is the schedule: the points in their order, since one prepares the next, with random moments among them where they
// do not come between two that belong together.
func (c cell) deaths(p *pipeline, rng *rand.Rand) []death {
	var deaths []death
	if c.points {
		pass := first
		if c.later {
			pass = later(rng)
		}
		deaths = everyPoint(p.stateless(), c.shift, pass)
	}
	for _, d := range randomMoments(rng, c.moments) {
		var places []int
		for i := range len(deaths) + 1 {
			if i == len(deaths) || !slices.Contains(firstPoints, deaths[i].point) && !crashpoint.NeedsPrepared(deaths[i].point) {
				places = append(places, i)
			}
		}
		deaths = slices.Insert(deaths, places[rng.IntN(len(places))], d)
	}
	return deaths
}
