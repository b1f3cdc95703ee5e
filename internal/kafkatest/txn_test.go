package kafkatest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Each state of Kafka's is one with a transaction or without.
func TestHasNone(t *testing.T) {
	for _, c := range []struct {
		state string
		err   error
		want  bool
	}{
		{"Empty", nil, true}, {"CompleteCommit", nil, true}, {"CompleteAbort", nil, true}, {"Dead", nil, true},
		{"Ongoing", nil, false}, {"PrepareCommit", nil, false}, {"PrepareAbort", nil, false}, {"PrepareEpochFence", nil, false},
		{"", kerr.TransactionalIDNotFound, true}, // it has expired between the list and its description
		{"", kerr.NotCoordinator, false}, {"", kerr.CoordinatorLoadInProgress, false},
	} {
		if got := hasNone(kadm.DescribedTransaction{State: c.state, Err: c.err}); got != c.want {
			t.Errorf("state %q, error %v: %v, want %v", c.state, c.err, got, c.want)
		}
	}
}
