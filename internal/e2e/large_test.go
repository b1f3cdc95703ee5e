//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/reference"
)

// click is a record of clicks.eo by a user.
func click(user string, offset int64) reference.Record {
	value := fmt.Sprintf(`{"id":"%d","user_id":%q,"page":"/","status":200,"latency_ms":1,"at":%d}`, offset, user, firstEvent.UnixMilli()+offset)
	return reference.Record{Value: []byte(value), Offset: offset, Time: firstEvent.UnixMicro() + 1000*offset}
}

// TestTooLargeForItsTopic: a result and a dead letter that their topics do not take stop the program, at every start, and the message
// names the record that they are made of and the setting to raise. When that is done, nothing is missing.
func TestTooLargeForItsTopic(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, "clicks", example(t, "clicks"), brokers.Broker(t, 2))
	r := newRun(t, p, program.Mode{}, 1, makeLoad(p.graph, seed(t), caseRecords))
	input, views, letters := p.topics["clicks"], p.topics["page-views"], p.topics["clicks.dlq"]
	records := []reference.Record{
		click("first", 0),
		click(strings.Repeat("u", 600_000), 1), // twice in its result: as key, and in the value
		click("", 2),
		{Value: []byte(`{"id":` + strings.Repeat("1", 20_000)), Offset: 3, Time: firstEvent.UnixMicro()},
		{Value: []byte{}, Offset: 4, Time: firstEvent.UnixMicro()},
		click("last", 5),
	}
	p.broker.SetTopic(t, letters, "max.message.bytes=20100") // enough for the record, not for the dead letter
	p.broker.Produce(t, input, wire(2, records)...)
	for range 2 {
		exits(t, r.start(t), 3, views, "too large", "made of topic "+input+", partition 2, offset 1", "raise max.message.bytes")
	}
	p.broker.SetTopic(t, views, "max.message.bytes=2000000")
	for range 2 {
		exits(t, r.start(t), 3, letters, "too large", "made of topic "+input+", partition 2, offset 3", "raise max.message.bytes")
	}
	p.broker.SetTopic(t, letters, "max.message.bytes=30000")
	r.want = reference.Run(r.graph, reference.Input{"clicks": {nil, nil, records, nil}})
	r.end(t, r.start(t))
}
