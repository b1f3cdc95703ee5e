//go:build unix

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/reference"
)

// replaced is an example with one thing written otherwise.
func replaced(t testing.TB, name, old, with string) string {
	t.Helper()
	text := example(t, name)
	if strings.Count(text, old) != 1 {
		t.Fatalf("%s.eo has %q %d times, want once", name, old, strings.Count(text, old))
	}
	return strings.Replace(text, old, with, 1)
}

// TestFailStopsAtBadRecord: under `on_error fail` the program stops at the bad record and says where it is, at every start,
// and what comes before it is committed exactly once.
func TestFailStopsAtBadRecord(t *testing.T) {
	t.Parallel()
	text := replaced(t, "clicks", `dlq("clicks.dlq")`, "fail")
	p := newPipeline(t, "clicks", text, brokers.Broker(t, 2))
	r := newRun(t, p, program.Mode{}, 1, makeLoad(p.graph, seed(t), caseRecords))
	good := r.input["clicks"][2][:100]
	refused := map[int64]bool{}
	for _, d := range reference.Run(declare(t, "clicks", example(t, "clicks"), nil).graph, reference.Input{"clicks": {nil, nil, good, nil}}).DeadLetters {
		refused[d.Offset] = true
	}
	good = slices.DeleteFunc(slices.Clone(good), func(rec reference.Record) bool { return rec.Value == nil || refused[rec.Offset] })
	p.broker.Produce(t, p.topics["clicks"], wire(2, good)...)
	alive := r.start(t)
	r.want = reference.Run(r.graph, reference.Input{"clicks": {nil, nil, good, nil}})
	r.await(t, alive)
	p.broker.Produce(t, p.topics["clicks"], kafkatest.Record{Partition: 2, Value: []byte(`{"id": 7}`), Time: firstEvent})
	place := fmt.Sprintf("%s, partition 2, offset %d", p.topics["clicks"], len(good))
	exits(t, alive, 3, place, "clicks.eo:", "kafka-console-consumer.sh --bootstrap-server "+r.broker.Addr)
	exits(t, r.start(t), 3, place, "clicks.eo:")
	r.judgeResults(t)
}

// TestReadsOnlyCommitted writes input in transactions, of which some are aborted, and leaves one open for a while.
func TestReadsOnlyCommitted(t *testing.T) {
	t.Parallel()
	r := newCase(t, "clicks", 3)
	topic := r.topics["clicks"]
	records := r.input["clicks"]
	given := make([][]reference.Record, inPartitions)
	next := make([]int64, inPartitions)
	alive := r.start(t)
	for round := range 6 {
		commit := round%2 == 0
		for id := range records {
			piece := records[id][round*50 : (round+1)*50]
			r.broker.ProduceTxn(t, commit, topic, wire(int32(id), piece)...)
			for i := range piece {
				rec := piece[i]
				rec.Offset = next[id] + int64(i)
				if commit {
					given[id] = append(given[id], rec)
				}
			}
			next[id] += int64(len(piece)) + 1 // the marker of the transaction's end has an offset too
		}
	}
	open := r.broker.OpenTxn(t, r.name+".other", topic, wire(0, records[0][300:310])...)
	for i, rec := range records[0][300:310] {
		rec.Offset = next[0] + int64(i)
		given[0] = append(given[0], rec)
	}
	next[0] += 11
	poll(t, alive, "to say whose transaction holds the input back", func() bool {
		return strings.Contains(alive.Log(), `"transactional_id":"`+r.name+`.other","state":"Ongoing"`)
	})
	if err := open.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.want = reference.Run(r.graph, reference.Input{"clicks": given})
	r.end(t, alive)
}

// TestIdlePartition: a partition without records holds the watermark no longer than `idle`. While all wait for that, there
// is nothing new, and the program makes no checkpoints.
func TestIdlePartition(t *testing.T) {
	t.Parallel()
	const idle, intervals = "3s", 60
	text := replaced(t, "orders", "watermark 5s", "watermark 5s\n  idle      "+idle)
	p := newPipeline(t, "orders", text, brokers.Broker(t, 2))
	l := newLoad(p.graph, seed(t), inPartitions, eventStep)
	l.input["orders"] = make([][]reference.Record, inPartitions)
	// All within five seconds of one window: however long a partition has to wait for its share, and is idle meanwhile, nothing gets late.
	for id := range l.input["orders"][:3] {
		for i := range int64(500) {
			at := firstEvent.Add(time.Duration(i) * 10 * time.Millisecond)
			value := fmt.Sprintf(`{"user_id":"user-%d","amount":1.25,"at":%q}`, i%97, at.Format(time.RFC3339Nano))
			l.input["orders"][id] = append(l.input["orders"][id], reference.Record{Value: []byte(value), Offset: i, Time: at.UnixMicro()})
		}
		l.last["orders"][id][0].Offset = 500
	}
	l.last["orders"][3] = nil
	l.answer(p.graph)
	r := newRun(t, p, program.Mode{}, 3, l)
	alive := r.start(t, debug)
	r.feeder.finish(t, p, nil)
	r.awaitInput(t, alive)
	r.feeder.finish(t, p, r.last) // each may close the window, if the others are idle already
	r.awaitInput(t, alive)
	before := checkpoints(alive)
	for id := range inPartitions - 1 { // the last has no records
		idle := regexp.MustCompile(fmt.Sprintf(`"partition is idle[^\n]*"partition":%d,"offset":501\b`, id))
		poll(t, alive, "to find a partition idle behind its last record", func() bool { return idle.MatchString(alive.Log()) })
	}
	if made := checkpoints(alive) - before; made > intervals/4 {
		t.Errorf("%d checkpoints in the time of %d, without anything new", made, intervals)
	}
	r.end(t, alive)
}

// TestNewPartition adds a partition to a topic while it is read: it is read from its beginning.
func TestNewPartition(t *testing.T) {
	t.Parallel()
	r := newCase(t, "orders", 3)
	topic := r.topics["orders"]
	p := r.halfDone(t)

	// The records of the new partition come after all others, so that none of them can be late.
	var added []reference.Record
	for i := range 500 {
		at := lastEvent.AddDate(0, 0, -1).Add(time.Duration(i) * 100 * time.Millisecond)
		value := fmt.Sprintf(`{"user_id": "new-%d", "amount": 1.25, "at": %q}`, i%7, at.Format(time.RFC3339Nano))
		added = append(added, reference.Record{Value: []byte(value), Offset: int64(i), Time: at.UnixMicro()})
	}
	r.broker.AddPartitions(t, topic, inPartitions+1)
	r.broker.Produce(t, topic, wire(inPartitions, added)...)
	r.awaitRead(t, p, topic, inPartitions, int64(len(added)))
	r.input["orders"] = append(r.input["orders"], added)
	end := r.last["orders"][0][0]
	end.Offset = int64(len(added))
	r.last["orders"] = append(r.last["orders"], []reference.Record{end})
	r.answer(r.graph)
	r.complete(t, p)
}

// awaitRead waits until the markers say that a partition was read up to an offset.
func (r *run) awaitRead(t testing.TB, p *program.Process, topic string, partition int32, next int64) {
	t.Helper()
	poll(t, p, fmt.Sprintf("to read %s/%d up to %d", topic, partition, next), func() bool {
		return r.upstream.GroupOffsets(t, r.group(), topic)[partition] >= next
	})
}
