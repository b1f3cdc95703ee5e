//go:build unix

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/reference"
)

// TestBrokerRestarts stops the broker in order, twice, while the program runs: it goes on by itself. It is stopped when no
// transaction is under way: Kafka 4.4 may forget the end of one in the partitions of a node that goes down alone, and nothing
// but an administrator's command brings that back (KAFKA-20734).
func TestBrokerRestarts(t *testing.T) {
	t.Parallel()
	broker := kafkatest.Start(t, kafkatest.Options{TransactionVersion: 2})
	p := newPipeline(t, "orders", patient(example(t, "orders")), broker)
	r := newRun(t, p, program.Mode{}, 3, makeLoad(p.graph, seed(t), caseRecords))
	next := r.feeder.shares(3)
	alive := r.start(t)
	for range 2 {
		next()
		r.awaitMore(t, alive, 50)
		r.feeder.pause()
		r.quiet(t)
		broker.Stop(t)
		broker.Restart(t)
	}
	r.feeder.finish(t, r.pipeline, r.last)
	r.reread(t)
	r.end(t, alive)
}

// TestMissingTopics names the topics that are missing, and makes them if told to.
func TestMissingTopics(t *testing.T) {
	t.Parallel()
	p := declare(t, "orders", patient(example(t, "orders")), brokers.Broker(t, 2))
	input := p.topics["orders"]
	p.broker.CreateTopic(t, input, inPartitions)
	r := newRun(t, p, program.Mode{}, 1, makeLoad(p.graph, seed(t), caseRecords))
	exits(t, r.start(t), 7, p.topics["user-totals"], "--create-topics", "; do kafka-topics.sh --bootstrap-server "+p.broker.Addr+" --create --topic $t; done")
	alive := r.start(t, "EO_CREATE_TOPICS=true")
	r.feeder.finish(t, r.pipeline, r.last)
	r.follow(t) // only now there is something to follow
	r.end(t, alive)
}

// TestTransactionTimeoutAboveMaximum says both numbers: the program's, and the broker's of 15 minutes.
func TestTransactionTimeoutAboveMaximum(t *testing.T) {
	t.Parallel()
	text := example(t, "orders") + "\njob orders {\n  txn_timeout 1h\n}\n"
	p := newPipeline(t, "orders", text, brokers.Broker(t, 2))
	r := newRun(t, p, program.Mode{}, 1, makeLoad(p.graph, seed(t), caseRecords))
	exits(t, r.start(t), 7, "1h", "15m", "transaction.max.timeout.ms")
}

// TestUnreachableBroker is no reason to give up: the program says whom it cannot reach, and stops when told to, without a
// final checkpoint.
func TestUnreachableBroker(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	const nobody = "127.0.0.1:1"
	p := r.start(t, "EO_BROKERS="+nobody)
	poll(t, p, "to name "+nobody, func() bool { return strings.Contains(p.Log(), nobody) })
	p.Signal(t, syscall.SIGTERM)
	exits(t, p, 10)
	p = r.halfDone(t)
	r.stop(t, p)
	for _, verb := range []string{"txn list", "txn list --json", "txn commit --yes", "txn abort --yes", "txn repair --yes", "verify", "doctor"} {
		p := program.Start(t, r.binary, program.Config{Args: strings.Fields(verb), Env: append(r.environment(r.state, 1, r.interval), "EO_BROKERS="+nobody)})
		exits(t, p, 7, nobody)
	}
}

// TestLostInput deletes records before they are read: the program says which, and goes on only if told to.
func TestLostInput(t *testing.T) {
	t.Parallel()
	r := newCase(t, "clicks", 1)
	p := r.halfDone(t)
	r.stop(t, p)
	topic := r.topics["clicks"]
	r.feeder.finish(t, r.pipeline, r.last)
	read, ends := r.broker.GroupOffsets(t, r.group(), topic), r.broker.EndOffsets(t, topic)
	if read[1]+10 > ends[1] {
		t.Fatalf("partition 1 was read up to %d of %d: nothing is left to be lost", read[1], ends[1])
	}
	r.broker.DeleteRecords(t, topic, 1, read[1]+10)
	exits(t, r.start(t), 8, topic, "--accept-loss", "10 ")

	lost := r.input["clicks"][1]
	r.input["clicks"][1] = slices.Concat(lost[:read[1]], lost[read[1]+10:])
	r.answer(r.graph)
	p = r.start(t, "EO_ACCEPT_LOSS=true")
	r.endWithResults(t, p)
}

// TestRecreatedTopic is noticed by its id, though it has the same name.
func TestRecreatedTopic(t *testing.T) {
	t.Parallel()
	r := newCase(t, "clicks", 1)
	p := r.halfDone(t)
	r.stop(t, p)
	topic := r.topics["clicks"]
	r.feeder.stop()
	<-r.feeder.done
	r.broker.DeleteTopic(t, topic)
	r.broker.CreateTopic(t, topic, inPartitions)
	exits(t, r.start(t), 8, topic)
}

// halfway feeds half of the input, waits until the program has read it, and returns where each partition ends.
func (r *run) halfway(t testing.TB, p *program.Process, topic string) map[int32]int64 {
	t.Helper()
	r.feeder.phase(r.feeder.left() / 2)
	r.awaitMore(t, p, 50)
	r.feeder.stop()
	<-r.feeder.done
	ends := r.broker.EndOffsets(t, topic)
	for id, end := range ends {
		r.awaitRead(t, p, topic, id, end)
	}
	return ends
}

// TestTopicRecreatedWhileRead: a topic that is deleted and made again while the program reads it is another one. The program ends, though its
// client goes on without a word, and reads the new one only if told to.
func TestTopicRecreatedWhileRead(t *testing.T) {
	t.Parallel()
	r := newCase(t, "clicks", 1)
	topic := r.topics["clicks"]
	alive := r.start(t)
	read := r.halfway(t, alive, topic)
	r.broker.DeleteTopic(t, topic)
	r.broker.CreateTopic(t, topic, inPartitions)
	given := make([][]reference.Record, inPartitions)
	for id, records := range r.input["clicks"] {
		anew := slices.Clone(records[read[int32(id)]:][:50])
		for i := range anew {
			anew[i].Offset = int64(i)
		}
		r.broker.Produce(t, topic, wire(int32(id), anew)...)
		given[id] = slices.Concat(records[:read[int32(id)]], anew)
	}
	exits(t, alive, 8, topic, "was deleted and made again", "--accept-loss")
	exits(t, r.start(t), 8, topic, "was deleted and made again", "--accept-loss")
	r.want = reference.Run(r.graph, reference.Input{"clicks": given})
	alive = r.start(t, "EO_ACCEPT_LOSS=true")
	r.endWithResults(t, alive)
}

// TestInputIsDeletedWhileRead deletes records before a program that is held up gets to them. It does not jump to what is left.
func TestInputIsDeletedWhileRead(t *testing.T) {
	t.Parallel()
	r := newCase(t, "clicks", 1)
	topic := r.topics["clicks"]
	alive := r.start(t)
	read := r.halfway(t, alive, topic)
	alive.Freeze(t)
	rest := r.input["clicks"][1][read[1]:]
	r.broker.Produce(t, topic, wire(1, rest[:1])...) // goes to the fetch that is on its way
	r.broker.Produce(t, topic, wire(1, rest[1:])...)
	r.broker.DeleteRecords(t, topic, 1, read[1]+11)
	alive.Signal(t, syscall.SIGCONT)
	exits(t, alive, 8, topic+", partition 1 does not have offset", "records are lost, at most", "--accept-loss")
	exits(t, r.start(t), 8, topic, "are gone", "--accept-loss")
}

// TestMarkerIsGone deletes the consumer group, as brokers do with one that was not used for a week. What became of the last
// transaction cannot be known then, so a start wants to be told that no other copy has run.
func TestMarkerIsGone(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	alive := r.halfDone(t)
	r.stop(t, alive)
	r.broker.DeleteGroup(t, r.group())
	exits(t, r.start(t), 9, "consumer group "+r.group()+" has no marker any more", "--accept-loss")
	r.complete(t, r.start(t, "EO_ACCEPT_LOSS=true"))
}

// TestCompactedTopic reads a topic with holes: of records that compaction has taken away, of aborted transactions, of markers.
func TestCompactedTopic(t *testing.T) {
	t.Parallel()
	p := declare(t, "clicks", example(t, "clicks"), brokers.Broker(t, 2))
	topic := p.topics["clicks"]
	p.broker.CreateTopic(t, topic, inPartitions, "cleanup.policy=compact", "segment.ms=100", "min.cleanable.dirty.ratio=0", "delete.retention.ms=0")
	for _, written := range []string{"page-views", "page-views-slow", "clicks.dlq"} {
		p.broker.CreateTopic(t, p.topics[written], outPartitions)
	}
	r := newRun(t, p, program.Mode{}, 3, makeLoad(p.graph, seed(t), caseRecords))
	for round := range 4 {
		for id, records := range r.input["clicks"] {
			piece := wire(int32(id), records[round*50:(round+1)*50])
			for i := range piece {
				piece[i].Key = fmt.Appendf(nil, "key-%d", i%30) // each comes again
			}
			p.broker.ProduceTxn(t, round != 1, topic, piece...)
		}
	}
	const written = inPartitions * 3 * 50
	poll := func() int {
		for id := range int32(inPartitions) { // a new segment, so that the one before may be compacted
			p.broker.Produce(t, topic, kafkatest.Record{Partition: id, Key: []byte("again"), Value: click("again", 0).Value, Time: time.Now()})
		}
		return len(slices.DeleteFunc(p.broker.ReadCommitted(t, topic), func(rec kafkatest.Record) bool { return string(rec.Key) == "again" }))
	}
	ctx, cancel := context.WithTimeout(t.Context(), dieLimit)
	defer cancel()
	for left := poll(); left > written/2; left = poll() {
		if ctx.Err() != nil {
			t.Fatalf("%d of %d records are left: the topic was not compacted within %v", left, written, dieLimit)
		}
	}
	p.broker.SetTopic(t, topic, "cleanup.policy=delete", "retention.ms=-1") // no more while it is read
	r.reread(t)
	r.end(t, r.start(t))
}

// TestOtherProgramIsRefused starts a program with another window on the state of the first, which says what differs.
func TestOtherProgramIsRefused(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	p := r.halfDone(t)
	r.stop(t, p)
	other := *r.pipeline
	other.text = strings.Replace(r.text, "tumbling 1m", "tumbling 2m", 1)
	first := r.binary
	r.binary = compiler.Build(t, "orders", other.text, program.Mode{})
	exits(t, r.start(t), 5, "user_totals/window", "tumbling 1m", "tumbling 2m")
	r.binary = first
	r.finish(t)
}
