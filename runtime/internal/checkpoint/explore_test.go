package checkpoint

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/race"
	"github.com/eoc-lang/eoc/internal/skip"
)

// event is one step of the world.
type happening struct {
	kind happens
	at   int8 // process or transactional id; of a renewal the process and, maxProc apart, the slot
}

type happens uint8

const (
	starts       happens = iota
	steps                // a process goes one step further
	stepsTwice           // the same, and the network keeps a copy of its EndTxn
	renews               // a process goes one step further in renewing a producer
	renewsTwice          // the same, and the answer is lost, so that it asks once more
	reads                // a process reads a record and writes its output
	ticks                // the checkpoint interval is over
	crashes              // kill -9
	timesOut             // the broker aborts a transaction
	completes            // a decided transaction becomes visible
	arrives              // the copy of the EndTxn arrives
	losesMarker          // it expires, or the group is deleted
	forgetsID            // the transactional id expires
	copiesTheDir         // a second process starts from a copy of the state directory, while the first may go on
)

var happensNames = [...]string{"starts", "steps", "steps, its EndTxn is also delayed", "renews a producer", "renews a producer, an answer is lost",
	"reads", "ticks", "crashes", "times out", "completes", "delayed EndTxn arrives",
	"marker is lost", "id is forgotten", "directory is copied"}

func (h happening) String() string { return fmt.Sprintf("%s %d", happensNames[h.kind], h.at) }

// next is everything that can happen now.
func (w *world) next() (list []happening) {
	for i := range w.procs {
		p, at := &w.procs[i], int8(i)
		if !p.exists {
			continue
		}
		if !p.up {
			if w.budget.starts > 0 && !(w.renamed && i == 0 && w.procs[1].exists) {
				list = append(list, happening{starts, at})
			}
			continue
		}
		if w.budget.crashes > 0 {
			list = append(list, happening{crashes, at})
		}
		renewals := p.renewable()
		for _, slot := range renewals {
			list = append(list, happening{renews, at + maxProc*slot})
			if w.budget.ghosts > 0 && p.renewal[slot].stage == between {
				list = append(list, happening{renewsTwice, at + maxProc*slot})
			}
		}
		if len(renewals) > 0 && !w.beside {
			continue
		}
		if !p.running || p.todo != nil {
			list = append(list, happening{steps, at})
			if w.budget.ghosts > 0 && !w.ghost.there && p.sendsEndTxn() {
				list = append(list, happening{stepsTwice, at})
			}
		}
		if w.canRead(p) {
			list = append(list, happening{reads, at})
		}
		if p.running && p.todo == nil && p.pos > p.stored {
			list = append(list, happening{ticks, at})
		}
	}
	for i := range w.ids {
		c, at := w.ids[i], int8(i)
		switch {
		case c.state == prepareCommit || c.state == prepareAbort:
			list = append(list, happening{completes, at})
		case c.state == ongoing && w.budget.timeouts > 0:
			list = append(list, happening{timesOut, at})
		case c.known && c.state != ongoing && w.budget.forgets > 0 && w.budget.copies == 0:
			list = append(list, happening{forgetsID, at})
		}
	}
	if w.ghost.there {
		list = append(list, happening{arrives, 0})
	}
	if w.budget.losses > 0 && w.mark.there {
		list = append(list, happening{losesMarker, 0})
	}
	if w.budget.copies > 0 && w.procs[0].disk.newest != nil && !w.procs[1].exists && (!w.renamed || w.procs[0].running) {
		list = append(list, happening{copiesTheDir, 0})
	}
	return list
}

func (p *process) sendsEndTxn() bool {
	if p.running {
		_, commits := p.todo.(Commit)
		return commits
	}
	return p.startup.stage == endTxn || p.startup.stage == mark && p.part == 1
}

// do lets it happen, and checks the invariants.
func (w *world) do(h happening, m mutant) (err error) {
	p := &w.procs[h.at%maxProc] // of those that happen to a process
	switch h.kind {
	case starts:
		w.budget.starts--
		w.start(p)
	case steps:
		err = w.step(p, m, false)
	case stepsTwice:
		w.budget.ghosts--
		err = w.step(p, m, true)
	case renews:
		w.renew(p, h.at/maxProc, m, false)
	case renewsTwice:
		w.budget.ghosts--
		w.renew(p, h.at/maxProc, m, true)
	case reads:
		w.read(p)
	case ticks:
		err = w.tick(p)
	case crashes:
		w.budget.crashes--
		p.down()
	case timesOut:
		w.budget.timeouts--
		w.abort(h.at)
	case completes:
		w.complete(h.at)
	case arrives:
		r := w.ghost
		w.ghost = request{}
		_, _, err = w.endTxn(r)
	case losesMarker:
		w.budget.losses--
		w.mark.there, w.lost = false, true
	case forgetsID:
		w.budget.forgets--
		w.ids[h.at] = coordinator{}
	case copiesTheDir:
		w.budget.copies--
		w.procs[1] = process{exists: true, disk: w.procs[0].disk}
		if w.renamed {
			w.procs[1].base = slots
		}
	}
	if err != nil {
		return err
	}
	return w.check()
}

// check is I1 and I6: the committed output is that of the input from the start to the marker, each record once.
func (w *world) check() error {
	b := w.broker.settled()
	for i, n := range b.committed {
		want := uint8(0)
		if w.begin != noMark && int8(i) >= w.begin && int8(i) < b.mark.pos {
			want = 1
		}
		if n != want {
			return fmt.Errorf("I1: the output of record %d is committed %d times, want %d (start %d, marker at %d)", i, n, want, w.begin, b.mark.pos)
		}
	}
	return nil
}

// atRun is what must hold when a process begins to run: I6, I7. Unless another one has taken its ids already: then it cannot commit.
func (w *world) atRun(p *process, from *Checkpoint) error {
	for slot := range int8(slots) {
		if w.ids[p.id(slot)].producer != p.hold[slot] {
			return nil
		}
	}
	pos, mark := int8(from.Partitions[0].Next), w.broker.settled().mark
	switch {
	case mark.pos != pos || mark.n != int8(from.Number):
		return fmt.Errorf("I7: it runs from checkpoint %d at %d, the marker is %d at %d", from.Number, pos, mark.n, mark.pos)
	case startOf(from) != w.begin:
		return fmt.Errorf("I1: it begins at %d, the pipeline began at %d", startOf(from), w.begin)
	}
	for i, c := range w.ids {
		if c.state == ongoing {
			return fmt.Errorf("I6: it runs while a transaction of %s is open", modelIDs[i])
		}
	}
	return nil
}

// key tells worlds apart.
func (w *world) key() []byte {
	k := w.broker.key(make([]byte, 0, 256))
	for i := range w.procs {
		k = w.procs[i].key(k)
	}
	b := w.budget
	return append(k, byte(b.starts), byte(b.crashes), byte(b.timeouts), byte(b.ghosts), byte(b.losses), byte(b.forgets), byte(b.copies),
		byte(w.nextID), byte(w.begin), bit(w.lost))
}

func (p *process) key(k []byte) []byte {
	k = p.disk.key(k)
	k = append(k, bit(p.exists), bit(p.up), bit(p.running), byte(p.refused), byte(p.part), bit(p.early), bit(p.seen))
	if !p.up {
		return k
	}
	for i := range p.hold {
		k = append(k, byte(p.hold[i].pid), byte(p.hold[i].epoch), p.begun[i])
	}
	for _, r := range p.renewal {
		k = r.key(k)
	}
	k = append(k, byte(p.ending))
	if p.running {
		k = append(k, byte(p.coordinator.phase), byte(p.coordinator.number), byte(p.pos), byte(p.stored), byte(p.current), byte(p.from))
		return append(k, bit(p.todo != nil), byte(p.pending.Number), byte(p.pending.Partitions[0].Next))
	}
	s := &p.startup
	k = append(k, byte(s.stage), byte(len(s.fence)), byte(s.outcome), bit(s.looked), bit(s.settled))
	for _, m := range []*Marker{s.marker, p.look} {
		if m != nil {
			k = append(append(k, m.Producer...), byte(m.Checkpoint), m.Incarnation[0])
		}
		k = append(k, '|')
	}
	if s.seen != nil {
		k = append(append(k, s.seen.State...), byte(s.seen.ProducerID), byte(s.seen.Epoch))
	}
	if s.from != nil {
		k = append(k, byte(s.from.Number), byte(s.from.Partitions[0].Next), s.from.Incarnation[0])
	}
	return k
}

// search visits every world that a scenario leads to, breadth first, so that a trace of events to a broken invariant is as short as can be.
type search struct {
	sc     scenario
	m      mutant
	seeds  [2]maphash.Seed
	seen   map[[2]uint64]struct{}
	parent []int32
	event  []happening
	ends   int // worlds that were run to the end
}

const maxWorlds = 4_000_000

func (s *search) run() error {
	type node struct {
		w  *world
		at int32
	}
	s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	s.seen = map[[2]uint64]struct{}{}
	first := s.sc.begin()
	s.visit(first)
	s.parent, s.event = append(s.parent, -1), append(s.event, happening{})
	queue := []node{{first, 0}}
	for len(queue) > 0 {
		var later []node
		for _, n := range queue {
			for _, h := range n.w.next() {
				w := n.w.clone()
				err := w.do(h, s.m)
				if err == nil {
					err = s.allowed(w)
				}
				if err == nil && !s.visit(w) {
					continue
				}
				s.parent, s.event = append(s.parent, n.at), append(s.event, h)
				at := int32(len(s.parent) - 1)
				if err == nil && at%ends == 0 {
					err = s.finish(w)
				}
				if err != nil {
					return fmt.Errorf("%w\n%s", err, s.trace(at))
				}
				later = append(later, node{w, at})
			}
		}
		if queue = later; len(s.seen) > maxWorlds {
			return fmt.Errorf("more than %d worlds: make the scenario smaller", maxWorlds)
		}
	}
	return nil
}

// visit says whether the world is a new one.
func (s *search) visit(w *world) bool {
	k := w.key()
	h := [2]uint64{maphash.Bytes(s.seeds[0], k), maphash.Bytes(s.seeds[1], k)}
	_, known := s.seen[h]
	s.seen[h] = struct{}{}
	return !known
}

// allowed refuses a start that was refused without a reason.
func (s *search) allowed(w *world) error {
	for i, p := range w.procs {
		if p.refused != 0 && !s.sc.refuse[p.refused] {
			return fmt.Errorf("process %d refuses to start, with kind %d", i, p.refused)
		}
	}
	return nil
}

// ends: every how many-th world is run to its end.
const ends = 7

// finish lets the first process run on without any more trouble: all input must become output (nothing is stuck, nothing is lost).
func (s *search) finish(w *world) error {
	if len(s.sc.refuse) > 0 {
		return nil // it may be right to refuse
	}
	s.ends++
	w = w.clone()
	p := &w.procs[0]
	for range 300 {
		h := happening{steps, 0}
		decided := slices.IndexFunc(w.ids[:], func(c coordinator) bool { return c.state == prepareCommit || c.state == prepareAbort })
		switch {
		case decided >= 0:
			h = happening{completes, int8(decided)}
		case !p.up:
			w.budget.starts = 1
			h.kind = starts
		case len(p.renewable()) > 0 && !(w.unstable() && p.renewal[p.renewable()[0]].stage == looks):
			h = happening{renews, maxProc * p.renewable()[0]}
		case p.running && p.todo == nil && p.pos < w.inputs:
			h.kind = reads
		case p.running && p.todo == nil && p.pos > p.stored:
			h.kind = ticks
		case p.running && p.todo == nil:
			if w.mark.pos != w.inputs || !p.disk.confirmed {
				return fmt.Errorf("all is read and only %d records are committed", w.mark.pos)
			}
			return nil
		}
		if err := w.do(h, s.m); err != nil {
			return fmt.Errorf("running on: %w", err)
		}
		if err := s.allowed(w); err != nil {
			return fmt.Errorf("running on: %w", err)
		}
	}
	return fmt.Errorf("running on leads nowhere")
}

func (s *search) trace(at int32) string {
	var list []string
	for ; s.parent[at] >= 0; at = s.parent[at] {
		list = append(list, s.event[at].String())
	}
	var b strings.Builder
	for i := range list {
		fmt.Fprintf(&b, "%3d  %s\n", i+1, list[len(list)-1-i])
	}
	return b.String()
}

// TestExplore searches all interleavings of steps, crashes, time-outs, delayed messages and copies, and asserts the invariants in each world.
func TestExplore(t *testing.T) {
	for _, sc := range scenarios() {
		if sc.deep && !*deep {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			if race.Enabled && sc.budget.copies > 0 {
				skip.Loudly(t, "runs without the race detector")
			}
			s := search{sc: sc}
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d worlds, %d run to the end", len(s.seen), s.ends)
		})
	}
}

// TestWalk goes at random through worlds that are too large to search.
func TestWalk(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	walks := 3000
	if *deep {
		walks = 300_000
	}
	for i := range walks {
		sc := scenario{v2: i%2 == 1, maxEpoch: []int8{100, 2}[rnd.IntN(2)], inputs: maxIn, latest: i%5 == 0,
			budget: budget{starts: 9, crashes: 6, timeouts: 3, ghosts: 3}}
		switch i % 3 {
		case 1:
			sc.budget.copies, sc.refuse = 1, copies
		case 2:
			sc.second, sc.refuse = i%6 == 2, copies
		}
		s := search{sc: sc}
		w := sc.begin()
		var path []string
		for range 400 {
			list := w.next()
			if len(list) == 0 {
				break
			}
			h := list[rnd.IntN(len(list))]
			if (h.kind == crashes || h.kind == timesOut || h.kind == copiesTheDir) && rnd.IntN(8) > 0 {
				continue // else no walk gets far
			}
			path = append(path, h.String())
			err := w.do(h, mutant{})
			if err == nil {
				err = s.allowed(w)
			}
			if err != nil {
				t.Fatalf("walk %d: %v\n%s", i, err, strings.Join(path, "\n"))
			}
		}
		if err := s.finish(w); err != nil {
			t.Fatalf("walk %d: %v\n%s", i, err, strings.Join(path, "\n"))
		}
	}
}
