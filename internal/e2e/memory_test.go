//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/reference"
)

// beside is what a process has in memory beside what GOMEMLIMIT is about: its own code, and pages of its state file.
const beside = 64 << 20

// limited is the environment for so many MiB of memory.
func limited(mib int) string { return fmt.Sprintf("GOMEMLIMIT=%dMiB", mib) }

// peak is the most that a process has had in memory.
type peak struct {
	bytes atomic.Int64
	done  <-chan struct{}
}

// watchPeak watches the peak of a process. (What getrusage says of one that is gone is no less than what the test had that started it.)
func watchPeak(t testing.TB, p *program.Process) *peak {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("the peak is not watched on this system")
	}
	w := &peak{done: p.Done()}
	look := func() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
		if _, rest, ok := strings.Cut(string(text), "VmHWM:"); ok && err == nil {
			if kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64); err == nil {
				w.bytes.Store(kib << 10)
			}
		}
	}
	look() // at once: it may end before a goroutine comes to it
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.done:
				return
			case <-tick.C:
				look()
			}
		}
	}()
	return w
}

// below checks that a process that is gone has never had more than so many MiB, and what it has beside them.
func (w *peak) below(t testing.TB, mib int) {
	t.Helper()
	<-w.done
	had := w.bytes.Load()
	t.Logf("at most %d MiB in memory", had>>20)
	if had > int64(mib)<<20+beside || had == 0 && runtime.GOOS == "linux" {
		t.Errorf("the program had %d MiB in memory, and may have %d", had>>20, mib)
	}
}

// alone is a run of a pipeline whose input has one partition.
func alone(t testing.TB, name, text string, parallelism int) *run {
	t.Helper()
	p := declare(t, name, text, brokers.Broker(t, 2))
	for _, topic := range p.topics {
		p.broker.CreateTopic(t, topic, 1)
	}
	r := &run{pipeline: p, binary: p.binary(t, program.Mode{}), state: filepath.Join(t.TempDir(), "state"), parallelism: parallelism, interval: 50 * time.Millisecond, load: &load{}}
	r.follow(t)
	return r
}

// TestStateOutgrowsMemory: a program whose open windows take more memory than it may have ends before the system ends it, says what holds
// the memory, and does so again until it gets more; then it goes on, and nothing is missing.
func TestStateOutgrowsMemory(t *testing.T) {
	t.Parallel()
	const mib, windows = 128, 60_000
	text := strings.Replace(example(t, "orders"), "watermark 5s", "watermark 3650d", 1) // no window closes before the end
	r := alone(t, "orders", text, 1)
	var records []reference.Record
	for i := range windows {
		at := firstEvent.Add(time.Duration(i) * time.Minute)
		value := fmt.Sprintf(`{"user_id":"user-%d","amount":1.25,"at":%q}`, i%7, at.Format(time.RFC3339))
		records = append(records, reference.Record{Value: []byte(value), Offset: int64(i), Time: at.UnixMicro()})
	}
	r.broker.Produce(t, r.topics["orders"], wire(0, records)...)
	for range 2 {
		p := r.start(t, limited(mib), "EO_UNTIL=latest")
		peak := watchPeak(t, p)
		exits(t, p, 13, "the state has outgrown the memory", "user_totals/window", "open windows", fmt.Sprintf("of %d MiB (GOMEMLIMIT)", mib), "nothing is lost")
		peak.below(t, mib)
	}
	exits(t, r.start(t, limited(8*mib), "EO_UNTIL=latest"), 0)
	r.want = reference.Run(r.graph, reference.Input{"orders": {records}})
	r.judgeResults(t)
}

// TestSlowSink: a backlog that is larger than the program's memory waits in Kafka while the sink takes little, whatever the program could read.
func TestSlowSink(t *testing.T) {
	t.Parallel()
	const mib, backlog, perSecond = 96, 128 << 20, 8 << 20
	r := alone(t, "clicks", example(t, "clicks"), 1)
	r.interval = 4 * time.Second // long enough to read it all before a barrier holds it up
	r.broker.Throttle(t, "eo-"+r.name, perSecond)
	rng := rand.New(rand.NewPCG(seed(t), 3))
	var records []reference.Record
	for size := 0; size < backlog; {
		rec := click(noise(rng, 2000), int64(len(records)))
		size += len(rec.Value)
		records = append(records, rec)
	}
	r.flood(t, "clicks", 0, records)
	r.want = reference.Run(r.graph, reference.Input{"clicks": {records}})
	p := r.start(t, limited(mib))
	peak := watchPeak(t, p)
	r.end(t, p)
	peak.below(t, mib)
}

// hotText makes results that are much larger than their state.
const hotText = `type Order {
  user_id: string
  amount:  decimal(12, 2)
  at:      timestamp
}

source orders: Order from kafka("orders") {
  time      at
  watermark 5s
  idle      never
}

stream user_totals {
  from      orders
  window    tumbling 1m by user_id
  aggregate total = sum(amount), orders = count()
  select    user_id, total, orders, b = user_id, c = user_id, d = user_id, e = user_id, f = user_id, g = user_id
  to        totals
}

sink totals to kafka("user-totals") {
  key user_id
}
`

// TestHotKey: one key that is large has all records, more of them than the program has memory, while the task that owns it is busy with the results of a
// window that has just closed, for a sink that takes little. What waits for it is bounded in bytes, and not only in rows.
func TestHotKey(t *testing.T) {
	t.Parallel()
	const mib, backlog, perSecond = 96, 160 << 20, 3 << 20
	const users, userBytes, hotBytes = 3000, 2000, 64 << 10
	r := alone(t, "hot", hotText, 3)
	r.interval = 4 * time.Second // long enough to read much before a barrier holds it up
	r.broker.Throttle(t, "eo-"+r.name, perSecond)
	rng := rand.New(rand.NewPCG(seed(t), 5))
	hot := noise(rng, hotBytes)
	var records []reference.Record
	add := func(user string, at time.Time) {
		value := fmt.Sprintf(`{"user_id":%q,"amount":0.25,"at":%q}`, user, at.Format(time.RFC3339))
		records = append(records, reference.Record{Value: []byte(value), Offset: int64(len(records)), Time: at.UnixMicro()})
	}
	for range users {
		add(noise(rng, userBytes), firstEvent)
	}
	// All are of one moment: the watermark, which takes with it what waits, does not move on.
	for range backlog / hotBytes {
		add(hot, firstEvent.Add(2*time.Minute))
	}
	add(hot, firstEvent.Add(time.Hour))
	const part = 100
	for piece := range slices.Chunk(records, part) {
		r.flood(t, "orders", 0, piece)
	}
	r.want = reference.RunOn(r.graph, reference.Input{"orders": {records}})
	p := r.start(t, limited(mib))
	peak := watchPeak(t, p)
	r.end(t, p)
	peak.below(t, mib)
}

// TestOthersCommit: one partition of a pipeline without windows stands still, fenced off by a transaction that nobody ends. The results of all others, whose
// backlog is larger than the program's memory, are committed meanwhile.
func TestOthersCommit(t *testing.T) {
	t.Parallel()
	const mib, few, each, userBytes = 96, 100, 36 << 20, 2000
	p := newPipeline(t, "clicks", example(t, "clicks"), brokers.Broker(t, 2))
	r := newRun(t, p, program.Mode{}, 3, &load{})
	topic := p.topics["clicks"]
	rng := rand.New(rand.NewPCG(seed(t), 6))
	input := make([][]reference.Record, inPartitions)
	for id := range input {
		n := few
		if id > 0 {
			n = each / userBytes
		}
		for range n {
			input[id] = append(input[id], click(noise(rng, userBytes), int64(len(input[id]))))
		}
	}
	open := p.broker.OpenTxn(t, p.name+".other", topic, wire(0, input[0][:1])...)
	r.flood(t, "clicks", 0, input[0][1:])
	for id, records := range input[1:] {
		r.flood(t, "clicks", int32(id+1), records)
	}
	alive := r.start(t, limited(mib))
	peak := watchPeak(t, alive)
	r.want = reference.Run(r.graph, reference.Input{"clicks": append([][]reference.Record{nil}, input[1:]...)})
	r.await(t, alive)
	for id, records := range input[1:] {
		r.awaitRead(t, alive, topic, int32(id+1), int64(len(records)))
	}
	if d := r.compare(t); d != "" {
		t.Errorf("while partition 0 stands still: %s", d)
	}
	if next := p.broker.GroupOffsets(t, p.group(), topic)[0]; next > 0 {
		t.Errorf("partition 0 was read up to %d, and its first record is of an open transaction", next)
	}
	if err := open.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.want = reference.Run(r.graph, reference.Input{"clicks": input})
	r.end(t, alive)
	peak.below(t, mib)
}

// TestStalledPartition: all records have one key, and one of the partitions stands still, fenced off by a transaction that nobody ends, while
// the others have a backlog that is larger than the program's memory. They run ahead as far as the windows let them, and go on when it does.
func TestStalledPartition(t *testing.T) {
	t.Parallel()
	const mib, each = 96, 48 << 20
	p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, 2))
	r := newRun(t, p, program.Mode{}, 3, &load{})
	topic := p.topics["orders"]
	rng := rand.New(rand.NewPCG(seed(t), 4))
	input := make([][]reference.Record, inPartitions)
	end := firstEvent
	for id := range input {
		at := firstEvent
		for size := 0; size < each; at = at.Add(time.Second) {
			value := fmt.Sprintf(`{"user_id":"hot","amount":0.25,"at":%q,"noise":%q}`, at.Format(time.RFC3339), noise(rng, 8000))
			input[id] = append(input[id], reference.Record{Value: []byte(value), Offset: int64(len(input[id])), Time: at.UnixMicro()})
			size += len(value)
		}
		if at.After(end) {
			end = at
		}
	}
	stalled := input[0][:1]
	input[0] = input[0][1:]
	open := p.broker.OpenTxn(t, p.name+".other", topic, wire(0, stalled)...)
	for i := range input[0] {
		input[0][i].Offset = int64(i) + 2 // behind the marker of the transaction's end
	}
	for id, records := range input[1:] {
		r.flood(t, "orders", int32(id+1), records)
	}
	alive := r.start(t, limited(mib))
	peak := watchPeak(t, alive)
	poll(t, alive, "to pause a partition", func() bool { return strings.Count(alive.Log(), "a partition has run ahead of the watermark") > 0 })
	poll(t, alive, "to see the open transaction", func() bool {
		return strings.Contains(alive.Log(), "an open transaction of another producer holds a partition back")
	})
	for id, next := range p.broker.GroupOffsets(t, p.group(), topic) {
		if id > 0 && next > int64(len(input[id])/2) {
			t.Errorf("partition %d was read up to %d of %d, while partition 0 stood still", id, next, len(input[id]))
		}
	}
	if err := open.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	input[0] = append(stalled, input[0]...)
	r.flood(t, "orders", 0, input[0][1:])
	for id := range input {
		last := reference.Record{Value: []byte(fmt.Sprintf(`{"user_id":"hot","amount":0.25,"at":%q}`, end.Add(time.Hour).Format(time.RFC3339))),
			Offset: input[id][len(input[id])-1].Offset + 1, Time: end.Add(time.Hour).UnixMicro()}
		r.flood(t, "orders", int32(id), []reference.Record{last})
		input[id] = append(input[id], last)
	}
	r.want = reference.RunOn(r.graph, reference.Input{"orders": input})
	r.end(t, alive)
	peak.below(t, mib)
}

// noise is text that does not compress.
func noise(rng *rand.Rand, n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[rng.IntN(len(letters))]
	}
	return string(text)
}

// flood writes many records to a partition, a part at a time.
func (r *run) flood(t testing.TB, written string, partition int32, records []reference.Record) {
	t.Helper()
	const part = 2000
	for len(records) > 0 {
		n := min(part, len(records))
		r.broker.Produce(t, r.topics[written], wire(partition, records[:n])...)
		records = records[n:]
	}
}
