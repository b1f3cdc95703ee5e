package engine

import (
	"context"
	"fmt"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// Stored is what a store has loaded; see Store.Load.
type Stored struct {
	Newest, Before *checkpoint.Checkpoint
	Confirmed      bool
}

// Outlook is what a start would do now.
type Outlook struct {
	Would   string     // in words
	Refused error      // why it would be refused; nil: it would not
	Next    []Position // where it would read on
	Ends    Ends       // and where that ends, of a run that does
	Lost    []error    // input that it would find gone; with AcceptLoss it would go on without
	Marker  *checkpoint.Marker
}

// Ends are the offsets at which a bounded run ends; without an entry: never.
type Ends map[Position]int64

// endsOf are the bounds of partitions.
func (s *Spec) endsOf(parts []checkpoint.Partition) Ends {
	ends := Ends{}
	for _, p := range parts {
		if p.Bound < 0 {
			continue
		}
		for _, at := range s.positions([]checkpoint.Partition{p}) {
			ends[at] = p.Bound
		}
	}
	return ends
}

// Endless is what --until means for a state whose run has no end.
const Endless = "--until changes nothing: where a run ends is fixed at its first start, and the one of this state has no end; it runs until it is stopped"

// Ending says where a run ends that begins now; "": nowhere.
func Ending(u checkpoint.Until) string {
	switch {
	case u.Latest:
		return ", and ends for good at what the topics hold by then (--until latest)"
	case u.Bounded():
		return ", and ends for good in front of the first record of each partition with the Kafka time " + u.String() + " or a later one (--until)"
	}
	return ""
}

// Foresee goes through a start without doing any of it: steps that change nothing are carried out, for the others it is assumed
// that they succeed. So what it says is what the start says.
func (e *Engine) Foresee(ctx context.Context, c Clusters, stored Stored) (Outlook, error) {
	id, err := c.job().ID(ctx)
	if err != nil {
		return Outlook{}, err
	}
	if err := c.separate(ctx, e.Spec); err != nil {
		return Outlook{Refused: err}, nil
	}
	inputs, err := c.inputs(ctx, e.Spec)
	if err != nil {
		return Outlook{}, err
	}
	written, err := c.job().Topics(ctx, e.Spec.Topics(0))
	if err != nil {
		return Outlook{}, err
	}
	f := &foreseen{startup: startup{Engine: e, clusters: c, inputs: inputs, anchorage: e.Spec.anchor(inputs, written)}, stored: stored}
	set := checkpoint.Setup{
		Pipeline: e.Spec.Name, Group: e.Group(), ClusterID: id, IDs: e.IDs(),
		Newest: stored.Newest, Before: stored.Before, Confirmed: stored.Confirmed, Fresh: e.Options.Fresh, AcceptLoss: e.Options.AcceptLoss, Decision: e.Options.Decision,
	}
	f.own = Own(set)
	machine := checkpoint.NewStartup(set)
	for {
		switch step := machine.Next().(type) {
		case checkpoint.Run:
			return f.end(ctx, step.From)
		case checkpoint.Refuse:
			f.out.Refused = f.because(stored.Newest, step.Err)
			return f.out, nil
		default:
			answer, err := f.answer(ctx, step)
			if err != nil || f.out.Refused != nil {
				return f.out, err
			}
			machine.Handle(answer)
		}
	}
}

// foreseen is a start that is not carried out.
type foreseen struct {
	startup
	stored Stored
	looked bool
	begins bool
	out    Outlook
}

func (f *foreseen) answer(ctx context.Context, step checkpoint.Step) (checkpoint.Answer, error) {
	switch step := step.(type) {
	case checkpoint.Glance:
		m, err := f.clusters.job().LastMarker(ctx, step.Group)
		f.out.Marker = m
		return checkpoint.MarkerIs{Marker: m}, err
	case checkpoint.ReadMarker: // the second look finds what the first has found: nobody else starts
		if f.looked {
			return checkpoint.MarkerIs{Marker: f.out.Marker}, nil
		}
		m, err := f.clusters.job().Marker(ctx, step.Group)
		f.out.Marker, f.looked = m, true
		return checkpoint.MarkerIs{Marker: m}, err
	case checkpoint.EndTxn:
		return f.ended(ctx, step.Committable)
	case checkpoint.Describe:
		state, err := f.clusters.job().Describe(ctx, step.ID)
		return checkpoint.Described{State: state}, err
	case checkpoint.ResolveStart:
		parts, err := firstPositions(ctx, f.clusters, f.Spec, f.inputs, f.Options.Until)
		return checkpoint.StartIs{Partitions: parts}, err
	case checkpoint.OpenSink:
		if f.Options.Decision != checkpoint.NoDecision {
			return checkpoint.Done{}, nil // it is in the state by now, which then says what became of a transaction that cannot be seen
		}
		err := f.visible(ctx, foreseeLimit)
		if err != nil && failure.KindOf(err) != failure.Transient {
			f.out.Refused, err = err, nil
		}
		return checkpoint.Done{}, err
	case checkpoint.Drop:
		f.out.Would = fmt.Sprintf("checkpoint %d was not committed: it goes back to %d", step.Number, step.Number-1)
	case checkpoint.Save:
		f.out.Would = "it begins a new state" + Ending(f.Options.Until)
		f.begins = true
	}
	return checkpoint.Done{}, nil
}

// ended says what EndTxn would answer: a transaction that is open and of the same producer is as it was prepared, and one that is committed is committed
// once more as long as its id was not used again.
func (f *foreseen) ended(ctx context.Context, c checkpoint.Committable) (checkpoint.Answer, error) {
	state, err := f.clusters.job().Describe(ctx, c.TransactionalID)
	if err == nil && state.Fate(c) == checkpoint.ItIsCommitted {
		return checkpoint.Ended{Outcome: checkpoint.CommittedNow}, nil
	}
	if err != nil || state.State != "Ongoing" || state.ProducerID != c.ProducerID || state.Epoch != c.Epoch {
		return checkpoint.Ended{Outcome: Undecided}, err
	}
	m := c.Marker(f.Spec.Name)
	f.out.Marker, f.looked = &m, true
	f.out.Would = fmt.Sprintf("it commits checkpoint %d with %s, which is prepared, and goes on from there", c.Checkpoint, words.Many(c.Records, "record"))
	return checkpoint.Ended{Outcome: CommittedNow}, nil
}

// end looks at the input behind the checkpoint that the start would run from.
func (f *foreseen) end(ctx context.Context, from *checkpoint.Checkpoint) (Outlook, error) {
	if f.out.Would == "" {
		f.out.Would = fmt.Sprintf("it goes on from checkpoint %d", from.Number)
	}
	if from.Ended {
		if f.out.Refused = f.finished(ctx, from); failure.KindOf(f.out.Refused) == failure.Transient && f.out.Refused != nil {
			return f.out, f.out.Refused
		}
		f.out.Would = "it has nothing to do: the bounded run has finished"
		return f.out, nil
	}
	f.out.Ends = f.Spec.endsOf(from.Partitions)
	if len(f.out.Ends) > 0 && !f.begins {
		f.out.Would += ", up to the end that was fixed at its first start"
	}
	extents, err := f.extents(ctx, from.Partitions)
	if err != nil {
		return f.out, err
	}
	for _, p := range from.Partitions {
		if lost := f.lost(p, extents[place{p.Source, p.ID}]); lost != nil {
			f.out.Lost = append(f.out.Lost, lost)
			continue
		}
		f.out.Next = append(f.out.Next, f.Spec.positions([]checkpoint.Partition{p})...)
	}
	return f.out, nil
}
