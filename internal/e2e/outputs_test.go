//go:build unix

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/reference"
)

// rest feeds a share of the input and waits until the program has read it and is done with it. A program that gets no processor for two seconds is quiet, too;
// so all has to be read first, as it is if no partition has run ahead of the others: makeLoad makes none that does in so short an input.
func (r *run) rest(t testing.TB, p *program.Process, share int) {
	t.Helper()
	r.feeder.phase(share)
	r.awaitMore(t, p, 50)
	r.feeder.pause()
	r.allRead(t, p)
	r.quiet(t)
}

// quiet waits until the program, which is fed no more, has ended its transactions and begins no other for two seconds. Neither that all is read says so,
// as a checkpoint may follow the one with the last input: one task has passed on its watermark before the barrier, another behind it; nor
// need all be read: a partition that has run ahead of the others waits for them.
func (r *run) quiet(t testing.TB) {
	t.Helper()
	const enough = 40 // looks that find the same
	same, last := 0, ""
	await(t, "the transactions to come to rest", func() (string, bool) {
		now, over := r.broker.TransactionsOver(t, r.name+"-")
		if same++; now != last || !over {
			same, last = 0, now
		}
		return now, same >= enough
	})
	r.broker.AwaitSettled(t, r.outputs()...)
}

// allRead waits until the program has read what its topics hold.
func (r *run) allRead(t testing.TB, p *program.Process) {
	t.Helper()
	for written, topic := range r.topics {
		if r.source(written) == nil {
			continue
		}
		for id, end := range r.upstream.EndOffsets(t, topic) {
			r.awaitRead(t, p, topic, id, end)
		}
	}
}

// totals is the sink of the example orders, and its topic.
const totals = "user-totals"

// sinkOf is the sink that writes to a topic of the .eo file.
func (r *run) sinkOf(t testing.TB, written string) string {
	t.Helper()
	for sink := range r.want.Sinks {
		if r.topicOf(sink) == r.topics[written] {
			return sink
		}
	}
	t.Fatalf("no sink writes to %s", written)
	return ""
}

// without takes what a topic holds from what is expected of its sink. A result that is not expected, or more often than it is, fails the test.
func (r *run) without(t testing.TB, sink string) {
	t.Helper()
	held := r.broker.ReadCommitted(t, r.topicOf(sink))
	if len(held) == 0 {
		t.Fatalf("%s holds nothing", r.topicOf(sink))
	}
	got := tally(held)
	r.want.Sinks[sink] = slices.DeleteFunc(slices.Clone(r.want.Sinks[sink]), func(o reference.Output) bool {
		key := string(o.Key) + " " + string(o.Value)
		if got[key] == 0 {
			return false
		}
		got[key]--
		return true
	})
	if n := total(got); n > 0 {
		t.Errorf("%s: %d records are no results, or there again: %v", r.topicOf(sink), n, got)
	}
}

// others compares all topics but that of a sink.
func (r *run) others(t testing.TB, sink string) {
	t.Helper()
	got, err := r.committed(t)
	if err != nil {
		t.Fatal(err)
	}
	delete(got.Sinks, sink)
	delete(r.want.Sinks, sink)
	if d := reference.Compare(got, r.want); d != "" {
		t.Errorf("the other topics: %s", d)
	}
}

// readAll feeds what is left, waits until the program has read it, and stops it.
func (r *run) readAll(t testing.TB, p *program.Process) {
	t.Helper()
	r.feeder.finish(t, r.pipeline, r.last)
	r.allRead(t, p)
	r.stop(t, p)
	r.broker.AwaitSettled(t, r.outputs()...)
}

// TestOutputTopicRecreated deletes the topic of an exactly_once sink and makes it anew under the running program, which ends and says so. Started again it goes on
// with the new topic, says what is gone, and each result is in the old one or in the new one, once.
func TestOutputTopicRecreated(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 3)
	topic, share := r.topics[totals], r.feeder.left()/4
	p := r.start(t)
	r.rest(t, p, share)
	r.without(t, r.sinkOf(t, totals))
	r.broker.DeleteTopic(t, topic)
	r.broker.CreateTopic(t, topic, outPartitions)
	r.feeder.phase(share)
	exits(t, p, 7, topic, "was deleted and made again while the program ran", "--fresh")

	r.follow(t)
	p = r.start(t)
	poll(t, p, "to say what is gone", func() bool {
		return strings.Contains(p.Log(), "was deleted and made again: what was written to it before is gone")
	})
	r.feeder.finish(t, r.pipeline, r.last)
	r.endWithResults(t, p)
	r.judgeOrder(t)
	if text, code := r.ask(t, "verify"); code != 0 || !strings.Contains(text, "the topic was deleted and made again") {
		t.Errorf("verify: code %d\n%s", code, text)
	}
}

// TestOutputTopicRecreatedWhileWritten does so while the program writes to it, and a transaction is cut in two. What is in the new topic is there once, and the other
// topics have everything.
func TestOutputTopicRecreatedWhileWritten(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	topic := r.topics[totals]
	r.feeder.phase(r.feeder.left() / 4)
	p := r.start(t)
	r.awaitMore(t, p, 50)
	r.broker.DeleteTopic(t, topic)
	r.broker.CreateTopic(t, topic, outPartitions)
	exits(t, p, 7, topic) // between the two it does not exist

	r.readAll(t, r.start(t))
	sink := r.sinkOf(t, totals)
	all := len(r.want.Sinks[sink])
	r.without(t, sink)
	if left := len(r.want.Sinks[sink]); left > all/2 {
		t.Errorf("%d results of %d are not in the new topic: it was made when a quarter of the input was there", left, all)
	}
	r.others(t, sink)
}

// TestOutputTopicDeleted deletes the topic of an exactly_once sink. The program ends, and so does a start, with the command that makes it; told to
// make it, it goes on.
func TestOutputTopicDeleted(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 1)
	topic := r.topics[totals]
	p := r.start(t)
	r.rest(t, p, r.feeder.left()/4)
	r.without(t, r.sinkOf(t, totals))
	r.broker.DeleteTopic(t, topic)
	exits(t, p, 7, topic, "--create --topic "+topic) // it writes nothing
	exits(t, r.start(t), 7, "missing topic: "+topic)

	p = r.start(t, "EO_CREATE_TOPICS=true")
	poll(t, p, "to say what is gone", func() bool {
		return strings.Contains(p.Log(), "was deleted and made again: what was written to it before is gone")
	})
	r.follow(t)
	r.feeder.finish(t, r.pipeline, r.last)
	r.endWithResults(t, p)
}

// TestOutputTopicGrows adds partitions to the topic of an exactly_once sink under the running program. It says so, uses them without a
// restart, and has every result once.
func TestOutputTopicGrows(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 3)
	topic := r.topics[totals]
	r.feeder.phase(r.feeder.left() / 4)
	p := r.start(t)
	r.awaitMore(t, p, 50)
	r.broker.AddPartitions(t, topic, outPartitions+2)
	poll(t, p, "to say that the topic has grown", func() bool { return strings.Contains(p.Log(), "the topic of a sink has more partitions now") })
	r.follow(t) // a reader learns of them as late as after five minutes
	r.complete(t, p)
	partitions := map[int32]bool{}
	for _, rec := range r.broker.ReadCommitted(t, topic) {
		partitions[rec.Partition] = true
	}
	if len(partitions) != outPartitions+2 {
		t.Errorf("results are in the partitions %v", partitions)
	}
}

// TestOutputTopicTruncated deletes what the topic of an exactly_once sink holds, under the running program: what is committed, while that rests; and all that there is, while
// it writes. Nothing else is gone, and `verify` says what it cannot compare.
func TestOutputTopicTruncated(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 3)
	topic, share := r.topics[totals], r.feeder.left()/4
	truncate := func() {
		for id, end := range r.broker.EndOffsets(t, topic) {
			r.broker.DeleteRecords(t, topic, id, end)
		}
	}
	p := r.start(t)
	r.rest(t, p, share)
	sink := r.sinkOf(t, totals)
	r.without(t, sink)
	truncate()
	r.rest(t, p, share)
	r.without(t, sink) // nothing is there again
	for range 5 {
		r.feeder.phase(share / 5)
		r.awaitMore(t, p, 5)
		truncate()
	}
	r.readAll(t, p)
	r.without(t, sink)
	r.judgeOrder(t)
	r.others(t, sink)
	if text, code := r.ask(t, "verify"); code != 12 || !strings.Contains(text, "the topic begins at offset") {
		t.Errorf("verify: code %d\n%s", code, text)
	}
}
