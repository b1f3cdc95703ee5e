package txn

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// decide settles the newest checkpoint as a person says, with the state locked from the look to the end.
func decide(ctx context.Context, cfg Config) (err error) {
	if cfg.Spec.Memory {
		return failure.New(failure.State, "what it has left open is aborted by its next start", nil, "there is nothing to decide: the state is kept in memory")
	}
	said := checkpoint.ItIsCommitted
	if cfg.Settings.Action == settings.TxnAbort {
		said = checkpoint.ItIsAborted
	}
	view, err := state.Look(cfg.Settings.StateDir) // to open it would make one
	if err != nil {
		return err
	}
	if view == nil {
		return state.None(cfg.Settings.StateDir)
	}
	store, err := state.OpenBolt(cfg.Settings.StateDir, cfg.State)
	if err != nil {
		return err
	}
	defer func() {
		if e := store.Close(); err == nil {
			err = e
		}
	}()
	cluster, err := cfg.open(ctx, 0)
	if err != nil {
		return err
	}
	defer cluster.Close()
	s, err := see(ctx, &cfg, cluster)
	if err != nil {
		return err
	}
	if err := s.alone(); err != nil {
		return err
	}
	out, err := s.foresee(ctx, said)
	if err == nil {
		err = out.Refused
	}
	if err == nil {
		err = s.trace(ctx)
	}
	if err == nil {
		err = s.contradicted(said)
	}
	if err != nil {
		return err
	}
	if err := s.showPlan(said, out); err != nil {
		return err
	}
	if err := cfg.confirm(); err != nil {
		return err
	}
	e := cfg.engine()
	e.Options.Decision, e.Store = said, store
	failed := e.Decide(ctx)
	newest, _, confirmed, err := store.Load()
	switch {
	case err != nil:
		return cmp.Or(failed, err)
	case failed != nil && !confirmed:
		return failed
	case failed != nil: // the state has it, so it holds
		return fmt.Errorf("the decision is stored, the next start goes on from checkpoint %d; but %w", newest.Number, failed)
	}
	return cfg.print("done: the next start goes on from checkpoint %d", newest.Number)
}

// alone refuses to decide while somebody else may be using the ids. Who holds the directory is known by its lock; a copy elsewhere shows by its
// open transaction.
func (s *sight) alone() error {
	n := s.setup.Newest
	for _, id := range s.ids {
		t := s.known[id]
		if t.State != "Ongoing" || n != nil && t.Producer == n.Committable.ProducerID && t.Epoch == n.Committable.Epoch {
			continue
		}
		left := max(0, time.Until(t.Since.Add(t.Timeout))).Round(time.Second)
		return failure.New(failure.Fenced, "stop the copy of the pipeline that runs elsewhere; if none does, a start ends the transaction, and the broker does in "+left.String(), nil,
			"transactional id %s has a transaction open since %s that this state does not know (producer id %d, epoch %d)", id, t.Since.UTC().Format(time.RFC3339), t.Producer, t.Epoch)
	}
	return nil
}

// logs is what the logs of the sinks say of the transaction.
func (s *sight) logs() string {
	switch {
	case s.traced:
		return s.tracesText()
	case len(s.blind) > 0:
		return "the logs of the sinks cannot be read: " + s.blind[len(s.blind)-1].Error()
	}
	return "it is open as it was prepared"
}

// showPlan says what is known and what will be done.
func (s *sight) showPlan(said checkpoint.Decision, out engine.Outlook) error {
	n, c := s.setup.Newest, s.setup.Newest.Committable
	marker := "there is no marker in consumer group " + s.setup.Group
	if s.marker != nil {
		marker = "the marker in consumer group " + s.setup.Group + " is " + s.marker.String()
	}
	t := s.known[c.TransactionalID]
	coordinator := "the cluster does not know its transactional id any more"
	if t.State != "" {
		coordinator = "its transactional id stands at " + t.State
	}
	if err := s.print("checkpoint %d of pipeline %s is stored and not confirmed\nits transaction: %s, producer id %d, epoch %d, %s\nwhat is known: %s; %s; %s",
		n.Number, s.Spec.Name, c.TransactionalID, c.ProducerID, c.Epoch, words.Many(c.Records, "record"), marker, coordinator, s.logs()); err != nil {
		return err
	}
	will := "checkpoint %d is confirmed: the records of its transaction are taken for committed, and the next start goes on behind them"
	if said == checkpoint.ItIsAborted {
		will = "checkpoint %d is dropped: the records of its transaction are taken for lost, and the next start makes them again from the checkpoint before"
	}
	if err := s.print("what will be done: "+will, n.Number); err != nil {
		return err
	}
	return s.print("if that is not so, records are lost or doubled; no copy of the pipeline may run meanwhile")
}
