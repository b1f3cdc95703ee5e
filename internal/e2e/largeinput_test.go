//go:build unix

package e2e

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/reference"
)

// TestLargestInput: a record as large as docs/operations.md allows is read like any other. One beyond that stops the program, at every start, and the message
// says where it stands, and how large it is; without it, the program goes on, and nothing else is missing.
func TestLargestInput(t *testing.T) {
	t.Parallel()
	const (
		limit    = 100 << 20
		beyond   = limit + 2<<20
		overhead = 74 // of a batch of one record without a key
	)
	p := declare(t, "clicks", example(t, "clicks"), kafkatest.Start(t, kafkatest.Options{
		Heap: "1g", Settings: map[string]string{"socket.request.max.bytes": "300000000"}, // 100 MiB with all that is around the batch, else
	}))
	for _, topic := range p.topics {
		p.broker.CreateTopic(t, topic, 2)
	}
	r := &run{pipeline: p, binary: p.binary(t, program.Mode{}), state: filepath.Join(t.TempDir(), "state"), parallelism: 1, interval: 50 * time.Millisecond, load: &load{}}
	r.follow(t)
	input := p.topics["clicks"]
	// send sends a click in a batch of so many bytes.
	send := func(c reference.Record, size int) bool {
		value := bytes.Repeat([]byte(" "), size-overhead)
		copy(value, c.Value)
		return p.broker.ProduceLarge(t, input, kafkatest.Record{Partition: 1, Value: value, Time: time.UnixMicro(c.Time)})
	}
	first, largest, next, last := click("first", 0), click("largest", 1), click("next", 2), click("last", 4)
	p.broker.Produce(t, input, wire(1, []reference.Record{first})...)
	p.broker.SetTopic(t, input, "max.message.bytes=104857600")
	if send(largest, limit+1) || !send(largest, limit) {
		t.Fatalf("the topic does not take batches of up to %d bytes, but of others: what is around a record is not %d bytes", limit, overhead)
	}
	p.broker.Produce(t, input, wire(1, []reference.Record{next})...)
	alive := r.start(t)
	r.load.want = reference.Run(r.graph, reference.Input{"clicks": {nil, {first, largest, next}}}) // white space means nothing
	r.await(t, alive)
	r.awaitRead(t, alive, input, 1, next.Offset+1)

	p.broker.SetTopic(t, input, "max.message.bytes=200000000")
	if !send(click("beyond", 3), beyond) {
		t.Fatal("the topic does not take a batch that is larger")
	}
	p.broker.Produce(t, input, wire(1, []reference.Record{last})...)
	says := []string{"topic " + input + ", partition 1", "from offset 3 on are one batch of 102.0 MiB", "none of more than 100 MiB", "smaller batches", "kafka-delete-records.sh", "4 if it is one record", "--accept-loss"}
	exits(t, alive, 3, says...)
	exits(t, r.start(t), 3, says...)
	if got := p.broker.GroupOffsets(t, p.group(), input)[1]; got != next.Offset+1 {
		t.Errorf("the program stands at %d, want %d: the record that it does not read", got, next.Offset+1)
	}
	p.broker.DeleteRecords(t, input, 1, last.Offset)
	alive = r.start(t, "EO_ACCEPT_LOSS=true")
	r.load.want = reference.Run(r.graph, reference.Input{"clicks": {nil, {first, largest, next, last}}})
	r.endWithResults(t, alive)
}
