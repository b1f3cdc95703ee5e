package crashtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/crashpoint"
	"github.com/eoc-lang/eoc/internal/diag"
)

// Step is what happens to the program next: one life that ends at a crash point or after a while, or something between two lives.
type Step struct {
	Point string        // crash point at which it dies; "": none
	Pass  int           // for the how manieth time it is there when it dies, from 1
	After time.Duration // kill -9 so long after its start; 0: none
	Abort bool          // the broker aborts every open transaction, as it does when a transaction's timeout has passed
}

// Words of a schedule as text, beside the names of crash points.
const (
	abortWord = "abort"
	killWord  = "kill"
	noneWord  = "none"
)

// String is the step as ParseSchedule reads it: after-store:2, kill:130ms, abort.
func (s Step) String() string {
	switch {
	case s.Abort:
		return abortWord
	case s.Point == "":
		return fmt.Sprintf("%s:%v", killWord, s.After)
	}
	return fmt.Sprintf("%s:%d", s.Point, s.Pass)
}

// Schedule is what happens to the program in one run, in order. Behind the last step it is started once more and runs to its end.
type Schedule []Step

// String is the schedule as ParseSchedule reads it.
func (s Schedule) String() string {
	if len(s) == 0 {
		return noneWord
	}
	words := make([]string, len(s))
	for i, step := range s {
		words[i] = step.String()
	}
	return strings.Join(words, ",")
}

// ParseSchedule reads POINT:PASS, kill:DURATION and abort, with commas between them, or none.
func ParseSchedule(text string) (Schedule, error) {
	s := Schedule{}
	if text == noneWord {
		return s, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		step, err := parseStep(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		s = append(s, step)
	}
	return s, nil
}

func parseStep(word string) (Step, error) {
	if word == abortWord {
		return Step{Abort: true}, nil
	}
	name, value, ok := strings.Cut(word, ":")
	if name == "" {
		return Step{}, fmt.Errorf("%q: expected POINT:PASS, kill:DURATION or abort, or nothing but none", word)
	}
	if name == killWord {
		after, err := time.ParseDuration(value)
		if err != nil || after <= 0 {
			return Step{}, fmt.Errorf("%q: expected kill:DURATION, such as kill:130ms", word)
		}
		return Step{After: after}, nil
	}
	pass := 1
	if ok {
		var err error
		if pass, err = strconv.Atoi(value); err != nil || pass < 1 {
			return Step{}, fmt.Errorf("%q: expected POINT:PASS, where PASS counts from 1", word)
		}
	}
	return Step{Point: name, Pass: pass}, nil
}

// check refuses a point that the program does not have.
func (s Schedule) check(points []string) error {
	for _, step := range s {
		if step.Point == "" || slices.Contains(points, step.Point) {
			continue
		}
		if near := diag.Nearest(step.Point, points); near != "" {
			return fmt.Errorf("there is no crash point %s; did you mean %s?", step.Point, near)
		}
		return fmt.Errorf("there is no crash point %s; there are %s, and beside them kill:DURATION, abort and none", step.Point, strings.Join(points, ", "))
	}
	return nil
}

// Bounds of what is drawn.
const (
	latestPass = 4
	// A life that is paced lasts about as long, see data.go.
	shortestLife = 20 * time.Millisecond
	longestLife  = 700 * time.Millisecond
)

// schedules are those of a whole test: each crash point at its first pass and at a later one, behind the death that leads to it
// where one is needed, each in a run of its own; and so many runs with kills at random moments.
func schedules(points []string, moments int, rng *rand.Rand) []Schedule {
	later := func() int { return 2 + rng.IntN(latestPass-1) }
	at := func(point string, pass int) Step { return Step{Point: point, Pass: pass} }
	var all []Schedule
	add := func(steps ...Step) { all = append(all, steps) }
	for _, p := range crashpoint.First {
		add(at(p, 1))
	}
	for _, p := range crashpoint.Checkpoint {
		add(at(p, 1))
		add(at(p, later()))
	}
	// The ways to leave a prepared transaction meet the ways to die while it is committed.
	shift := rng.IntN(len(crashpoint.Commit))
	for i, p := range crashpoint.Prepared {
		add(at(p, 1), at(crashpoint.Commit[(i+shift)%len(crashpoint.Commit)], 1))
		add(at(p, later()), at(crashpoint.Commit[(i+shift+1)%len(crashpoint.Commit)], 1))
	}
	for _, pass := range []int{1, later()} {
		add(at("after-store", pass), Step{Abort: true}, at("startup-before-drop", 1), at("startup-after-drop", 1)) // it is aborted still
	}
	for _, p := range crashpoint.Start {
		add(at(p, 1))
		add(at("before-store", later()), at(p, 2)) // there are two transactional ids
	}
	for _, p := range crashpoint.Restore {
		add(at("after-confirm", 1), at(p, 1))
		add(at("after-confirm", later()), at(p, 2))
	}
	for _, p := range points {
		if !slices.Contains(crashpoint.All(), p) { // one that this version of the tool knows nothing of
			add(at(p, 1))
			add(at(p, later()))
		}
	}
	for range moments {
		var s Schedule
		for range 1 + rng.IntN(3) {
			s = append(s, Step{After: (shortestLife + time.Duration(rng.Int64N(int64(longestLife-shortestLife)))).Round(time.Millisecond)})
		}
		add(s...)
	}
	return all
}
