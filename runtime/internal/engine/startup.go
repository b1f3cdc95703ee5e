package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// startup drives checkpoint.Startup: it does what the machine says, and returns the checkpoint to run from
// with the sink opened.
type startup struct {
	*Engine
	clusters  Clusters
	inputs    []input // by source
	anchorage anchorage
	own       Owned // producers whose transactions are the pipeline's
	away      error // why a source's cluster cannot be asked; nil: all can
	sink      Sink
}

// settle finishes what was left in the sinks' cluster when a source's cluster is away: what is prepared is committed, and what is open does
// not hold its readers back until the source is there again. Once is enough, and a copy that runs elsewhere is not fenced again and again.
func (e *Engine) settle(ctx context.Context, reached Clusters, away error) error {
	if e.Spec.Connections() == 1 || len(reached) == 0 || failure.KindOf(away) != failure.Transient || e.settled {
		return away
	}
	s := &startup{Engine: e, clusters: reached, away: away}
	_, err := s.run(ctx, nil)
	e.settled = err == away
	return err
}

// Group is the consumer group that takes the markers of a new state; one that is stored keeps its own.
func (e *Engine) Group() string { return "eo-" + e.Spec.Name }

// IDs are the transactional ids of a pipeline: two, used in turn. Without an exactly-once sink there are none.
func (e *Engine) IDs() []string {
	if !e.exactly() {
		return nil
	}
	return []string{e.Spec.TxnPrefix + "-0", e.Spec.TxnPrefix + "-1"}
}

// exactly says whether any sink is exactly-once.
func (e *Engine) exactly() bool {
	for _, s := range e.Spec.Sinks {
		if s.Deliver == ExactlyOnce {
			return true
		}
	}
	return false
}

func (s *startup) run(ctx context.Context, w *writer) (*checkpoint.Checkpoint, error) {
	id, err := s.clusters.job().ID(ctx)
	if err != nil {
		return nil, err
	}
	newest, before, confirmed, err := s.Store.Load()
	if err != nil {
		return nil, err
	}
	set := checkpoint.Setup{
		Pipeline: s.Spec.Name, Group: s.Group(), ClusterID: id, IDs: s.IDs(),
		Newest: newest, Before: before, Confirmed: confirmed, Fresh: s.fresh, AcceptLoss: s.acceptLoss, Decision: s.Options.Decision,
	}
	s.own = Own(set)
	if _, err := rand.Read(set.Incarnation[:]); err != nil {
		return nil, err
	}
	if s.fresh && newest != nil {
		s.Options.Log.Warn("--fresh forgets the state that there is: its results stay in the topics, and all of them are made once more beside them",
			"checkpoint", newest.Number, "incarnation", newest.Incarnation.String())
	}
	machine := checkpoint.NewStartup(set)
	for {
		switch step := machine.Next().(type) {
		case checkpoint.Run:
			if s.away != nil {
				return step.From, s.away
			}
			return step.From, s.account(ctx, step.From)
		case checkpoint.Refuse:
			return nil, s.because(newest, step.Err)
		default:
			answer, err := s.do(ctx, step, w)
			if err != nil {
				return nil, err
			}
			machine.Handle(answer)
		}
	}
}

// because looks for a plainer reason why it is not known what became of a transaction: with a topic that was deleted, the
// broker deletes its markers too, a while later.
func (s *startup) because(newest *checkpoint.Checkpoint, err error) error {
	if failure.KindOf(err) != failure.Unknown || newest == nil || s.away != nil {
		return err
	}
	for _, p := range newest.Partitions {
		if gone := sameTopic(p, s.input(p)); gone != nil {
			return gone
		}
	}
	if at := newest.Anchor; at != nil && at.Topic == s.anchorage.sink.Topic && at.TopicID != s.anchorage.sink.TopicID {
		return fmt.Errorf("the marker stood at topic %s, which was deleted and made again, and its marker with it: its id is %s, it was %s: %w",
			at.Topic, s.anchorage.sink.TopicID, at.TopicID, err)
	}
	return err
}

// input is the topic of a partition's source as it is now.
func (s *startup) input(p checkpoint.Partition) input {
	if i := s.Spec.source(p.Source); i >= 0 {
		return s.inputs[i]
	}
	return input{}
}

// do carries out one step. The crash points around it are those of a start.
func (s *startup) do(ctx context.Context, step checkpoint.Step, w *writer) (checkpoint.Answer, error) {
	switch step := step.(type) {
	case checkpoint.Glance:
		m, err := s.clusters.job().LastMarker(ctx, step.Group)
		return checkpoint.MarkerIs{Marker: m}, err
	case checkpoint.ReadMarker:
		failpoint.Hit(failpoint.StartupBeforeMarkerRead)
		m, err := s.clusters.job().Marker(ctx, step.Group)
		return checkpoint.MarkerIs{Marker: m}, err
	case checkpoint.Fence:
		failpoint.Hit(failpoint.StartupBeforeFence)
		err := s.clusters.job().Fence(ctx, step.ID, s.Spec.TxnTimeout)
		failpoint.Hit(failpoint.StartupAfterFence)
		return checkpoint.Done{}, err
	case checkpoint.EndTxn:
		failpoint.Hit(failpoint.StartupBeforeEndTxn)
		outcome, err := s.clusters.job().EndTxn(ctx, step.Committable)
		failpoint.Hit(failpoint.StartupAfterEndTxn)
		return checkpoint.Ended{Outcome: outcome}, err
	case checkpoint.Describe:
		state, err := s.clusters.job().Describe(ctx, step.ID)
		return checkpoint.Described{State: state}, err
	case checkpoint.Confirm:
		failpoint.Hit(failpoint.StartupBeforeConfirm)
		_, err := bounded(ctx, func() error { return s.Store.Confirm(step.Number) })
		failpoint.Hit(failpoint.StartupAfterConfirm)
		return checkpoint.Done{}, err
	case checkpoint.Drop:
		failpoint.Hit(failpoint.StartupBeforeDrop)
		_, err := bounded(ctx, func() error { return s.Store.Drop(step.Number) })
		failpoint.Hit(failpoint.StartupAfterDrop)
		return checkpoint.Done{}, err
	case checkpoint.ResolveStart:
		if s.away != nil {
			return nil, s.away
		}
		parts, err := firstPositions(ctx, s.clusters, s.Spec, s.inputs, s.Options.Until)
		return checkpoint.StartIs{Partitions: parts}, err
	case checkpoint.Save:
		// What an old state proves of transactions that nobody sees goes with it.
		if err := s.visible(ctx, visibleLimit); err != nil {
			return nil, err
		}
		step.Checkpoint.Anchor = s.anchorage.kept(step.Checkpoint.Partitions)
		if err := s.account(ctx, step.Checkpoint); err != nil {
			return nil, err
		}
		_, err := bounded(ctx, func() error { return s.Store.Save(step.Checkpoint) })
		failpoint.Hit(failpoint.StartupAfterCheckpoint0)
		s.fresh = s.fresh && err != nil // the new incarnation has begun
		return checkpoint.Done{}, err
	case checkpoint.Adopt:
		_, err := bounded(ctx, func() error { return s.Store.Adopt(step.IDs) })
		return checkpoint.Done{}, err
	case checkpoint.OpenSink:
		if s.away != nil {
			return nil, s.away
		}
		// The ids are fenced, so none of their transactions is open. One that still holds readers back would be aborted together with
		// the next one of its producer, if that fails, though it is committed.
		if err := s.visible(ctx, visibleLimit); err != nil {
			return nil, err
		}
		sink, err := s.clusters.job().NewSink(s.sinkConfig(step, w))
		s.sink = sink
		return checkpoint.Done{}, err
	case checkpoint.Mark:
		return checkpoint.Done{}, s.mark(ctx, step.Checkpoint)
	}
	return nil, failure.New(failure.Internal, "", nil, "start-up knows no step %T", step)
}

func (s *startup) sinkConfig(step checkpoint.OpenSink, w *writer) SinkConfig {
	c := SinkConfig{
		Topics: s.Spec.Sinks, Group: step.Group, TxnTimeout: s.Spec.TxnTimeout, Recycle: w.recycle,
		Exactly: s.exactly(), Pipeline: s.Spec.Name, Incarnation: step.Incarnation,
		Happened: s.board.happened,
	}
	copy(c.IDs[:], step.IDs)
	return c
}

// mark commits the marker of a checkpoint in a transaction of its own.
func (s *startup) mark(ctx context.Context, c *checkpoint.Checkpoint) error {
	failpoint.Hit(failpoint.StartupBeforeMarker0)
	// A broker takes no position of a topic that was deleted, whatever stands under its name now: this is
	// where a start notices it, if the group has lost its marker with the topic.
	parts, err := s.available(ctx, c.Partitions)
	if err != nil {
		return err
	}
	if err := s.sink.Begin(ctx, c.Number); err != nil {
		return err
	}
	committable, _, err := s.sink.Prepare(ctx, c.Number, s.anchorage.at(c.Number, s.Spec.positions(parts)))
	if err != nil {
		return err
	}
	if err := s.sink.Commit(ctx, committable); err != nil {
		return err
	}
	failpoint.Hit(failpoint.StartupAfterMarker0)
	return nil
}

// account opens the account of a checkpoint's output, or goes on with it: partitions that it does not know begin where they end now. Those of
// checkpoint 0 are asked before anything is written, so that nothing is left out; and what an account does not know was never written to. Only of a state
// that has none it is not known what was written before.
func (s *startup) account(ctx context.Context, c *checkpoint.Checkpoint) error {
	since := int64(0)
	if c.Account == nil {
		since = c.Number
	}
	c.Account = c.Account.Run(s.Spec.Program, c.Number, c.Counts)
	names := s.Spec.Outputs()
	topics, err := s.clusters.job().Topics(ctx, names)
	if err != nil || len(names) == 0 {
		return err
	}
	outputs := slices.Clone(c.Account.Outputs)
	for _, name := range names {
		topic, there := topics[name]
		if !there { // the broker that answered has just come up: a moment ago it was there
			return failure.New(failure.Transient, "", nil, "the cluster does not show topic %s", name)
		}
		var unknown []int32
		for id := range topic.Partitions {
			if !c.Account.Knows(name, topic.ID, id) {
				unknown = append(unknown, id)
			}
		}
		if unknown == nil {
			continue
		}
		s.otherOutput(c.Account, name, topic)
		ends, err := s.clusters.job().Offsets(ctx, name, unknown, OffsetAt{Kind: End})
		if err != nil {
			return err
		}
		for _, id := range unknown {
			outputs = append(outputs, checkpoint.Output{
				Topic: name, TopicID: topic.ID, Partition: id, Since: since, From: ends[id], Tally: checkpoint.Tally{Next: ends[id]},
			})
		}
	}
	account := *c.Account
	account.Outputs = outputs
	c.Account = &account
	return nil
}

// positions is where the partitions of a checkpoint are read next.
func (s *Spec) positions(parts []checkpoint.Partition) []Position {
	var out []Position
	for _, p := range parts {
		if i := s.source(p.Source); i >= 0 {
			out = append(out, Position{Source: i, Topic: p.Topic, TopicID: p.TopicID, Partition: p.ID, Next: p.Next})
		}
	}
	return out
}
