package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// simulation is source tasks, keyed tasks and the queues between them, moved on by hand: any
// step may come at any time, as goroutines would.
type simulation struct {
	t       *testing.T
	r       *rand.Rand
	tracker *tracker
	parts   []simPart
	queues  [][][]simMessage // by source task, keyed task
	sent    [][]int64        // W last sent, by source task
	keyed   []*keyedTask
	late    int
	folded  int
}

type simPart struct {
	Partition
	task int
	next int64
}

type simMessage struct {
	at int64 // of a row that is not late
	w  []int64
}

// closer checks that W given to a keyed task never goes back.
type closer struct {
	Worker
	w int64
	t *testing.T
}

func (c *closer) Advance(_ int, w int64) (int, error) {
	if w <= c.w {
		c.t.Fatalf("W went from %d to %d", c.w, w)
	}
	c.w = w
	return 0, nil
}

const (
	simDisorder = 30
	simWindow   = 20
)

// closeAt is when W closes the window of a row.
func closeAt(at int64) int64 { return at - at%simWindow + simWindow }

func newSimulation(t *testing.T, r *rand.Rand) *simulation {
	spec := &Spec{Sources: make([]SourceSpec, 1), Operators: []OperatorSpec{{Sources: []int{0}, Size: simWindow}}}
	s := &simulation{t: t, r: r, tracker: newTracker(spec, []int64{minTime})}
	sources, keyed := 1+r.IntN(3), 1+r.IntN(3)
	for i := range 1 + r.IntN(5) {
		p := simPart{task: i % sources}
		p.Watermark = minTime
		p.Slot, p.Floor = s.tracker.add(0, 0, minTime, r.IntN(4) > 0)
		s.parts = append(s.parts, p)
	}
	for range sources {
		s.queues = append(s.queues, make([][]simMessage, keyed))
		s.sent = append(s.sent, []int64{minTime})
	}
	for i := range keyed {
		k := newKeyedTask(i, sources, []int64{minTime})
		k.worker, k.active = &closer{w: minTime, t: t}, func() {}
		s.keyed = append(s.keyed, k)
	}
	return s
}

// read processes one record: late ones are counted, others are sent to a keyed task.
func (s *simulation) read(p *simPart, at int64) {
	if floor := s.tracker.begin(p.Slot); floor != nil {
		p.Floor = floor
	}
	if s.r.IntN(2) == 0 { // the watcher may look in the middle
		s.tracker.idle(p.Slot, p.next)
	}
	p.Watermark = max(p.Watermark, at-simDisorder)
	if closeAt(at) <= max(p.Watermark, p.Floor[0]) {
		s.late++
	} else {
		q := s.queues[p.task]
		k := s.r.IntN(len(q))
		q[k] = append(q[k], simMessage{at: at})
	}
	p.next++
	s.tracker.advance(p.Slot, p.next, p.Watermark)
}

func (s *simulation) forward(task int) {
	w := []int64{0}
	s.tracker.now(w)
	if w[0] == s.sent[task][0] {
		return
	}
	s.sent[task] = w
	for k := range s.queues[task] {
		s.queues[task][k] = append(s.queues[task][k], simMessage{w: w})
	}
}

func (s *simulation) receive(source, keyed int) {
	q := s.queues[source][keyed]
	if len(q) == 0 {
		return
	}
	m := q[0]
	s.queues[source][keyed] = q[1:]
	k := s.keyed[keyed]
	if m.w != nil {
		if err := k.advance(source, m.w); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	s.folded++
	if w := k.w[0]; closeAt(m.at) <= w {
		s.t.Fatalf("a row of time %d is not late, but W %d has closed its window", m.at, w)
	}
}

// TestSubscribeLate shows that who subscribes after something has happened looks at it all the same.
func TestSubscribeLate(t *testing.T) {
	tr := newTracker(&Spec{Sources: make([]SourceSpec, 1)}, nil)
	slot, _ := tr.add(0, 0, minTime, true)
	tr.finish(slot)
	select {
	case <-tr.subscribe():
	default:
		t.Error("no signal")
	}
}

// TestWindowsAreOpen shows that behind an exchange the window of every row that was not late is still
// open, for any interleaving of reading, idling, waking, passing of time and delivery.
func TestWindowsAreOpen(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	late, folded := 0, 0
	for range 300 {
		s := newSimulation(t, r)
		clock := int64(1000)
		for range 2000 {
			p := &s.parts[r.IntN(len(s.parts))]
			switch r.IntN(10) {
			case 0:
				if r.IntN(4) == 0 {
					s.tracker.wake(p.Slot)
				} else {
					s.tracker.idle(p.Slot, p.next)
				}
			case 1:
				s.tracker.pass(time.Duration(r.IntN(20)) * time.Microsecond)
			case 2, 3, 4:
				clock += int64(r.IntN(4))
				s.read(p, clock+int64(r.IntN(80)-60))
			case 5, 6:
				s.forward(r.IntN(len(s.queues)))
			default:
				s.receive(r.IntN(len(s.queues)), r.IntN(len(s.keyed)))
			}
		}
		late, folded = late+s.late, folded+s.folded
	}
	if late == 0 || folded == 0 {
		t.Errorf("%d late rows and %d folded: the test has shown nothing", late, folded)
	}
}

func TestTrackerRules(t *testing.T) {
	spec := &Spec{Sources: make([]SourceSpec, 2), Operators: []OperatorSpec{{Sources: []int{0}, Size: 1}, {Sources: []int{0, 1}, Size: 1}}}
	tr := newTracker(spec, []int64{minTime, minTime})
	a, _ := tr.add(0, 0, minTime, true)
	b, _ := tr.add(1, 0, minTime, true)
	want := func(step string, w ...int64) {
		t.Helper()
		got := make([]int64, 2)
		if tr.now(got); !slices.Equal(got, w) {
			t.Errorf("%s: W is %d, want %d", step, got, w)
		}
	}
	read := func(slot int, watermark int64) []int64 {
		floor := tr.begin(slot)
		next, _, _ := tr.state(slot)
		tr.advance(slot, next+1, watermark)
		return floor
	}
	read(a, 100)
	want("an operator waits for its own sources only", 100, minTime)
	tr.idle(b, 0)
	want("an idle partition holds nothing", 100, 100)
	tr.idle(a, 0)
	want("a partition that has read on is not idle", 100, 100)
	tr.pass(50 * time.Microsecond)
	want("time moves W only when all are idle", 100, 100)
	tr.idle(a, 1)
	tr.pass(50 * time.Microsecond)
	want("all are idle", 150, 150)
	if floor := read(b, 20); !slices.Equal(floor, []int64{150, 150}) {
		t.Errorf("a partition that wakes has floor %d", floor)
	}
	want("W does not go back", 150, 150)
	tr.pass(time.Microsecond)
	want("the operator of the waking partition stands, the other's moves on", 151, 150)
	read(a, 400)
	want("the waking partition holds W at its floor", 400, 150)
	read(b, 300)
	want("until it is ahead", 400, 300)
	tr.finish(b)
	want("a partition at its bound holds nothing", 400, 400)
	tr.pass(time.Second)
	want("but it is not idle", 400, 400)
	tr.end()
	want("the end", maxTime, maxTime)
}

// TestEmptyPartitionIsIdleLast: whichever of two partitions is found idle last, W ends where the one stands that has records.
func TestEmptyPartitionIsIdleLast(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		spec := &Spec{Sources: make([]SourceSpec, 1), Operators: []OperatorSpec{{Sources: []int{0}, Size: 10}}}
		tr := newTracker(spec, []int64{minTime})
		read, _ := tr.add(0, 0, minTime, true)
		empty, _ := tr.add(0, 0, minTime, true)
		tr.begin(read)
		tr.advance(read, 1, 100)
		for _, i := range order {
			slot := []int{read, empty}[i]
			next, _, _ := tr.state(slot)
			tr.idle(slot, next)
		}
		if got := tr.levels()[0]; got != 100 {
			t.Errorf("idle in the order %v: W is %d, want 100", order, got)
		}
	}
}
