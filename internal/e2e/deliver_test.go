//go:build unix

package e2e

import (
	"fmt"
	"testing"

	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// TestDeliveries kills a program of whose sinks one is exactly_once and one at_least_once. The first does not suffer from its
// neighbour, which has every result too, but some of them again.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	text := replaced(t, "clicks", "key page", "key page\n  deliver at_least_once")
	p := newPipeline(t, "clicks", text, brokers.Broker(t, 2))
	r := newRun(t, p, failpoints, 3, makeLoad(p.graph, seed(t), caseRecords))
	r.lives(t, []death{
		{point: "before-store", pass: 3}, {point: "after-flush", pass: 2}, {pieces: 5}, {point: "after-end-txn", pass: 2}, {committed: 300},
	})
	alive := r.start(t)
	r.feeder.finish(t, r.pipeline, r.last)
	r.await(t, alive) // counts doubles of one of them, and so may end too early
	r.awaitInput(t, alive)
	r.stop(t, alive)
	r.broker.AwaitSettled(t, r.outputs()...)
	want := map[string]map[string]int{} // by sink
	for sink, outputs := range r.want.Sinks {
		want[sink] = map[string]int{}
		for _, o := range outputs {
			want[sink][fmt.Sprintf("%s %s", o.Key, o.Value)]++
		}
	}
	for sink, results := range want {
		again := 0
		got := tally(r.broker.ReadCommitted(t, r.topicOf(sink)))
		for text, n := range got {
			if results[text] == 0 {
				t.Errorf("%s: %s is no result", sink, text)
			}
			again += n - results[text]
		}
		for text, n := range results {
			if got[text] < n {
				t.Errorf("%s: %s is there %d times, want %d", sink, text, got[text], n)
			}
		}
		if sink == "views" && again != 0 {
			t.Errorf("%s: %d results are there again", sink, again)
		}
	}
}

// tally counts equal records. Their Kafka timestamps are left out: those ahead of the clock are the clock's.
func tally(records []kafkatest.Record) map[string]int {
	n := map[string]int{}
	for _, r := range records {
		n[fmt.Sprintf("%s %s", r.Key, r.Value)]++
	}
	return n
}
