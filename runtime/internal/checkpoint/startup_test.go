package checkpoint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// script drives a start: it answers each step as the test says and returns the steps as text.
type script struct {
	t       *testing.T
	outcome Outcome
	state   TxnState
	glance  *Marker   // answer to the glance
	markers []*Marker // answers to the looks, in turn; the last one is repeated
}

func (sc script) run(set Setup) (steps string, end Step) {
	sc.t.Helper()
	s := NewStartup(set)
	var b strings.Builder
	for range 50 {
		step := s.Next()
		switch step := step.(type) {
		case Run, Refuse:
			return strings.TrimSpace(b.String()), step
		case Fence:
			fmt.Fprintf(&b, "fence(%s) ", step.ID)
			s.Handle(Done{})
		case EndTxn:
			fmt.Fprintf(&b, "end(%d) ", step.Committable.Checkpoint)
			s.Handle(Ended{sc.outcome})
		case Describe:
			fmt.Fprintf(&b, "describe(%s) ", step.ID)
			s.Handle(Described{sc.state})
		case Glance:
			b.WriteString("glance ")
			s.Handle(MarkerIs{sc.glance})
		case ReadMarker:
			b.WriteString("look ")
			var m *Marker
			if len(sc.markers) > 0 {
				m = sc.markers[0]
			}
			if len(sc.markers) > 1 {
				sc.markers = sc.markers[1:]
			}
			s.Handle(MarkerIs{m})
		case ResolveStart:
			b.WriteString("resolve ")
			s.Handle(StartIs{[]Partition{{Source: "in", Topic: "in", Next: 7, Bound: -1}}})
		case Save:
			fmt.Fprintf(&b, "save(%d) ", step.Checkpoint.Number)
			s.Handle(Done{})
		case Adopt:
			fmt.Fprintf(&b, "adopt%v ", step.IDs)
			s.Handle(Done{})
		case OpenSink:
			b.WriteString("open ")
			s.Handle(Done{})
		case Mark:
			fmt.Fprintf(&b, "mark(%d) ", step.Checkpoint.Number)
			s.Handle(Done{})
		case Confirm:
			fmt.Fprintf(&b, "confirm(%d) ", step.Number)
			s.Handle(Done{})
		case Drop:
			fmt.Fprintf(&b, "drop(%d) ", step.Number)
			s.Handle(Done{})
		default:
			sc.t.Fatalf("unknown step %T", step)
		}
	}
	sc.t.Fatalf("no end after %s", b.String())
	return "", nil
}

var (
	incA = ID{0xa}
	incB = ID{0xb}
)

// at is checkpoint n of pipeline p with the ids p-0 and p-1.
func at(n int64) *Checkpoint {
	c := &Checkpoint{Number: n, Incarnation: incA, Pipeline: "p", Group: "g", IDs: []string{"p-0", "p-1"}, Exactly: true,
		Committable: Committable{ClusterID: "k"}}
	if n > 0 {
		c.Committable = Committable{ClusterID: "k", TransactionalID: fmt.Sprintf("p-%d", n%2), ProducerID: 40, Epoch: 3,
			EndTxnVersion: 5, Checkpoint: n, Incarnation: incA, Records: 9}
	}
	return c
}

func plain(n int64) *Checkpoint {
	c := at(n)
	c.IDs, c.Exactly, c.Committable = nil, false, Committable{}
	return c
}

func markerAt(n int64) *Marker {
	m := at(n).Committable.Marker("p")
	m.Incarnation, m.Checkpoint = incA, n
	return &m
}

func of(newest, before *Checkpoint, confirmed bool) Setup {
	return Setup{Pipeline: "p", Group: "g", ClusterID: "k", IDs: []string{"p-0", "p-1"}, Incarnation: incB,
		Newest: newest, Before: before, Confirmed: confirmed}
}

func TestStartup(t *testing.T) {
	twin := markerAt(7)
	twin.Producer = "41/0"
	rewritten := markerAt(7)
	rewritten.Producer, rewritten.Records = "41/0", 0
	other := &Marker{Pipeline: "p", Incarnation: incB, Checkpoint: 3}
	v1 := at(7)
	v1.Committable.EndTxnVersion = 4
	replacing := at(0)
	replacing.Replaces = other
	cases := []struct {
		name    string
		set     Setup
		edit    func(*Setup)
		outcome Outcome
		state   TxnState
		glance  *Marker
		markers []*Marker
		steps   string
		from    int64 // -1: refused
		kind    failure.Kind
		text    string // in the refusal
	}{
		{name: "new", set: of(nil, nil, false),
			steps: "look resolve save(0) fence(p-0) fence(p-1) open look mark(0) confirm(0)"},
		{name: "new, but it has run before", set: of(nil, nil, false), markers: []*Marker{markerAt(5)},
			steps: "look", from: -1, kind: failure.State, text: "starting anew would double its output"},
		{name: "new, and another copy begins at the same time", set: of(nil, nil, false), markers: []*Marker{nil, other},
			steps: "look resolve save(0) fence(p-0) fence(p-1) open look", from: -1, kind: failure.Fenced, text: "another copy"},
		{name: "new without exactly-once", set: of(nil, nil, false), edit: func(s *Setup) { s.IDs = nil },
			steps: "resolve save(0) open confirm(0)"},
		{name: "killed between checkpoint 0 and its marker", set: of(at(0), nil, false),
			steps: "glance fence(p-0) fence(p-1) look open look mark(0) confirm(0)"},
		{name: "killed between the marker of checkpoint 0 and its confirmation", set: of(at(0), nil, false), markers: []*Marker{markerAt(0)},
			steps: "glance fence(p-0) fence(p-1) look open look confirm(0)"},
		{name: "checkpoint 0 of --fresh, the old marker still there", set: of(replacing, nil, false), markers: []*Marker{other},
			steps: "glance fence(p-0) fence(p-1) look open look mark(0) confirm(0)"},
		{name: "checkpoint 0, but another copy was faster", set: of(at(0), nil, false), markers: []*Marker{other},
			steps: "glance fence(p-0) fence(p-1) look", from: -1, kind: failure.State, text: "begun anew elsewhere"},
		{name: "checkpoint 0 copied, and the copy has run", set: of(at(0), nil, false), markers: []*Marker{markerAt(2)},
			steps: "glance fence(p-0) fence(p-1) look", from: -1, kind: failure.State, text: "older than the output"},

		{name: "confirmed", set: of(at(7), nil, true), markers: []*Marker{markerAt(7)},
			steps: "glance fence(p-0) fence(p-1) look open look", from: 7},
		{name: "older than the marker", set: of(at(7), nil, true), markers: []*Marker{markerAt(9)},
			steps: "glance fence(p-0) fence(p-1) look", from: -1, kind: failure.State, text: "at checkpoint 7, but checkpoint 9"},
		{name: "of another incarnation", set: of(at(7), nil, true), markers: []*Marker{other},
			steps: "glance fence(p-0) fence(p-1) look", from: -1, kind: failure.State, text: "begun anew elsewhere"},
		{name: "the marker has expired", set: of(at(7), nil, true),
			steps: "glance fence(p-0) fence(p-1) look", from: -1, kind: failure.Unknown, text: "--accept-loss"},
		{name: "the marker has expired, accepted", set: of(at(7), nil, true), edit: acceptLoss,
			steps: "glance fence(p-0) fence(p-1) look open look mark(7)", from: 7},
		{name: "the marker went back", set: of(at(7), nil, true), markers: []*Marker{markerAt(6)},
			steps: "glance fence(p-0) fence(p-1) look", from: -1, kind: failure.Unknown, text: "KAFKA-20734"},
		{name: "the marker went back, accepted", set: of(at(7), nil, true), edit: acceptLoss, markers: []*Marker{markerAt(6)},
			steps: "glance fence(p-0) fence(p-1) look open look mark(7)", from: 7},
		{name: "the marker went back to another incarnation, accepted", set: of(at(7), nil, true), edit: acceptLoss, markers: []*Marker{other},
			steps: "glance fence(p-0) fence(p-1) look", from: -1, kind: failure.State, text: "begun anew elsewhere"},
		{name: "the marker is another copy's", set: of(at(7), nil, true), markers: []*Marker{twin},
			steps: "glance fence(p-0) fence(p-1) look", from: -1, kind: failure.State, text: "by another copy of this state"},
		{name: "the marker is another copy's, accepted", set: of(at(7), nil, true), edit: acceptLoss, markers: []*Marker{twin},
			steps: "glance fence(p-0) fence(p-1) look", from: -1, kind: failure.State, text: "by another copy of this state"},
		{name: "the marker was written again", set: of(at(7), nil, true), markers: []*Marker{rewritten},
			steps: "glance fence(p-0) fence(p-1) look open look", from: 7},
		{name: "a copy commits while this one starts", set: of(at(7), nil, true), markers: []*Marker{markerAt(7), markerAt(8)},
			steps: "glance fence(p-0) fence(p-1) look open look", from: -1, kind: failure.Fenced, text: "was checkpoint 7 of"},

		// What the glance refuses hurts no copy that runs: nobody is fenced.
		{name: "older than the marker at a glance", set: of(at(7), nil, true), glance: markerAt(9),
			steps: "glance", from: -1, kind: failure.State, text: "at checkpoint 7, but checkpoint 9"},
		{name: "older than the marker at a glance, unconfirmed", set: of(at(7), at(6), false), glance: markerAt(8),
			steps: "glance", from: -1, kind: failure.State, text: "at checkpoint 7, but checkpoint 8"},
		{name: "of another incarnation at a glance", set: of(at(7), nil, true), glance: other,
			steps: "glance", from: -1, kind: failure.State, text: "begun anew elsewhere"},
		{name: "another copy's at a glance", set: of(at(7), at(6), false), glance: twin,
			steps: "glance", from: -1, kind: failure.State, text: "by another copy of this state"},
		{name: "checkpoint 0 copied, and the copy has run, at a glance", set: of(at(0), nil, false), glance: markerAt(2),
			steps: "glance", from: -1, kind: failure.State, text: "older than the output"},
		{name: "checkpoint 0 of --fresh, the old marker still there at a glance", set: of(replacing, nil, false), glance: other, markers: []*Marker{other},
			steps: "glance fence(p-0) fence(p-1) look open look mark(0) confirm(0)"},
		{name: "the marker went back at a glance, which does not decide that", set: of(at(7), nil, true), glance: markerAt(6), markers: []*Marker{markerAt(7)},
			steps: "glance fence(p-0) fence(p-1) look open look", from: 7},

		{name: "unconfirmed, committed now", set: of(at(7), at(6), false), markers: []*Marker{markerAt(7)},
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look open look", from: 7},
		{name: "unconfirmed, committed now, its group deleted", set: of(at(7), at(6), false),
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look open look mark(7)", from: 7},
		{name: "no error, but the marker stays behind", set: of(at(7), at(6), false), markers: []*Marker{markerAt(6)},
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look", from: -1, kind: failure.Unknown, text: "checkpoint 7 is confirmed, but consumer group g holds the marker of checkpoint 6"},
		{name: "no error, but the marker stays behind, accepted", set: of(at(7), at(6), false), edit: acceptLoss, markers: []*Marker{markerAt(6)},
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look open look mark(7)", from: 7},
		{name: "no error, but the marker is another copy's", set: of(at(7), at(6), false), markers: []*Marker{twin},
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look", from: -1, kind: failure.State, text: "by another copy of this state"},
		{name: "no error, but the marker was written again by another copy", set: of(at(7), at(6), false), markers: []*Marker{rewritten},
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look", from: -1, kind: failure.State, text: "by another copy of this state"},
		{name: "undecided, was committed", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(7)},
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look confirm(7) open look", from: 7},
		{name: "undecided, another copy has committed its own checkpoint 7", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{twin},
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, kind: failure.State, text: "its producer was 41/0, that of the state is 40/3"},
		{name: "undecided, was aborted", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(6)},
			state: TxnState{"CompleteAbort", 40, 4},
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look drop(7) open look", from: 6},
		{name: "undecided, the first one was aborted", set: of(at(1), at(0), false), outcome: Undecided, markers: []*Marker{markerAt(0)},
			steps: "glance fence(p-0) end(1) describe(p-1) fence(p-1) look drop(1) open look", from: 0},
		{name: "undecided, no marker", set: of(at(7), at(6), false), outcome: Undecided, state: TxnState{"Empty", 40, 5},
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, kind: failure.Unknown, text: "stood at Empty, producer id 40, epoch 5"},
		{name: "undecided, the marker is two back", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(5)},
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, kind: failure.Unknown, text: "cannot be known"},
		{name: "undecided, a copy went on", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(8)},
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, kind: failure.State, text: "at checkpoint 7, but checkpoint 8"},
		{name: "the coordinator says committed, the marker aborted", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(6)},
			state: TxnState{"CompleteCommit", 40, 4},
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, kind: failure.Unknown, text: "stood at CompleteCommit"},
		{name: "the same under V1", set: of(v1, at(6), false), outcome: Undecided, markers: []*Marker{markerAt(6)},
			state: TxnState{"CompleteCommit", 40, 3},
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, kind: failure.Unknown, text: "stood at CompleteCommit"},
		{name: "the coordinator says aborted, the marker committed", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(7)},
			state: TxnState{"PrepareAbort", 40, 4},
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, kind: failure.Unknown, text: "stood at PrepareAbort"},

		{name: "another prefix", set: of(at(7), at(6), false), edit: func(s *Setup) { s.IDs = []string{"q-0", "q-1"} }, markers: []*Marker{markerAt(7)},
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look fence(p-0) fence(p-0) fence(p-1) fence(p-1) adopt[q-0 q-1] fence(q-0) fence(q-1) open look", from: 7},
		{name: "another prefix that shares an id", set: of(at(7), nil, true), edit: func(s *Setup) { s.IDs = []string{"p-1", "p-2"} }, markers: []*Marker{markerAt(7)},
			steps: "glance fence(p-0) fence(p-1) look fence(p-0) fence(p-0) adopt[p-1 p-2] fence(p-2) open look", from: 7},
		{name: "exactly-once is gone", set: of(at(7), at(6), false), edit: func(s *Setup) { s.IDs = nil }, markers: []*Marker{markerAt(7)},
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look fence(p-0) fence(p-0) fence(p-1) fence(p-1) adopt[] open", from: 7},
		{name: "exactly-once is new", set: of(plain(7), nil, true),
			steps: "adopt[p-0 p-1] fence(p-0) fence(p-1) open look mark(7)", from: 7},
		{name: "exactly-once is back", set: of(plain(7), nil, true), markers: []*Marker{markerAt(4)},
			steps: "adopt[p-0 p-1] fence(p-0) fence(p-1) open look mark(7)", from: 7},
		{name: "exactly-once is back, the state is old", set: of(plain(7), nil, true), markers: []*Marker{markerAt(8)},
			steps: "adopt[p-0 p-1] fence(p-0) fence(p-1) open look", from: -1, kind: failure.State, text: "older than the output"},
		{name: "without exactly-once, unconfirmed", set: of(plain(7), plain(6), false), edit: func(s *Setup) { s.IDs = nil },
			steps: "confirm(7) open", from: 7},
		{name: "of another pipeline", set: of(at(7), nil, true), edit: func(s *Setup) { s.Pipeline = "other" },
			from: -1, kind: failure.State, text: `pipeline "p", this program is pipeline "other"`},
		{name: "of another cluster", set: of(at(7), nil, true), edit: func(s *Setup) { s.ClusterID = "l" },
			from: -1, kind: failure.State, text: "cluster k, these brokers are of cluster l"},

		{name: "fresh, nothing there", set: of(nil, nil, false), edit: fresh,
			steps: "fence(p-0) fence(p-1) look resolve save(0) open look mark(0) confirm(0)"},
		{name: "fresh over an unconfirmed state", set: of(at(7), at(6), false), edit: fresh, markers: []*Marker{markerAt(6)},
			steps: "fence(p-0) fence(p-1) look resolve save(0) open look mark(0) confirm(0)"},
		{name: "fresh with another prefix", set: of(at(7), nil, true), edit: func(s *Setup) { fresh(s); s.IDs = []string{"q-0"} }, markers: []*Marker{markerAt(7)},
			steps: "fence(p-0) fence(p-1) fence(q-0) fence(p-0) fence(p-0) fence(p-1) fence(p-1) look resolve save(0) open look mark(0) confirm(0)"},
		{name: "fresh without exactly-once", set: of(plain(7), nil, true), edit: func(s *Setup) { fresh(s); s.IDs = nil },
			steps: "resolve save(0) open confirm(0)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.edit != nil {
				c.edit(&c.set)
			}
			steps, end := script{t, c.outcome, c.state, c.glance, c.markers}.run(c.set)
			if steps != c.steps {
				t.Errorf("steps\n got %s\nwant %s", steps, c.steps)
			}
			switch end := end.(type) {
			case Run:
				if c.from < 0 || end.From.Number != c.from {
					t.Errorf("runs from %d, want %d", end.From.Number, c.from)
				}
				if next := end.From.Next(); !slices.Equal(next.IDs, c.set.IDs) || next.Exactly != (len(c.set.IDs) > 0) {
					t.Errorf("the next checkpoint has ids %v, exactly-once %v", next.IDs, next.Exactly)
				}
			case Refuse:
				if c.from >= 0 {
					t.Fatalf("refused: %v", end.Err)
				}
				if k := failure.KindOf(end.Err); k != c.kind || !strings.Contains(end.Err.Error(), c.text) {
					t.Errorf("refused with kind %d, want %d, and %q in\n%v", k, c.kind, c.text, end.Err)
				}
			}
		})
	}
}

func fresh(s *Setup) { s.Fresh = true }

func acceptLoss(s *Setup) { s.AcceptLoss = true }

// What a start refuses behind "no error", the next one refuses too, with the same words and the same way out: it finds the checkpoint confirmed.
func TestRefusedAgain(t *testing.T) {
	twin := markerAt(7)
	twin.Producer = "41/0"
	for name, m := range map[string]*Marker{"another copy's": twin, "behind": markerAt(6), "far behind": markerAt(2), "ahead": markerAt(8), "strange": {Pipeline: "p", Incarnation: incB, Checkpoint: 3}} {
		t.Run(name, func(t *testing.T) {
			var said [2]string
			for i, set := range []Setup{of(at(7), at(6), false), of(at(7), nil, true)} {
				_, end := script{t: t, markers: []*Marker{m}}.run(set)
				refused, ok := end.(Refuse)
				if !ok {
					t.Fatalf("start %d is not refused", i+1)
				}
				said[i] = refused.Err.Error()
				if strings.Contains(said[i], "txn commit") || strings.Contains(said[i], "txn abort") {
					t.Errorf("start %d names a verb that has nothing to decide: %s", i+1, said[i])
				}
			}
			if said[0] != said[1] {
				t.Errorf("the first start says\n%s\nand the next one\n%s", said[0], said[1])
			}
		})
	}
}

// A person decides where a start refuses to guess, and is refused where something is known.
func TestDecision(t *testing.T) {
	said := func(d Decision) func(*Setup) { return func(s *Setup) { s.Decision = d } }
	twin := markerAt(7)
	twin.Producer = "41/0"
	aborted := TxnState{"CompleteAbort", 40, 4}
	for _, c := range []struct {
		name    string
		set     Setup
		outcome Outcome
		state   TxnState
		markers []*Marker
		said    Decision
		steps   string
		from    int64 // -1: refused
		text    string
	}{
		{name: "committed, no marker", set: of(at(7), at(6), false), outcome: Undecided, said: ItIsCommitted,
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look confirm(7) open look mark(7)", from: 7},
		{name: "aborted, no marker", set: of(at(7), at(6), false), outcome: Undecided, said: ItIsAborted,
			steps: "glance fence(p-0) describe(p-1) fence(p-1) look drop(7) open look mark(6)", from: 6},
		{name: "committed, the marker is two back", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(5)}, said: ItIsCommitted,
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look confirm(7) open look mark(7)", from: 7},
		{name: "aborted, the marker is two back", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(5)}, said: ItIsAborted,
			steps: "glance fence(p-0) describe(p-1) fence(p-1) look drop(7) open look mark(6)", from: 6},
		{name: "committed, and it can be committed", set: of(at(7), at(6), false), markers: []*Marker{markerAt(7)}, said: ItIsCommitted,
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look open look", from: 7},
		{name: "committed, the coordinator says so, the marker is behind", set: of(at(7), at(6), false), markers: []*Marker{markerAt(6)}, said: ItIsCommitted,
			steps: "glance fence(p-0) end(7) confirm(7) fence(p-1) look open look mark(7)", from: 7},

		{name: "aborted, but it can be committed", set: of(at(7), at(6), false), state: TxnState{"Ongoing", 40, 3}, said: ItIsAborted,
			steps: "glance fence(p-0) describe(p-1)", from: -1, text: "can be committed: there is nothing to decide"},
		{name: "aborted, but the coordinator says committed", set: of(at(7), at(6), false), state: TxnState{"CompleteCommit", 40, 4}, said: ItIsAborted,
			steps: "glance fence(p-0) describe(p-1)", from: -1, text: "cannot be taken for aborted: its coordinator stands at CompleteCommit"},
		{name: "aborted, but its marker is there", set: of(at(7), at(6), false), markers: []*Marker{markerAt(7)}, said: ItIsAborted,
			steps: "glance fence(p-0) describe(p-1) fence(p-1) look", from: -1, text: "holds the marker of checkpoint 7"},
		{name: "committed, but the coordinator says aborted", set: of(at(7), at(6), false), outcome: Undecided, state: aborted, said: ItIsCommitted,
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, text: "cannot be taken for committed"},
		{name: "committed, but the marker says aborted", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(6)}, said: ItIsCommitted,
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, text: "holds the marker of checkpoint 6"},
		{name: "committed, but by another copy", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{twin}, said: ItIsCommitted,
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look", from: -1, text: "by another copy of this state"},
		{name: "aborted, its coordinator says so, but its marker is there", set: of(at(7), at(6), false), outcome: Undecided, state: aborted, markers: []*Marker{markerAt(7)}, said: ItIsAborted,
			steps: "glance fence(p-0) describe(p-1) fence(p-1) look", from: -1, text: "holds the marker of checkpoint 7"},
		{name: "committed, its marker is there, whatever its coordinator says", set: of(at(7), at(6), false), outcome: Undecided, state: aborted, markers: []*Marker{markerAt(7)}, said: ItIsCommitted,
			steps: "glance fence(p-0) end(7) describe(p-1) fence(p-1) look confirm(7) open look", from: 7},
		{name: "aborted, but a copy went on", set: of(at(7), at(6), false), outcome: Undecided, markers: []*Marker{markerAt(8)}, said: ItIsAborted,
			steps: "glance fence(p-0) describe(p-1) fence(p-1) look", from: -1, text: "older than the output"},
		{name: "confirmed", set: of(at(7), nil, true), said: ItIsAborted, from: -1, text: "there is nothing to decide: checkpoint 7 is confirmed"},
		{name: "checkpoint 0 before its marker", set: of(at(0), nil, false), said: ItIsAborted, from: -1, text: "checkpoint 0 has no transaction"},
		{name: "no state", set: of(nil, nil, false), said: ItIsCommitted, from: -1, text: "there is no state"},
		{name: "no transactions", set: of(plain(7), plain(6), false), said: ItIsCommitted, from: -1, text: "checkpoint 7 has no transaction"},
	} {
		t.Run(c.name, func(t *testing.T) {
			said(c.said)(&c.set)
			steps, end := script{t: t, outcome: c.outcome, state: c.state, markers: c.markers}.run(c.set)
			if steps != c.steps {
				t.Errorf("steps\n got %s\nwant %s", steps, c.steps)
			}
			switch end := end.(type) {
			case Run:
				if c.from < 0 || end.From.Number != c.from {
					t.Errorf("runs from %d, want %d", end.From.Number, c.from)
				}
			case Refuse:
				if c.from >= 0 || failure.KindOf(end.Err) != failure.State || !strings.Contains(end.Err.Error(), c.text) {
					t.Errorf("refused with kind %d, want %q: %v", failure.KindOf(end.Err), c.text, end.Err)
				}
			}
		})
	}
}
