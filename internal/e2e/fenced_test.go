//go:build unix

package e2e

import (
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/faultproxy"
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

// TestPausedBetweenTheSteps pauses a program between the two requests with which it takes an id again, when the transaction of its other id is committed, and
// lets a copy of its state take over. When it wakes up it takes the id from the copy, and must see that it has lost the pipeline all the same.
func TestPausedBetweenTheSteps(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		t.Run("V"+strconv.Itoa(version), func(t *testing.T) {
			t.Parallel()
			orders := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, version))
			r := newRun(t, orders, failpoints, 1, makeLoad(orders.graph, seed(t), caseRecords))
			proxy := faultproxy.Start(t, r.broker.Addr)
			p := r.halfDone(t, debug, "EO_BROKERS="+proxy.Addr())

			var ended, renewed atomic.Value // transactional ids
			proxy.Arm(faultproxy.Fault{Key: faultproxy.EndTxn, Count: -1, Do: faultproxy.Pass, When: func(q *faultproxy.Request) bool {
				ended.Store(faultproxy.TransactionalID(q))
				return true
			}})
			second := proxy.Arm(faultproxy.Fault{Key: faultproxy.InitProducerID, Do: faultproxy.Hold, When: func(q *faultproxy.Request) bool {
				second := faultproxy.TakesFromAny(q)
				if second {
					renewed.Store(faultproxy.TransactionalID(q))
				}
				return second
			}})
			r.feeder.phase(r.feeder.left() / 3)
			second.Await(t)
			poll(t, p, "to commit the transaction of its other id", func() bool {
				id := renewed.Load().(string)
				last, some := ended.Load().(string)
				return some && last != id && !strings.HasSuffix(id, "-"+strconv.Itoa(lastComplete(t, p)%2))
			})

			before := r.state
			next := r.beside(t, p)
			awaitCheckpoints(t, next, 2) // both ids are its own
			if _, err := second.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.Signal(t, syscall.SIGCONT)
			r.complete(t, r.succeeds(t, p, next, before, true))
		})
	}
}

var complete = regexp.MustCompile(`"checkpoint is complete".*?"checkpoint":(\d+)`)

// lastComplete is the number of the last checkpoint that a program has completed.
func lastComplete(t testing.TB, p *program.Process) int {
	t.Helper()
	all := complete.FindAllStringSubmatch(p.Log(), -1)
	if all == nil {
		return 0
	}
	n, err := strconv.Atoi(all[len(all)-1][1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
