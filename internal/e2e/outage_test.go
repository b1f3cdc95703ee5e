//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/build"
	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/planner"
)

// endTxn is the request that commits a transaction, initProducerID the one that takes a transactional id:
// https://kafka.apache.org/protocol#protocol_api_keys.
const (
	endTxn         faultproxy.Key = 26
	initProducerID faultproxy.Key = 22
)

// hasty is the program with a transaction timeout that the language refuses, since it leaves no time to start again, and short pauses
// between two starts.
func (p *pipeline) hasty(t testing.TB, timeout time.Duration) string {
	t.Helper()
	name, _, _ := strings.Cut(p.name, "-")
	checked, faults := dsl.Check(name+".eo", []byte(p.text))
	if checked == nil {
		t.Fatal(faults)
	}
	graph, faults := planner.Plan(checked)
	if graph == nil {
		t.Fatal(faults)
	}
	graph.Job.TxnTimeout, graph.Job.RestartMax = timeout, 2*time.Second
	files, err := codegen.Generate(graph, codegen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := build.Request{Program: map[string][]byte{}, Source: name + ".eo", Output: filepath.Join(t.TempDir(), name), Name: name, Version: "test"}
	for _, f := range files {
		r.Program[f.Name] = f.Data
	}
	binary, err := build.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// TestOutage cuts the program off when a transaction is prepared, for longer than the broker's patience: the timeout of 10 s, and up to 10 s
// until the broker looks. The transaction is aborted. The program goes back by one checkpoint and on from there, by itself.
func TestOutage(t *testing.T) {
	t.Parallel()
	versions := []int{2}
	if os.Getenv("EO_MATRIX") == "1" {
		versions = []int{1, 2}
	}
	for _, version := range versions {
		t.Run([]string{"", "V1", "V2"}[version], func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, version))
			proxy := faultproxy.Start(t, p.broker.Addr)
			r := newRun(t, p, program.Mode{}, 3, makeLoad(p.graph, seed(t), caseRecords))
			r.binary = p.hasty(t, 10*time.Second)
			alive := r.halfDone(t, "EO_BROKERS="+proxy.Addr())
			var away atomic.Bool
			outage := proxy.Arm(faultproxy.Fault{Key: faultproxy.Any, Count: -1, Do: faultproxy.Cut, When: func(q *faultproxy.Request) bool {
				return away.Load() || q.Key == endTxn && away.CompareAndSwap(false, true)
			}})
			poll(t, alive, "its transactions to be aborted", func() bool {
				ids := strings.Join(p.broker.TransactionalIDs(t, p.name+"-"), "\n")
				return away.Load() && strings.Contains(ids, "CompleteAbort") && !strings.Contains(ids, "Ongoing")
			})
			outage.Disarm()
			r.awaitMore(t, alive, 50)
			r.complete(t, alive)
			if starts := strings.Count(alive.Log(), `"msg":"running"`); starts < 2 {
				t.Errorf("the program has started %d times: it was not cut off", starts)
			}
		})
	}
}

// TestStopDuringCommit stops the program while a commit is on its way to the broker: the stop waits for it, makes a final checkpoint behind
// it, and leaves nothing out.
func TestStopDuringCommit(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 3)
	proxy := faultproxy.Start(t, r.broker.Addr)
	alive := r.halfDone(t, "EO_BROKERS="+proxy.Addr())
	held := proxy.Arm(faultproxy.Fault{Key: endTxn, Do: faultproxy.Hold})
	awaitFault(t, alive, held)
	alive.Signal(t, syscall.SIGTERM)
	poll(t, alive, "to say that it stops", func() bool { return strings.Contains(alive.Log(), "asked to stop") })
	if _, err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	exits(t, alive, 0, "stopped")
	r.finish(t)
}
