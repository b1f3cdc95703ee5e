//go:build unix

package e2e

import (
	"strings"
	"testing"
)

// TestIDTakenByNobody takes a transactional id of a running program, as the request of a killed process does that a coordinator carries out late, when its
// successor is at work. No other copy has started, so it goes on.
func TestIDTakenByNobody(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	p := r.halfDone(t, debug)
	again := func() bool {
		return strings.Contains(p.Log(), "no other copy of it has started: the ids are taken again")
	}
	for share := r.feeder.left() / 10; !again(); {
		r.broker.Fence(t, r.pipeline.transactionalIDs()[1])
		r.feeder.phase(share)
		enough := checkpoints(p) + 2 // it has come when the program took the id itself, and is forgotten
		poll(t, p, "to take the ids again", func() bool { return again() || checkpoints(p) >= enough })
	}
	r.complete(t, p)
}
