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

// occasion is a crash point at which a program is stopped and something happens to it.
type occasion struct {
	point string
	pass  int
	left  death // how it died before, if the point is of a start that finds what that has left
	abort bool  // and the broker has aborted that
}

func (m occasion) String() string {
	text := fmt.Sprintf("%s:%d", m.point, m.pass)
	if m.left.point != "" {
		text += ", behind " + m.left.String()
	}
	if m.abort {
		text += ", which was aborted"
	}
	return text
}

// groupsOfStart are the points that are passed in starts alone, by what they need.
func groupsOfStart() [][]string {
	return [][]string{firstPoints, commitPoints, dropPoints, startPoints, restorePoints}
}

func pointsOfStart() []string { return slices.Concat(groupsOfStart()...) }

// ofStart is an occasion at a point of a start.
func ofStart(rng *rand.Rand, point string) occasion {
	m := occasion{point: point, pass: 1}
	switch {
	case slices.Contains(commitPoints, point):
		m.left = death{point: preparedPoints[rng.IntN(len(preparedPoints))], pass: 1 + rng.IntN(3)}
	case slices.Contains(dropPoints, point):
		m.left, m.abort = death{point: "after-store", pass: 1 + rng.IntN(3)}, true
	case !slices.Contains(firstPoints, point):
		m.pass += rng.IntN(2) // there are two transactional ids
	}
	return m
}

// deal makes schedules of what is to happen in starts, each for a pipeline of its own: a pipeline's first start is there once, so each schedule
// begins with an occasion of that one.
func deal[T any](rng *rand.Rand, all []T, when func(T) occasion) [][]T {
	var schedules [][]T
	var others []T
	for _, x := range all {
		if slices.Contains(firstPoints, when(x).point) {
			schedules = append(schedules, []T{x})
		} else {
			others = append(others, x)
		}
	}
	rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for i, x := range others {
		s := &schedules[i%len(schedules)]
		*s = append(*s, x)
	}
	return schedules
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
