package txn

import (
	"errors"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
)

// What is known of a transaction that holds readers back, from each of those who may know, and what is said to do where nobody does.
func TestJudge(t *testing.T) {
	const v1 = 3 // epoch of the transaction; a coordinator under transactions V1 stands there
	state := func(confirmed bool) checkpoint.Setup {
		return checkpoint.Setup{Confirmed: confirmed, Newest: &checkpoint.Checkpoint{Number: 7, Committed: []checkpoint.Span{{Producer: 40, First: 1, Last: 1}},
			Committable: checkpoint.Committable{TransactionalID: "p-1", ProducerID: 41, Epoch: v1, Checkpoint: 7, Records: 9}}}
	}
	marker := func(c checkpoint.Committable) *checkpoint.Marker {
		m := c.Marker("p")
		return &m
	}
	newest := state(true).Newest.Committable
	at := func(state string) *engine.Owner {
		return &engine.Owner{ID: "p-1", TxnState: engine.TxnState{State: state, ProducerID: 41, Epoch: v1}}
	}
	logs := func(said ...checkpoint.Decision) (out []kafka.Trace) {
		for _, d := range said {
			out = append(out, kafka.Trace{Topic: "out", Records: 1, Fate: d})
		}
		return out
	}
	unreadable := errors.New("not readable")
	for _, c := range []struct {
		name     string
		sight    sight
		producer int64 // 41: the newest transaction's, 40: of those before
		owner    *engine.Owner
		fate     fate
		why      string
		help     string // if unknown: what to do begins so
		not      string
	}{
		{name: "being ended", producer: 41, owner: at("PrepareCommit"), fate: open, why: "PrepareCommit"},
		{name: "unconfirmed, the id is used since", sight: sight{setup: state(false), unread: unreadable}, producer: 41, owner: at("Empty"), fate: unknown, why: "neither", help: "do not abort the transaction of checkpoint 7 yet", not: "txn commit"},
		{name: "unconfirmed, not in the group either", sight: sight{setup: state(false)}, producer: 41, owner: at("Empty"), fate: unknown, why: "neither", help: "do not abort", not: "kafka-transactions.sh"},
		{name: "the logs say committed", sight: sight{setup: state(false), unread: unreadable, traces: logs(checkpoint.ItIsCommitted, checkpoint.NoDecision)}, producer: 41, owner: at("Empty"), fate: committed, why: "the logs"},
		{name: "the logs say aborted", sight: sight{setup: state(false), unread: unreadable, traces: logs(checkpoint.ItIsAborted)}, producer: 41, fate: aborted, why: "the logs"},
		{name: "the logs say both", sight: sight{setup: state(false), unread: unreadable, traces: logs(checkpoint.ItIsAborted, checkpoint.ItIsCommitted)}, producer: 41, fate: unknown, why: "neither", help: "do not abort"},
		{name: "the logs are of another transaction", sight: sight{setup: state(false), unread: unreadable, traces: logs(checkpoint.ItIsCommitted)}, producer: 42, fate: unknown, why: "neither", help: "look whether their records are wanted"},
		{name: "the coordinator and the logs differ", sight: sight{setup: state(false), traces: logs(checkpoint.ItIsCommitted)}, producer: 41, owner: at("CompleteAbort"), fate: unknown, why: "its coordinator and the logs", help: "do not abort"},
		{name: "confirmed", sight: sight{setup: state(true)}, producer: 41, owner: at("Empty"), fate: committed, why: "the state"},
		{name: "confirmed, the coordinator says aborted", sight: sight{setup: state(true)}, producer: 41, owner: at("CompleteAbort"), fate: unknown, why: "its coordinator and the state", help: "look whether"},
		{name: "behind what is committed", sight: sight{setup: state(true), marker: marker(newest)}, producer: 40, fate: aborted, why: inferred},
		{name: "behind what is committed, and a copy may have gone on", sight: sight{setup: state(true)}, producer: 40, fate: unknown, why: "neither", help: "look whether"},
		// As a start leaves the transaction in which it writes the marker of its checkpoint again.
		{name: "behind what is committed, but its coordinator says so", sight: sight{setup: state(true), marker: marker(newest)}, producer: 40,
			owner: &engine.Owner{ID: "p-0", TxnState: engine.TxnState{State: "CompleteCommit", ProducerID: 40, Epoch: v1}}, fate: committed, why: "its coordinator says so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.sight.cluster = &kafka.Cluster{}
			h := engine.Hold{Topic: kafka.GroupsTopic, Producer: c.producer, Epoch: v1, Owner: c.owner}
			fate, why := c.sight.judge(h)
			if fate != c.fate || !strings.Contains(why, c.why) {
				t.Errorf("it is %s since %q, want %s since %q", fate, why, c.fate, c.why)
			}
			if c.fate != unknown {
				return
			}
			help := c.sight.unknownHelp([]held{{Hold: h, fate: fate}})
			if !strings.HasPrefix(help, c.help) || c.not != "" && strings.Contains(help, c.not) {
				t.Errorf("what to do is %q, want %q and not %q", help, c.help, c.not)
			}
		})
	}
}

// What is said of a checkpoint that needs nobody's word: a start decides only what is not confirmed.
func TestNothingToDecide(t *testing.T) {
	for _, c := range []struct {
		confirmed, ended bool
		conclusion, next string
	}{
		{false, false, "a start decides it by itself: it goes on from checkpoint 7", "start the program"},
		{true, false, "there is nothing to decide: checkpoint 7 is confirmed; at a start it goes on from checkpoint 7", "start the program"},
		{true, true, "there is nothing to decide: checkpoint 7 is confirmed, and the bounded run has finished", ""},
	} {
		s := sight{setup: checkpoint.Setup{Confirmed: c.confirmed, Newest: &checkpoint.Checkpoint{Number: 7, Ended: c.ended}}}
		if conclusion, next := s.idle(engine.Outlook{Would: "it goes on from checkpoint 7"}); conclusion != c.conclusion || next != c.next {
			t.Errorf("confirmed %t, ended %t: %q, next %q", c.confirmed, c.ended, conclusion, next)
		}
	}
}
