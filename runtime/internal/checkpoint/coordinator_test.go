package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

func plan(exactly bool) Plan {
	return Plan{Last: 4, Tasks: []string{"source 0", "window 0"}, Exactly: exactly}
}

func named(n int64) Committable {
	return Committable{TransactionalID: "p-1", ProducerID: 7, Checkpoint: n}
}

// short is an action as text.
func short(a Action) string {
	switch a := a.(type) {
	case InjectBarrier:
		return fmt.Sprintf("barrier(%d%s)", a.Number, [...]string{"", " stop", " end"}[a.Final])
	case Store:
		return fmt.Sprintf("store(%d%s)", a.Number, map[bool]string{true: " ended"}[a.Ended])
	case Commit:
		return fmt.Sprintf("commit(%d)", a.Committable.Checkpoint)
	case Confirm:
		return fmt.Sprintf("confirm(%d)", a.Number)
	case Restart:
		return "restart"
	case Stop:
		if a.Err != nil {
			return fmt.Sprintf("exit(%d)", failure.KindOf(a.Err))
		}
		return [...]string{"", "stopped", "ended"}[a.Final]
	}
	return "?"
}

func TestCoordinator(t *testing.T) {
	tick, transient := Tick{Active: true}, Failed{failure.New(failure.Transient, "", nil, "the network is away")}
	aligned := func(n int64) []Event {
		return []Event{TaskAcked{n, 1}, Prepared{n, named(n)}, TaskAcked{n, 0}}
	}
	done := func(n int64) []Event { return append(aligned(n), Stored{n}, Committed{n}, Confirmed{n}) }
	for _, c := range []struct {
		name   string
		events []Event
		want   string
	}{
		{"nothing to do", []Event{Tick{}, Tick{}}, ""},
		{"the marker grows old", []Event{Tick{Stale: true}}, "barrier(5)"},
		{"two checkpoints", append(append([]Event{tick}, done(5)...), append([]Event{Tick{}, tick}, done(6)...)...),
			"barrier(5) store(5) commit(5) confirm(5) barrier(6) store(6) commit(6) confirm(6)"},
		{"ticks while one is on its way", append([]Event{tick, tick}, append(aligned(5), tick, Stored{5}, tick)...), "barrier(5) store(5) commit(5)"},
		{"too slow", []Event{tick, TaskAcked{5, 0}, TimedOut{5}, Prepared{5, named(5)}, tick}, "barrier(5) restart"},
		{"too slow, but complete", append(append([]Event{tick}, aligned(5)...), TimedOut{5}, Stored{5}, TimedOut{5}), "barrier(5) store(5) commit(5)"},
		{"the timer of an earlier one", append(append([]Event{tick}, done(5)...), tick, TimedOut{5}), "barrier(5) store(5) commit(5) confirm(5) barrier(6)"},
		{"stop", append([]Event{StopRequested{}}, done(5)...), "barrier(5 stop) store(5) commit(5) confirm(5) stopped"},
		{"stop while one is on its way", append(append([]Event{tick, StopRequested{}, StopRequested{}}, done(5)...), done(6)...),
			"barrier(5) store(5) commit(5) confirm(5) barrier(6 stop) store(6) commit(6) confirm(6) stopped"},
		{"end", append([]Event{EndReached{}}, done(5)...), "barrier(5 end) store(5 ended) commit(5) confirm(5) ended"},
		{"end outranks stop", append(append([]Event{tick, StopRequested{}, EndReached{}}, done(5)...), done(6)...),
			"barrier(5) store(5) commit(5) confirm(5) barrier(6 end) store(6 ended) commit(6) confirm(6) ended"},
		{"stop during the end", append([]Event{EndReached{}, StopRequested{}}, done(5)...), "barrier(5 end) store(5 ended) commit(5) confirm(5) ended"},
		{"nothing comes behind the last", append(append([]Event{StopRequested{}}, done(5)...), tick, transient, StopRequested{}),
			"barrier(5 stop) store(5) commit(5) confirm(5) stopped"},
		{"the commit fails", append(append([]Event{tick}, aligned(5)...), Stored{5}, transient, Committed{5}), "barrier(5) store(5) commit(5) restart"},
		{"the disk is full", append(append([]Event{tick}, aligned(5)...), Failed{failure.New(failure.Disk, "", nil, "full")}), "barrier(5) store(5) exit(6)"},
		{"a bug", []Event{Failed{errors.New("?")}}, "exit(1)"},
		{"an acknowledgement twice", []Event{tick, TaskAcked{5, 0}, TaskAcked{5, 0}}, "barrier(5) exit(1)"},
		{"an acknowledgement of another barrier", []Event{tick, TaskAcked{4, 0}}, "barrier(5) exit(1)"},
		{"of a task that is none", []Event{tick, TaskAcked{5, 2}}, "barrier(5) exit(1)"},
		{"prepared, but for another checkpoint", []Event{tick, Prepared{5, named(4)}}, "barrier(5) exit(1)"},
		{"prepared without a transaction", []Event{tick, Prepared{5, Committable{}}}, "barrier(5) exit(1)"},
		{"committed before stored", append(append([]Event{tick}, aligned(5)...), Committed{5}), "barrier(5) store(5) exit(1)"},
		{"stored out of nothing", []Event{Stored{5}}, "exit(1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			co := NewCoordinator(plan(true))
			var got []string
			for _, e := range c.events {
				for _, a := range co.Handle(e) {
					got = append(got, short(a))
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("\n got %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestCoordinatorWithoutTransactions(t *testing.T) {
	co := NewCoordinator(plan(false))
	var got []string
	for _, e := range []Event{Tick{Active: true}, TaskAcked{5, 0}, TaskAcked{5, 1}, Prepared{5, Committable{}}, Stored{5}, Confirmed{5}, Tick{}} {
		for _, a := range co.Handle(e) {
			got = append(got, short(a))
		}
	}
	if s := strings.Join(got, " "); s != "barrier(5) store(5) confirm(5)" {
		t.Errorf("got %s", s)
	}
}

func TestWaiting(t *testing.T) {
	co := NewCoordinator(plan(true))
	for _, step := range []struct {
		e    Event
		want string
	}{
		{Tick{Active: true}, "source 0, window 0, sink writer"},
		{TaskAcked{5, 0}, "window 0, sink writer"},
		{Prepared{5, named(5)}, "window 0"},
		{TaskAcked{5, 1}, "the state store"},
		{Stored{5}, "EndTxn of p-1"},
		{Committed{5}, "the confirmation in the state store"},
		{Confirmed{5}, "nothing"},
	} {
		co.Handle(step.e)
		if got := co.Waiting(); got != step.want {
			t.Errorf("after %T: waits for %s, want %s", step.e, got, step.want)
		}
	}
	co.Handle(Tick{Active: true})
	var said string
	for _, a := range co.Handle(TimedOut{6}) {
		said = a.(Restart).Err.Error()
	}
	if said != "checkpoint 6 timed out waiting for source 0, window 0, sink writer" {
		t.Errorf("a timeout says %q", said)
	}
}

// TestCoordinatorRules feeds events in any order. Whatever they are: a commit comes behind the store of its checkpoint, a barrier behind
// the confirmation of the last, and nothing behind the end.
func TestCoordinatorRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		co := NewCoordinator(plan(true))
		stored, committed, confirmed, over := int64(4), int64(4), int64(4), false
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			n := co.Number() + rapid.SampledFrom([]int64{0, 0, 0, 0, 1, -1}).Draw(t, "off")
			e := rapid.SampledFrom([]Event{Tick{Active: true}, TaskAcked{n, 0}, TaskAcked{n, 1}, Prepared{n, named(n)}, Stored{n}, Committed{n}, Confirmed{n},
				TimedOut{n - 1}, StopRequested{}, EndReached{}}).Draw(t, "event")
			for _, a := range co.Handle(e) {
				if over {
					t.Fatalf("%s behind the end", short(a))
				}
				switch a := a.(type) {
				case InjectBarrier:
					if confirmed != a.Number-1 {
						t.Fatalf("barrier %d, but %d is the last confirmed", a.Number, confirmed)
					}
				case Store:
					stored = a.Number
				case Commit:
					if n := a.Committable.Checkpoint; n != stored || e != (Stored{n}) {
						t.Fatalf("commit of %d on %T, stored is %d", n, e, stored)
					}
					committed = stored
				case Confirm:
					if a.Number != committed {
						t.Fatalf("confirms %d, committed is %d", a.Number, committed)
					}
					confirmed = a.Number
				case Restart, Stop:
					over = true
				}
			}
		}
	})
}
