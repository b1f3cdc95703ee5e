//go:build unix

package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// TestManyStarts kills the program fifty times before its first checkpoint. Each start asks the transaction coordinator for each id
// twice, to fence it and to write with it, the last start no more often than the second, and the coordinator has no more transactional ids to keep.
func TestManyStarts(t *testing.T) {
	t.Parallel()
	const starts, perID = 50, 2
	p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, 2))
	proxy := faultproxy.Start(t, p.broker.Addr)
	// Each id is fenced over the program's own connection and opened over one of its producer's. On either it is asked for again while the
	// coordinator aborts what the life before has left, how often depends on the machine.
	type ask struct {
		id   string
		conn int
	}
	var mu sync.Mutex
	asked := map[ask]bool{} // by one start
	proxy.Arm(faultproxy.Fault{Key: initProducerID, Count: -1, When: func(q *faultproxy.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		asked[ask{q.TransactionalID(), q.Conn}] = true
		return true
	}})
	r := newRun(t, p, failpoints, 1, makeLoad(p.graph, seed(t), caseRecords))
	r.feeder.phase(r.feeder.left() / 2)
	for i := range starts {
		alive := r.start(t, "EO_BROKERS="+proxy.Addr(), "EO_FAILPOINT=before-store:1")
		if exit := alive.Wait(t, dieLimit, fmt.Sprintf("start %d, to die before its first checkpoint", i)); !exit.Killed() {
			t.Fatalf("start %d: %v; the end of its log:\n%s", i, exit, alive.Tail(20))
		}
		proxy.AwaitAlone(t) // what it has asked counts for no other
		mu.Lock()
		times := map[string]int{}
		for a := range asked {
			times[a.id]++
		}
		clear(asked)
		mu.Unlock()
		if i == 0 { // checkpoint 0 was marked with the first, which may have been opened again by now
			times[r.transactionalIDs()[0]] = min(perID, times[r.transactionalIDs()[0]])
		}
		for _, id := range r.transactionalIDs() {
			if times[id] != perID || len(times) != len(r.transactionalIDs()) {
				t.Errorf("start %d asked for transactional ids as often: %v, want %v, each %d times", i, times, r.transactionalIDs(), perID)
			}
		}
	}
	if kept := p.broker.TransactionalIDs(t, p.name+"-"); len(kept) != len(r.transactionalIDs()) {
		t.Errorf("the coordinator keeps %q", kept)
	}
	r.finish(t)
}

// TestIDsExpire lets the coordinator forget the transactional ids, as it does with those that are not used for a week: while the program is
// at rest, behind a commit that it does not know of, and behind an abort. Each time it goes on. EO_MATRIX=1 does so with V1 too.
func TestIDsExpire(t *testing.T) {
	t.Parallel()
	versions := []int{2}
	if os.Getenv("EO_MATRIX") == "1" {
		versions = []int{1, 2}
	}
	for _, version := range versions {
		t.Run(fmt.Sprint("V", version), func(t *testing.T) {
			t.Parallel()
			idsExpire(t, version)
		})
	}
}

func idsExpire(t *testing.T, version int) {
	broker := kafkatest.Start(t, kafkatest.Options{TransactionVersion: version, Settings: map[string]string{
		"transactional.id.expiration.ms": "3000", "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
	}})
	p := newPipeline(t, "orders", patient(example(t, "orders")), broker)
	r := newRun(t, p, failpoints, 3, makeLoad(p.graph, seed(t), caseRecords))
	next := r.feeder.shares(4)
	kept := func() string { return strings.Join(broker.TransactionalIDs(t, p.name+"-"), "\n") }
	for i, d := range []death{{point: "after-end-txn", pass: 2}, {point: "after-store", pass: 2, abort: true}} {
		next()
		r.dieAt(t, i, d)
		if d.abort { // a transaction that is open is not forgotten
			r.abort(t)
		}
		r.feeder.pause()
		await(t, "the coordinator to forget the ids", func() (string, bool) {
			now := kept()
			return now, now == ""
		})
	}
	alive := r.halfDone(t, debug)
	r.feeder.pause()
	poll(t, alive, "the coordinator to forget the ids", func() bool { return kept() == "" })
	r.complete(t, alive)
	if !strings.Contains(alive.Log(), "transactional.id.expiration.ms") {
		t.Errorf("the program does not say why it has started again; the end of its log:\n%s", alive.Tail(20))
	}
}

// await looks until something has happened, whether a program runs or not. now is what a look has found.
func await(t testing.TB, what string, look func() (now string, done bool)) {
	t.Helper()
	const pause = 50 * time.Millisecond
	for tick, end := time.NewTicker(pause), time.Now().Add(dieLimit); ; <-tick.C {
		now, done := look()
		if done {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s; the last look found:\n%s", dieLimit, what, now)
		}
	}
}

// TestNothingButMarkers runs a program whose input is filtered out: its transactions hold nothing but markers. It dies behind each step
// of their commit, and goes on.
func TestNothingButMarkers(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("V", version), func(t *testing.T) {
			t.Parallel()
			text := replaced(t, "orders", "amount > 0", "amount > 9999999999.99")
			text = strings.Replace(text, `dlq("orders.dlq")`, "skip", 1)
			p := newPipeline(t, "orders", patient(text), brokers.Broker(t, version))
			r := newRun(t, p, program.Mode{Failpoints: true}, 1, makeLoad(p.graph, seed(t), caseRecords))
			if n := total(r.wanted()); n != 0 {
				t.Fatalf("%d records are not filtered out", n)
			}
			r.lives(t, []death{
				{point: "after-store", pass: 2}, {point: "after-end-txn-sent", pass: 2}, {point: "after-end-txn", pass: 2},
				{point: "after-store", pass: 2}, {point: "startup-before-drop", pass: 1, abort: true},
			})
			alive := r.start(t)
			r.feeder.finish(t, r.pipeline, r.last)
			r.end(t, alive)
		})
	}
}
