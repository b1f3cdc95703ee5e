package checkpoint

import (
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Setup is what a start knows before it asks anyone.
type Setup struct {
	Pipeline  string
	Group     string   // consumer group for the markers of a new state; an old state keeps its own
	ClusterID string   // of the cluster that takes the output
	IDs       []string // transactional ids of this program; none if no sink is exactly-once
	// Incarnation is a fresh random id, used if a new state is made.
	Incarnation ID

	Newest, Before *Checkpoint // as the store loaded them
	Confirmed      bool

	// Fresh begins a new incarnation whatever there is. It holds for the first start of a process: one that goes
	// through start-up again after a failure must not set it again.
	Fresh bool
	// AcceptLoss goes on from a confirmed checkpoint although its marker is gone from the group, or an older one of the incarnation is there.
	AcceptLoss bool
	// Decision is what a person says of the transaction of the newest checkpoint. It holds where a start would refuse to guess.
	Decision Decision
}

// Startup finishes what a dead process has left, and finds the checkpoint to run from. It is driven in a loop: do what
// Next says, and give the answer to Handle, until Next says Run or Refuse. A step that
// fails is the driver's: it tears down and begins with a new Startup, since every step may be repeated.
//
//	new state    look · resolve · save 0 · fence · open · look again · mark 0 · confirm 0 · run
//	old state    glance · fence the others · end the unconfirmed transaction · confirm or describe · fence its id · look ·
//	             confirm or drop · fence ids that are given up · adopt · fence new ids · open · look again · mark if it is missing · run
//	--fresh      fence all, and ids that are given up · look · resolve · save 0 · open · look again · mark 0 · confirm 0 · run
//
// Looking is reading the marker. The glance is a look that does not wait and refuses only: a state that is not the newest is known by it
// before a copy that runs is fenced. The look that a process runs from comes after it has taken all its ids (open): whoever commits
// after that look must take the ids first, which fences this process; whoever committed before is seen. So two copies of a state can never both commit.
type Startup struct {
	set     Setup
	stage   stage
	from    *Checkpoint // to run from, as far as is known
	settled bool        // from is confirmed in the store
	fence   []string    // ids that the stage has still to fence
	outcome Outcome
	seen    *TxnState // of the unconfirmed transaction, if it was undecided
	looked  bool
	marker  *Marker // as the first look saw it
	err     error
}

// stage is what is being done; Next maps it to a step, Handle moves it.
type stage uint8

const (
	lookFirst stage = iota
	glance
	fenceOld
	endTxn
	confirmProved
	describe
	fenceOwn
	look
	confirm
	drop
	fenceGone
	resolve
	save
	adopt
	fenceNew
	open
	lookAgain
	mark
	confirmLast
	run
	refused
)

// NewStartup begins a start.
func NewStartup(set Setup) *Startup {
	s := &Startup{set: set, from: set.Newest, settled: set.Confirmed}
	switch {
	case set.Decision != NoDecision && s.pending() == nil:
		s.refuse(s.nothingToDecide())
	case set.Newest != nil && !set.Fresh:
		s.begin()
	case set.Fresh:
		s.fence = append(union(s.storedIDs(), set.IDs), s.givenUp()...)
		s.stage = fenceOld
		s.skipFence()
	case s.exactly():
		s.stage = lookFirst
	default:
		s.stage = resolve
	}
	return s
}

// begin starts from an old state.
func (s *Startup) begin() {
	if err := s.foreign(); err != nil {
		s.refuse(err)
		return
	}
	s.fence = s.storedIDs()
	if c := s.pending(); c != nil {
		s.fence = slices.DeleteFunc(s.fence, func(id string) bool { return id == c.TransactionalID })
	}
	if s.set.Newest.Exactly {
		s.stage = glance
		return
	}
	s.stage = fenceOld
	s.skipFence()
}

// exactly says whether this program writes markers.
func (s *Startup) exactly() bool { return len(s.set.IDs) > 0 }

// pending is the committable of a checkpoint that is not confirmed, nil if there is none.
func (s *Startup) pending() *Committable {
	if s.set.Fresh || s.set.Newest == nil || s.set.Confirmed || s.set.Newest.Committable.TransactionalID == "" {
		return nil
	}
	return &s.set.Newest.Committable
}

func (s *Startup) storedIDs() []string {
	if s.set.Newest == nil {
		return nil
	}
	ids := s.set.Newest.IDs
	if c := s.set.Newest.Committable.TransactionalID; c != "" {
		ids = union(ids, []string{c})
	}
	return slices.Clone(ids)
}

// group takes the markers: the state's own, whatever the program would choose today.
func (s *Startup) group() string {
	if s.set.Newest != nil && s.set.Newest.Group != "" {
		return s.set.Newest.Group
	}
	return s.set.Group
}

// Next says what to do now. It does not change s.
func (s *Startup) Next() Step {
	switch s.stage {
	case glance:
		return Glance{Group: s.group()}
	case lookFirst, look, lookAgain:
		return ReadMarker{Group: s.group()}
	case fenceOld, fenceGone, fenceNew:
		return Fence{ID: s.fence[0]}
	case endTxn:
		return EndTxn{Committable: *s.pending()}
	case describe:
		return Describe{ID: s.pending().TransactionalID}
	case fenceOwn:
		return Fence{ID: s.pending().TransactionalID}
	case confirm, confirmProved, confirmLast:
		return Confirm{Number: s.from.Number}
	case drop:
		return Drop{Number: s.set.Newest.Number}
	case resolve:
		return ResolveStart{}
	case save:
		return Save{Checkpoint: s.from}
	case adopt:
		return Adopt{IDs: s.set.IDs}
	case open:
		return OpenSink{IDs: s.set.IDs, Group: s.group(), Incarnation: s.from.Incarnation}
	case mark:
		return Mark{Checkpoint: s.from}
	case run:
		return Run{From: s.ready()}
	default:
		return Refuse{Err: s.err}
	}
}

// Handle takes the answer to the step that Next named.
func (s *Startup) Handle(a Answer) {
	switch a := a.(type) {
	case Done:
		s.done()
	case Ended:
		s.outcome = a.Outcome
		s.move(endTxn, map[Outcome]stage{CommittedNow: confirmProved, Undecided: describe}[a.Outcome])
	case Described:
		s.seen, s.outcome = &a.State, Undecided
		s.move(describe, fenceOwn)
		s.heed()
	case MarkerIs:
		s.see(a.Marker)
	case StartIs:
		s.from, s.settled = s.zero(a.Partitions), false
		s.move(resolve, save)
	}
}

// move goes to the next stage, if the answer was one to the stage before.
func (s *Startup) move(from, to stage) {
	if s.stage != from {
		s.refuse(failure.New(failure.Internal, "", nil, "start-up was answered in stage %d as if in stage %d", s.stage, from))
		return
	}
	s.stage = to
}

// done is behind a step without a result.
func (s *Startup) done() {
	switch s.stage {
	case fenceOld, fenceGone, fenceNew:
		s.fence = s.fence[1:]
		s.skipFence()
	case confirmProved: // before the fence, behind which the coordinator does not say any more that it is committed
		s.settled = true
		s.stage = fenceOwn
	case fenceOwn:
		s.stage = look
	case confirm, drop:
		s.settled = true
		s.take()
	case save:
		s.fenceRest()
	case adopt:
		s.from = withIDs(s.from, s.set.IDs)
		s.fenceRest()
	case open:
		if s.stage = lookAgain; !s.exactly() {
			s.finish()
		}
	case mark:
		s.finish()
	case confirmLast:
		s.settled = true
		s.stage = run
	default:
		s.move(run, refused) // no answer was due
	}
}

// skipFence leaves a stage of fencing when there is no id left.
func (s *Startup) skipFence() {
	if len(s.fence) > 0 {
		return
	}
	switch {
	case s.stage == fenceNew:
		s.stage = open
	case s.stage == fenceGone && !slices.Equal(s.from.IDs, s.set.IDs):
		s.stage = adopt
	case s.stage == fenceGone:
		s.fenceRest()
	case s.pending() != nil && s.set.Decision == ItIsAborted:
		s.stage = describe
	case s.pending() != nil:
		s.stage = endTxn
	case s.set.Fresh && (s.exactly() || s.set.Newest != nil && s.set.Newest.Exactly):
		s.stage = look
	case s.set.Fresh:
		s.stage = resolve
	case s.set.Newest.Exactly:
		s.stage = look
	default:
		s.decided(committed, nil) // no marker says otherwise, and there is nothing to go back from
	}
}

// take goes on with s.from, which is what the store holds now, and makes the program's ids the state's.
func (s *Startup) take() {
	s.fence = s.givenUp()
	s.stage = fenceGone
	s.skipFence()
}

// givenUp are the state's ids that are not the program's any more, each twice: by that a copy which holds them knows that this start is one that goes on.
// Those that are the program's are fenced and opened.
func (s *Startup) givenUp() []string {
	var gone []string
	for _, id := range s.storedIDs() {
		if !slices.Contains(s.set.IDs, id) {
			gone = append(gone, id, id)
		}
	}
	return gone
}

// fenceRest fences the program's ids that were not fenced as the state's, and goes on to open the sink.
func (s *Startup) fenceRest() {
	s.fence = slices.Clone(s.set.IDs)
	if s.set.Newest != nil {
		fenced := s.storedIDs()
		s.fence = slices.DeleteFunc(s.fence, func(id string) bool { return slices.Contains(fenced, id) })
	}
	if s.set.Fresh {
		s.fence = nil // all were, at the beginning
	}
	s.stage = fenceNew
	s.skipFence()
}

// finish ends the start. Checkpoint 0 is confirmed when its marker is written, or at once if it has none.
func (s *Startup) finish() {
	s.stage = run
	if !s.settled {
		s.stage = confirmLast
	}
}

// ready is the checkpoint to run from, with what the program adds to those behind it.
func (s *Startup) ready() *Checkpoint {
	c := withIDs(s.from, s.set.IDs)
	c.Exactly = s.exactly()
	return c
}

// zero is checkpoint 0 of a new state.
func (s *Startup) zero(partitions []Partition) *Checkpoint {
	return &Checkpoint{
		Incarnation: s.set.Incarnation, Pipeline: s.set.Pipeline, Group: s.group(), IDs: s.set.IDs, Exactly: s.exactly(),
		Replaces: s.marker, Partitions: partitions, Committable: Committable{ClusterID: s.set.ClusterID},
	}
}

func (s *Startup) refuse(err error) { s.stage, s.err = refused, err }

func union(a, b []string) []string {
	u := slices.Clone(a)
	for _, id := range b {
		if !slices.Contains(u, id) {
			u = append(u, id)
		}
	}
	return u
}

func withIDs(c *Checkpoint, ids []string) *Checkpoint {
	d := *c
	d.IDs = ids
	return &d
}
