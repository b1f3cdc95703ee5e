package txn_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/txn"
)

var brokers kafkatest.Pool

func TestMain(m *testing.M) { os.Exit(brokers.Main(m)) }

// undecided is a pipeline of whose transaction nobody knows any more what became of it: it was aborted, or committed if so, its id was used since,
// and the group was deleted.
func undecided(t *testing.T, name string, version int, committed bool) *pipe {
	t.Helper()
	p := newPipe(t, brokers.Broker(t, version), fmt.Sprintf("%s-v%d-%d", name, version, time.Now().UnixNano()))
	p.open()
	p.prepare("a")
	p.commit()
	p.confirm()
	p.prepare("b")
	if committed {
		p.commit()
	}
	p.fence()
	p.DeleteGroup(t, "eo-"+p.cfg.Spec.Name)
	return p
}

// A person says what became of a transaction, after it was shown what that does, and the next start goes on from there.
func TestDecide(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("V%d", version), func(t *testing.T) {
			p := undecided(t, "commit", version, true)
			r := p.list()
			p.ask(failure.Transient, settings.TxnList, "", r.Conclusion, "next: "+r.Next, p.ids()[0], "checkpoint 2, not confirmed") // for people
			if r.Next != "txn commit, since the logs of the sinks say so" || !strings.Contains(r.Traces, "-out/0 has 1 of its records from offset ") || !strings.HasSuffix(r.Traces, "behind which it is committed") || r.Checkpoint.Number != 2 || r.Checkpoint.Confirmed || r.Marker != nil {
				t.Errorf("before: %+v", r)
			}
			p.ask(failure.State, settings.TxnAbort, "--yes", "the logs of the sinks say otherwise", "behind which it is committed; use txn commit")
			p.ask(failure.Usage, settings.TxnCommit, "", "what will be done: checkpoint 2 is confirmed", "give --yes")
			p.ask(failure.Usage, settings.TxnCommit, "n\n", "Do that? [y/N]", "nothing was done: the answer was no")
			p.ask(failure.Usage, settings.TxnCommit, "\n", "nothing was done")
			p.stands(2, false, -1)
			p.ask(failure.Transient, settings.TxnCommit, "y\n", "1 record\n", "done: the next start goes on from checkpoint 2")
			p.stands(2, true, 2)
			p.sees("a", "b")
			if r := p.list(); r.Next != "start the program" || r.Conclusion != "there is nothing to decide: checkpoint 2 is confirmed; at a start it goes on from checkpoint 2" {
				t.Errorf("after: %+v", r)
			}
			p.ask(failure.State, settings.TxnAbort, "--yes", "there is nothing to decide: checkpoint 2 is confirmed")

			p = undecided(t, "abort", version, false)
			p.ask(failure.State, settings.TxnCommit, "--yes", "the logs of the sinks say otherwise", "behind which it is aborted; use txn abort")
			p.stands(2, false, -1)
			p.ask(failure.Transient, settings.TxnAbort, "--yes", "what will be done: checkpoint 2 is dropped", "done: the next start goes on from checkpoint 1")
			p.stands(1, true, 1)
			p.sees("a")
			if r := p.list(); r.Conclusion != "there is nothing to decide: checkpoint 1 is confirmed; at a start it goes on from checkpoint 1" {
				t.Errorf("after: %+v", r)
			}
		})
	}
}

// What is known goes over what a person says, and nothing is changed then.
func TestDecisionsThatAreRefused(t *testing.T) {
	b := brokers.Broker(t, 2)
	p := newPipe(t, b, fmt.Sprintf("refused-%d", time.Now().UnixNano()))
	p.ask(failure.State, settings.TxnCommit, "--yes", "there is nothing to decide: checkpoint 0 is confirmed")
	p.open()
	p.prepare("a")
	p.commit()
	p.confirm()
	p.prepare("b")
	p.ask(failure.State, settings.TxnAbort, "--yes", "can be committed: there is nothing to decide")
	if r := p.list(); r.IDs[0].State != "Ongoing" || r.IDs[0].About != "the transaction of checkpoint 2, prepared: it can be committed" || len(r.IDs[0].Partitions) == 0 ||
		len(r.Held) != 2 || r.Held[0].Fate != "open" { // the sink's partition and the group's
		t.Errorf("prepared: %+v", r)
	}
	p.commit()
	p.ask(failure.State, settings.TxnAbort, "--yes", "cannot be taken for aborted: ")
	p.stands(2, false, 2)

	s, err := state.OpenBolt(p.cfg.Settings.StateDir, p.cfg.State)
	p.must(err)
	p.ask(failure.Fenced, settings.TxnCommit, "--yes", "is in use by process")
	p.must(s.Close())

	p.write(3, "c") // as a copy elsewhere does
	p.ask(failure.Fenced, settings.TxnCommit, "--yes", p.ids()[1]+" has a transaction open since", "stop the copy")
	p.holds(2, false)

	p.fence()
	p.ask(failure.Transient, settings.TxnCommit, "--yes", "the next start goes on from checkpoint 2") // as a start does
	p.stands(2, true, 2)
	p.sees("a", "b")
	p.cfg.Settings.StateDir = t.TempDir()
	p.ask(failure.State, settings.TxnCommit, "--yes", "there is no state in")
	if files, err := os.ReadDir(p.cfg.Settings.StateDir); err != nil || len(files) > 0 {
		t.Errorf("it has made %v (%v)", files, err)
	}
}

// What is said of the pipeline's own transactions takes their coordinators, and no answer of brokers that have nothing to do with them.
func TestListNeedsNoOtherBroker(t *testing.T) {
	p := newPipe(t, brokers.Broker(t, 2), fmt.Sprintf("alone-%d", time.Now().UnixNano()))
	p.open()
	p.prepare("a")
	proxy := faultproxy.Start(t, p.Addr)
	const listTransactions faultproxy.Key = 66 // all brokers have to answer it
	proxy.Arm(faultproxy.Fault{Key: listTransactions, Do: faultproxy.Drop, Count: -1})
	p.cfg.Settings.Brokers = []string{proxy.Addr()}
	for _, open := range []bool{true, false} {
		if !open {
			p.commit()
			p.stands(1, false, 1)
			p.AwaitSettled(t, p.cfg.Spec.Name+"-out")
		}
		if r := p.list(); (len(r.Held) == 2) != open || open && (r.Held[0].Fate != "open" || r.Held[0].TransactionalID != p.ids()[1]) {
			t.Errorf("open %t: %+v", open, r)
		}
	}
}

// What a start would do is told as EndTxn would answer it: a transaction that is committed is, though the group was deleted since.
func TestForeseenCommit(t *testing.T) {
	p := newPipe(t, brokers.Broker(t, 2), fmt.Sprintf("foreseen-%d", time.Now().UnixNano()))
	p.open()
	p.prepare("a")
	p.commit()
	p.confirm()
	p.prepare("b")
	p.sink.Close() // it would use the id once more
	if ended, err := p.cluster.EndTxn(t.Context(), p.newest.Committable); err != nil || ended != engine.CommittedNow {
		t.Fatalf("EndTxn: %v, %v", ended, err)
	}
	p.stands(2, false, 2)
	p.DeleteGroup(t, "eo-"+p.cfg.Spec.Name)
	r := p.list()
	i := slices.IndexFunc(r.IDs, func(x txn.ID) bool { return x.ID == p.newest.Committable.TransactionalID })
	if r.IDs[i].About != "the transaction of checkpoint 2, committed" || r.Marker != nil || r.Next != "start the program" || r.Conclusion != "a start decides it by itself: it goes on from checkpoint 2" {
		t.Errorf("%+v", r)
	}
}
