//go:build unix

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/faultproxy"
)

// requests are those of a running program, of both versions of transactions, by their number in Kafka's protocol:
// https://kafka.apache.org/protocol#protocol_api_keys. Produce, Fetch, ListOffsets, Metadata, InitProducerId, EndTxn, TxnOffsetCommit.
var requests = []faultproxy.Key{0, 1, 2, 3, 22, 26, 28}

// Those of them that a program makes seldom, since they are for what changes seldom.
const (
	listOffsets faultproxy.Key = 2
	metadata    faultproxy.Key = 3
)

// requestsV1 are those that only version 1 of transactions has: AddPartitionsToTxn, AddOffsetsToTxn.
var requestsV1 = []faultproxy.Key{24, 25}

// requestsOfStart are those of a start that finds a prepared transaction: OffsetFetch, FindCoordinator, ApiVersions, InitProducerId, EndTxn.
var requestsOfStart = []faultproxy.Key{9, 10, 18, 22, 26}

// TestConnectionsBreak breaks a connection at every kind of request: before the broker gets it, and so that its answer is lost. The
// program goes on by itself, and what it cannot know it finds out.
func TestConnectionsBreak(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("V", version), func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, version))
			proxy := faultproxy.Start(t, p.broker.Addr)
			r := newRun(t, p, failpoints, 3, makeLoad(p.graph, seed(t), caseRecords))
			kinds := requests
			if version == 1 {
				kinds = append(requestsV1, kinds...)
			}
			proxied := "EO_BROKERS=" + proxy.Addr()
			next := r.feeder.shares(2*len(kinds) + 2*len(requestsOfStart) + 1)
			alive := r.start(t, proxied)
			for _, deed := range []faultproxy.Deed{faultproxy.Cut, faultproxy.Lose} {
				for _, kind := range kinds {
					next()
					r.awaitMore(t, alive, 5)
					awaitFault(t, alive, proxy.Arm(faultproxy.Fault{Key: kind, Do: deed}))
				}
			}
			alive.Kill(t)
			for _, deed := range []faultproxy.Deed{faultproxy.Cut, faultproxy.Lose} {
				for i, kind := range requestsOfStart {
					next()
					r.dieAt(t, i, death{point: "after-store", pass: 1})
					fault := proxy.Arm(faultproxy.Fault{Key: kind, Do: deed})
					alive = r.start(t, proxied)
					awaitFault(t, alive, fault)
					r.awaitMore(t, alive, 5)
					alive.Kill(t)
				}
			}
			r.finish(t)
		})
	}
}

// awaitFault waits until a program has met a fault.
func awaitFault(t testing.TB, alive *program.Process, f *faultproxy.Armed) {
	t.Helper()
	select {
	case <-f.Done:
	case <-alive.Done():
		t.Fatalf("before a fault at a %v the program ended: %v; the end of its log:\n%s", f, alive.Exit(), alive.Tail(20))
	case <-time.After(dieLimit):
		t.Fatalf("no %v within %v; the end of the program's log:\n%s", f, dieLimit, alive.Tail(20))
	}
}
