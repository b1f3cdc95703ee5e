//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eoc-lang/eoc/internal/crashpoint"
)

// death is one life of the program and how it ends.
type death struct {
	point string // crash point at which it dies, "" for a random moment
	pass  int    // for the how manieth time it is there when it dies

	// A random moment is when the feeder has sent so many further pieces, or if that is 0, when so
	// many further records are committed.
	pieces, committed int

	// abort makes the broker abort what the death before has left prepared, as it does when a
	// transaction's timeout has passed.
	abort bool
}

func (d death) String() string {
	switch {
	case d.point != "" && d.abort:
		return fmt.Sprintf("%s:%d after the prepared transaction was aborted", d.point, d.pass)
	case d.point != "":
		return fmt.Sprintf("%s:%d", d.point, d.pass)
	case d.pieces > 0:
		return fmt.Sprintf("kill -9 after %d more pieces", d.pieces)
	}
	return fmt.Sprintf("kill -9 after %d more results", d.committed)
}

// Points by what they need, see package crashpoint.
var (
	firstPoints      = crashpoint.First
	checkpointPoints = crashpoint.Checkpoint
	preparedPoints   = crashpoint.Prepared
	commitPoints     = crashpoint.Commit
	dropPoints       = crashpoint.Drop
	startPoints      = crashpoint.Start
	restorePoints    = crashpoint.Restore
)

// pointsOf asks a binary for its crash points.
func pointsOf(t testing.TB, binary string) []string {
	t.Helper()
	points, err := crashpoint.Of(t.Context(), binary)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// everyPoint is a schedule that dies at every crash point. pass chooses, for points that a life may pass more than
// once, the pass. The five ways to leave a prepared transaction meet the five ways to die while it is committed; shift turns who meets whom.
func everyPoint(stateless bool, shift int, pass func() int) []death {
	var deaths []death
	add := func(d death) { deaths = append(deaths, d) }
	for _, p := range firstPoints {
		add(death{point: p, pass: 1})
	}
	for _, p := range checkpointPoints {
		add(death{point: p, pass: pass()})
	}
	for i, p := range preparedPoints {
		add(death{point: p, pass: pass()})
		add(death{point: commitPoints[(i+shift)%len(commitPoints)], pass: 1})
	}
	add(death{point: "after-store", pass: pass()})
	add(death{point: "startup-before-drop", pass: 1, abort: true})
	add(death{point: "startup-after-drop", pass: 1}) // it is aborted still
	for _, p := range startPoints {
		add(death{point: p, pass: min(pass(), 2)}) // two transactional ids
	}
	if !stateless {
		for _, p := range restorePoints {
			add(death{point: p, pass: pass()})
		}
	}
	return deaths
}

// randomMoments is n deaths at random moments.
func randomMoments(rng *rand.Rand, n int) []death {
	deaths := make([]death, n)
	for i := range deaths {
		if rng.IntN(2) == 0 {
			deaths[i].pieces = 1 + rng.IntN(60)
		} else {
			deaths[i].committed = 1 + rng.IntN(400)
		}
	}
	return deaths
}

// first is a pass chooser: always the first.
func first() int { return 1 }

// later chooses the 2nd to 4th pass.
func later(rng *rand.Rand) func() int {
	return func() int { return 2 + rng.IntN(3) }
}

// TestEveryPointIsScheduled holds the schedule against the points that a program has.
func TestEveryPointIsScheduled(t *testing.T) {
	p := declare(t, "orders", patient(example(t, "orders")), nil)
	var scheduled []string
	for _, d := range everyPoint(false, 0, first) {
		scheduled = append(scheduled, d.point)
	}
	slices.Sort(scheduled)
	scheduled = slices.Compact(scheduled)
	points := pointsOf(t, p.binary(t, failpoints))
	slices.Sort(points)
	if !slices.Equal(points, scheduled) {
		t.Errorf("the program has the crash points\n%q, the schedule\n%q", points, scheduled)
	}
}
