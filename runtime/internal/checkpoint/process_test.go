package checkpoint

import (
	"fmt"
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// mutant is a way in which the protocol is broken on purpose. The search must find what it leads to.
type mutant struct {
	commitFirst   bool // EndTxn before the checkpoint is stored
	earlyNext     bool // go on to N+1 before N is committed and confirmed
	dropEarly     bool // the store keeps only the newest checkpoint
	noReinit      bool // V1: no InitProducerId between two transactions of a producer
	fenceFirst    bool // fence the id of the unconfirmed transaction before EndTxn
	fencedAborted bool // "fenced" is taken for "aborted"
	fencedDone    bool // "fenced" is taken for "committed"
	noFenceAfter  bool // do not fence after "no error"
	noFenceOthers bool // do not fence ids that hold no committable
	unstableRead  bool // read the marker without require_stable
	oneLook       bool // do not look at the marker again when all ids are taken
	markOutside   bool // the marker is not part of the transaction
	markByNumber  bool // compare the number of a marker, not its producer
	noMarkZero    bool // run without the marker of checkpoint 0
	resolveLate   bool // run without storing checkpoint 0
	olderIsFine   bool // no check that the state is not older than the marker (I7)
	lostIsAborted bool // a missing marker is taken for "aborted"

	blindRenewal    bool // a renewal takes what it gets
	forgottenIsFine bool // it takes what it gets in the first step
	markerDecides   bool // it goes on with another epoch than expected if nobody else has committed
	noLookAtRenewal bool // it does not look at the marker where epochs run out
}

// process is one copy of the program, with its disk.
type process struct {
	disk    disk
	exists  bool // the second one: a copy was made
	base    int8 // its ids are modelIDs[base] and the next one
	up      bool
	running bool
	refused failure.Kind

	startup Startup
	part    int8            // of a step that is not atomic
	hold    [slots]producer // of its ids
	seen    bool            // mutants: the marker was looked at
	look    *Marker

	coordinator Coordinator
	todo        Action // what the coordinator wants done
	from        int8   // position of checkpoint 0 of the incarnation
	inc         int8
	pos         int8         // next input
	stored      int8         // position of the last barrier
	current     int8         // slot of the open transaction
	begun       [slots]uint8 // the transaction last begun
	pending     Checkpoint   // checkpoint in flight
	counted     int8         // inputs counted since checkpoint 0 (I8)
	renewal     [slots]renewal
	ending      int8 // the last checkpoint whose transaction this process has ended
	early       bool // mutants: EndTxn was sent already
}

var modelIDs = []string{"x", "y", "u", "v"}

func idOf(name string) int8 { return int8(slices.Index(modelIDs, name)) }

// id is the broker's index of the id in a slot.
func (p *process) id(slot int8) int8 { return p.base + slot }

func (p *process) ids() []string { return modelIDs[p.base : p.base+slots] }

// world is a state of everything.
type world struct {
	broker
	procs   [maxProc]process
	budget  budget
	nextID  int8 // of incarnations
	begin   int8 // position of the checkpoint 0 that was run from first, noMark before
	lost    bool // the marker was taken away
	inputs  int8 // records of the input
	latest  bool // start offsets move on with every start
	renamed bool // see scenario
	beside  bool // see scenario
}

// budget bounds the search.
type budget struct{ starts, crashes, timeouts, ghosts, losses, forgets, copies int8 }

// clone copies what a step may change. Checkpoints, ids and markers are never changed in place.
func (w *world) clone() *world {
	c := *w
	for i := range c.procs {
		c.procs[i].coordinator.acked = slices.Clone(c.procs[i].coordinator.acked)
	}
	return &c
}

// start brings a process up.
func (w *world) start(p *process) {
	w.nextID++
	d := p.disk
	*p = process{disk: d, exists: true, base: p.base, up: true}
	p.startup = *NewStartup(Setup{Pipeline: "p", Group: "g", ClusterID: "k", IDs: p.ids(), Incarnation: ID{byte(w.nextID)},
		Newest: d.newest, Before: d.before, Confirmed: d.confirmed})
}

// down ends a process. What it had in memory is gone.
func (p *process) down() { *p = process{disk: p.disk, exists: true, base: p.base, refused: p.refused} }

// step takes a process one step further. The error is a broken invariant.
func (w *world) step(p *process, m mutant, ghost bool) error {
	if p.running {
		return w.runStep(p, m, ghost)
	}
	return w.startStep(p, m, ghost)
}

// startStep does what the start wants.
func (w *world) startStep(p *process, m mutant, ghost bool) error {
	switch step := p.startup.Next().(type) {
	case Fence:
		own := p.startup.stage == fenceOwn
		if m.noFenceAfter && own && p.startup.outcome == CommittedNow || m.noFenceOthers && !own {
			p.startup.Handle(Done{})
			return nil
		}
		if err := w.spares(p, idOf(step.ID)); err != nil {
			return err
		}
		if _, r := w.initProducerID(idOf(step.ID)); r == ok {
			p.startup.Handle(Done{})
		}
	case EndTxn:
		return w.endUnconfirmed(p, step.Committable, m, ghost)
	case Describe:
		p.startup.Handle(Described{w.describe(idOf(step.ID))})
	case Glance:
		w.glance(p, m)
	case ReadMarker:
		w.readMarker(p, m)
	case ResolveStart:
		start := int8(0)
		if w.latest {
			start = min(w.nextID-1, w.inputs)
		}
		p.startup.Handle(StartIs{[]Partition{{Source: "in", Next: int64(start), Bound: -1}}})
	case Save:
		if !m.resolveLate {
			if err := p.disk.save(step.Checkpoint, false); err != nil {
				return err
			}
		}
		p.startup.Handle(Done{})
	case Adopt:
		p.disk.adopt(step.IDs)
		p.startup.Handle(Done{})
	case OpenSink:
		w.takeID(p)
	case Mark:
		return w.writeMark(p, step.Checkpoint, m, ghost)
	case Confirm:
		if !m.resolveLate || p.disk.newest != nil {
			if err := p.disk.confirm(step.Number); err != nil {
				return err
			}
		}
		p.startup.Handle(Done{})
	case Drop:
		if err := p.disk.drop(step.Number); err != nil {
			return err
		}
		p.startup.Handle(Done{})
	case Run:
		return w.run(p, step.From, m)
	case Refuse:
		p.refused = failure.KindOf(step.Err)
		p.down()
	}
	return nil
}

// spares is I5: a start does not abort the transaction that it has to commit.
func (w *world) spares(p *process, id int8) error {
	d, c := p.disk, w.ids[id]
	if d.newest == nil || d.confirmed || c.state != ongoing {
		return nil
	}
	if k := d.newest.Committable; k.TransactionalID == modelIDs[id] && k.ProducerID == int64(c.producer.pid) && k.Epoch == int16(c.producer.epoch) {
		return fmt.Errorf("I5: the start aborts the prepared transaction of checkpoint %d", d.newest.Number)
	}
	return nil
}

// endUnconfirmed sends EndTxn for a dead process.
func (w *world) endUnconfirmed(p *process, c Committable, m mutant, ghost bool) error {
	id := idOf(c.TransactionalID)
	if m.fenceFirst && p.part == 0 {
		if err := w.spares(p, id); err != nil {
			return err
		}
		if _, r := w.initProducerID(id); r == ok {
			p.part = 1
		}
		return nil
	}
	r := request{there: true, id: id, by: producer{int8(c.ProducerID), int8(c.Epoch)}, meant: uint8(c.Records), number: int8(c.Checkpoint)}
	if ghost {
		w.ghost = r
	}
	got, _, err := w.endTxn(r)
	if err != nil || got == retry {
		return err
	}
	p.part = 0
	if got == ok {
		p.startup.Handle(Ended{CommittedNow})
		return nil
	}
	p.startup.Handle(Ended{Undecided})
	return nil
}

// glance answers the glance, which waits for nothing. From a mutant that does not refuse what a marker refutes it is hidden.
func (w *world) glance(p *process, m mutant) {
	if m.olderIsFine || m.markByNumber {
		p.startup.Handle(MarkerIs{})
		return
	}
	p.startup.Handle(MarkerIs{w.mark.marker()})
}

// readMarker answers a look. A mutant that decides wrongly sees, in the machine's place, the marker that would lead to its decision.
func (w *world) readMarker(p *process, m mutant) {
	if w.unstable() && !m.unstableRead {
		return
	}
	got := w.mark.marker()
	s := &p.startup
	again := p.seen && (m.oneLook || sameMarker(got, p.look))
	if !p.seen || !again {
		p.seen, p.look = true, got
	}
	switch n := s.set.Newest; {
	case s.stage == lookAgain && again:
		got = s.marker // what it saw at the first look
	case s.stage == look && n != nil:
		undecided := s.pending() != nil && s.outcome == Undecided
		switch {
		case undecided && (m.fencedAborted || m.lostIsAborted && got == nil):
			s.seen, got = nil, markerOf(s.set.Before)
		case undecided && m.fencedDone,
			m.olderIsFine && got != nil && got.Checkpoint > n.Number,
			undecided && m.markByNumber && got != nil && got.Checkpoint == n.Number:
			s.seen, got = nil, markerOf(n)
		}
	}
	s.Handle(MarkerIs{got})
}

// markerOf is what is in the group when checkpoint c is committed.
func markerOf(c *Checkpoint) *Marker {
	k := c.Committable
	k.Checkpoint, k.Incarnation = c.Number, c.Incarnation
	m := k.Marker("p")
	return &m
}

// takeID takes the ids for the sink, one after the other.
func (w *world) takeID(p *process) {
	got, r := w.initProducerID(p.id(p.part))
	if r != ok {
		return
	}
	p.hold[p.part] = got
	if p.part++; p.part == slots {
		p.part = 0
		p.startup.Handle(Done{})
	}
}

// writeMark writes the marker of a checkpoint in a transaction of its own.
func (w *world) writeMark(p *process, c *Checkpoint, m mutant, ghost bool) error {
	if m.noMarkZero {
		p.startup.Handle(Done{})
		return nil
	}
	switch p.part {
	case 0:
		mk := marking{there: true, inc: int8(c.Incarnation[0]), n: int8(c.Number), pos: int8(c.Partitions[0].Next), by: p.hold[0], alone: true}
		switch w.write(p.id(0), p.hold[0], -1, mk) {
		case ok:
			p.begun[0] = w.ids[p.id(0)].txn.serial
			p.part = 1
		case refusal:
			p.down()
		}
	case 1:
		r := request{there: true, id: p.id(0), by: p.hold[0], meant: p.begun[0]}
		if ghost {
			w.ghost = r
		}
		got, next, err := w.endTxn(r)
		if err != nil || got == retry {
			return err
		}
		if got == refusal {
			p.down()
			return nil
		}
		p.inc, p.part = int8(c.Incarnation[0]), 0
		p.ended(0, int8(c.Number), next, m)
		p.startup.Handle(Done{})
	}
	return nil
}

// startOf is the position of checkpoint 0, which the model keeps in the counts of every checkpoint.
func startOf(c *Checkpoint) int8 {
	if c.Number == 0 {
		return int8(c.Partitions[0].Next)
	}
	return int8(c.Counts[0].N)
}

// run begins to run, and checks what must be true then.
func (w *world) run(p *process, from *Checkpoint, m mutant) error {
	d := p.disk
	if !m.resolveLate && (d.newest == nil || d.newest.Number != from.Number || !d.confirmed) {
		return fmt.Errorf("I4: it runs from checkpoint %d, which is not the newest confirmed one on disk", from.Number)
	}
	if w.begin == noMark {
		w.begin = startOf(from)
	}
	if err := w.atRun(p, from); err != nil {
		return err
	}
	p.running = true
	p.part = 0
	p.coordinator = *NewCoordinator(Plan{Last: from.Number, Tasks: []string{"task"}, Exactly: true})
	p.inc, p.from = int8(from.Incarnation[0]), startOf(from)
	p.pos = int8(from.Partitions[0].Next)
	p.stored, p.counted = p.pos, p.pos-p.from
	p.pending = *from
	p.current = int8((from.Number + 1) % slots)
	p.begun = [slots]uint8{}
	return nil
}
