//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// twoRecords is how much a run with two clusters is fed.
const twoRecords = 40_000

// fromElsewhere is the example with its source on a cluster of its own.
func fromElsewhere(t *testing.T) string {
	return replaced(t, "orders", "watermark 5s", "watermark 5s\n  brokers   env(\""+inputBrokers+"\")")
}

// TestTwoClusters kills a program at every crash point whose source is on another cluster than its sinks. No source is where the transactions
// are, so the marker stands at the sink; and the two versions of transactions meet in one program.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	p := newPipelineFrom(t, "orders", fromElsewhere(t), brokers.Broker(t, 1), brokers.Broker(t, 2))
	r := newRun(t, p, failpoints, 3, makeLoad(p.graph, seed(t), twoRecords))
	r.lives(t, everyPoint(p.stateless(), 0, first))
	r.finish(t)

	sink := r.topics["user-totals"]
	if at := r.broker.GroupOffsets(t, r.group(), sink); at[0] < 1 || len(at) != 1 {
		t.Errorf("the marker stands at %v of topic %s, want it at partition 0, with the number of the checkpoint", at, sink)
	}
	doctor := program.Start(t, r.binary, program.Config{Args: []string{"doctor"}, Env: r.environment(r.state, 3, r.interval)})
	exits(t, doctor, 0, "source orders has a cluster of its own: id ", "it goes on from checkpoint", r.topics["orders"]+": nothing waits to be read")
	// Topics of the same names in another cluster are not those that the state has read.
	topic := r.topics["orders"]
	r.broker.CreateTopic(t, topic, inPartitions)
	exits(t, r.start(t, inputBrokers+"="+r.broker.Addr), 8, topic, "source orders", "is in another cluster", "--accept-loss")
}

// TestSourceClusterAway kills the broker of the source, while that of the sinks stays: readers of committed records wait for nothing, and when it is back
// the program goes on by itself. So does one that is killed meanwhile, and starts with the source away.
func TestSourceClusterAway(t *testing.T) {
	t.Parallel()
	input := kafkatest.Start(t, kafkatest.Options{})
	p := newPipelineFrom(t, "orders", fromElsewhere(t), input, brokers.Broker(t, 2))
	r := newRun(t, p, program.Mode{}, 2, makeLoad(p.graph, seed(t), caseRecords))
	next := r.feeder.shares(3)
	alive := r.start(t)
	says := func(text string, before int) {
		t.Helper()
		poll(t, alive, "to say "+text, func() bool { return strings.Count(alive.Log(), text) > before })
	}
	lost := `"cannot connect to Kafka; trying again until it answers","pipeline":"` + r.name + `","broker":"` + input.Addr + `"`
	for _, killed := range []bool{false, true} {
		next()
		r.awaitMore(t, alive, 50)
		r.feeder.pause()
		before := strings.Count(alive.Log(), lost)
		input.Kill(t)
		says(lost, before)
		r.broker.AwaitSettled(t, r.outputs()...)
		if killed {
			alive.Kill(t)
			alive = r.start(t)
			says("cannot reach Kafka at "+input.Addr, 0)
			r.broker.AwaitSettled(t, r.outputs()...)
		}
		input.Restart(t)
	}
	r.feeder.finish(t, r.pipeline, r.last)
	r.reread(t)
	r.end(t, alive)
}
