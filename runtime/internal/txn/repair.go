package txn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// repair writes the end markers that a broker has lost, where it is known what the transaction was.
func repair(ctx context.Context, cfg Config) error {
	cluster, err := cfg.open(ctx, 0)
	if err != nil {
		return err
	}
	defer cluster.Close()
	s, err := see(ctx, &cfg, cluster)
	if err != nil {
		return err
	}
	lost := s.lost()
	if err := s.showLost(lost); err != nil {
		return err
	}
	certain := slices.DeleteFunc(slices.Clone(lost), func(h held) bool { return h.fate == unknown })
	if len(certain) == 0 {
		return s.nothingToRepair(lost)
	}
	if err := cfg.confirm(); err != nil {
		return err
	}
	infers := func(h held) bool { return h.why == inferred }
	if err := s.end(ctx, slices.DeleteFunc(slices.Clone(certain), infers)); err != nil {
		return err
	}
	// What the state infers holds as long as nobody goes on behind it.
	if rest := slices.DeleteFunc(slices.Clone(certain), func(h held) bool { return !infers(h) }); len(rest) > 0 {
		release, err := s.lock()
		if err != nil {
			return err
		}
		defer release()
		if err := s.end(ctx, rest); err != nil {
			return err
		}
	}
	if left := slices.DeleteFunc(lost, func(h held) bool { return h.fate != unknown }); len(left) > 0 {
		return failure.New(failure.Unknown, s.unknownHelp(left), nil, "what became of the transactions that hold %s back is not known any more, so nothing was done there", partitions(left))
	}
	return s.print("readers of committed records go on")
}

// end writes the end markers of transactions, and waits until that shows.
func (s *sight) end(ctx context.Context, all []held) error {
	for _, h := range all {
		still, err := s.holding(ctx, h)
		if err != nil {
			return err
		}
		if !still {
			if err := s.print("%s has ended in %s/%d meanwhile", who(h), h.Topic, h.Partition); err != nil {
				return err
			}
			continue
		}
		if err := s.cluster.EndHold(ctx, h.Hold, h.fate == committed); err != nil {
			return err
		}
		if err := s.print("wrote the end marker of %s in %s/%d: %s", who(h), h.Topic, h.Partition, h.fate); err != nil {
			return err
		}
	}
	return s.settled(ctx, all)
}

// showLost says what would be done.
func (s *sight) showLost(lost []held) error {
	for _, h := range lost {
		does := map[fate]string{
			committed: "the end marker that commits it is written",
			aborted:   "the end marker that aborts it is written",
			unknown:   "nothing is done, since it is not known whether it was committed",
		}[h.fate]
		offsets := ""
		if h.offsets > 0 {
			offsets = fmt.Sprintf(", %s %s held back", words.Many(h.offsets, "offset"), words.Does(h.offsets, "is", "are"))
		}
		if err := s.print("%s/%d from offset %d%s: by %v\n  %s (%s): %s", h.Topic, h.Partition, h.First, offsets, h.Hold, h.fate, h.why, does); err != nil {
			return err
		}
	}
	return nil
}

func (s *sight) nothingToRepair(lost []held) error {
	switch {
	case len(lost) > 0:
		return failure.New(failure.Unknown, s.unknownHelp(lost), nil,
			"what became of these transactions is not known any more, so nothing was done")
	case len(s.suspicion) > 0:
		return failure.New(failure.Cluster, "grant it, or have an administrator run this", s.blind[0], "nothing was done: %s, and the cluster does not tell by whom", s.suspicion[0])
	case s.unread != nil:
		return s.unread
	}
	for _, h := range s.held {
		if err := s.print("%s/%d from offset %d: by %v: %s", h.Topic, h.Partition, h.First, h.Hold, h.why); err != nil {
			return err
		}
	}
	return s.print("there is nothing to repair: no ended transaction of the pipeline holds readers back")
}

// lock takes the state directory, and sees to it that the state is the one that was looked at.
func (s *sight) lock() (release func(), err error) {
	b, err := state.OpenBolt(s.Settings.StateDir, s.State)
	if err != nil {
		return nil, err
	}
	newest, _, confirmed, err := b.Load()
	if err == nil && (newest == nil || newest.Number != s.setup.Newest.Number || confirmed != s.setup.Confirmed) {
		err = failure.New(failure.Fenced, "try again", nil, "the state has changed while it was looked at")
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return func() { _ = b.Close() }, nil // nothing was written
}

// settled waits until what was written shows.
func (s *sight) settled(ctx context.Context, ended []held) error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		var left []held
		for _, h := range ended {
			still, err := s.holding(ctx, h)
			if err != nil {
				return err
			}
			if still {
				left = append(left, h)
			}
		}
		switch {
		case len(left) == 0:
			return nil
		case time.Now().After(deadline):
			return failure.New(failure.Cluster, "look at the log of the partition's leader", nil, "the end marker was written, but %s still holds %s back", who(left[0]), partitions(left))
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// holding says whether a transaction still holds its partition back.
func (s *sight) holding(ctx context.Context, h held) (bool, error) {
	now, err := s.cluster.Holds(ctx, h.Topic, []int32{h.Partition}, s.ids...)
	return slices.ContainsFunc(now, h.Same), err
}

func who(h held) string { return fmt.Sprintf("producer id %d, epoch %d", h.Producer, h.Epoch) }
