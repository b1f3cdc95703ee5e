package rttest_test

import (
	"testing"

	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// sameName is two sources that read topics of one name in two clusters, as codegen would make it. Values are written as they come; those that begin
// with an x are no records.
func sameName() rt.Pipeline {
	return rt.Pipeline{Name: "same", File: "same.eo", Build: rt.Build(func(t *rt.Task) *rt.Sink {
		var out *rt.Sink
		source := func(name, place string, connection *rt.Connection) {
			t.Source(rt.SourceSpec{
				Name: name, Place: place, Topic: rt.Setting{Text: "orders"}, Connection: connection, OnError: rt.DLQ(rt.Setting{Text: "bad"}),
			}, func(in *rt.Batch) {
				json := rt.NewJSON(nil)
				for in.Next() {
					for json.Begin(in.Value()); json.Next(); {
					}
					if !json.End() {
						in.Reject(json.Fault())
						continue
					}
					out.End(append(out.Begin(nil), in.Value()...), in.At())
				}
			})
		}
		source("here", "same.eo:1", nil)
		source("there", "same.eo:2", &rt.Connection{Brokers: rt.Setting{Text: "elsewhere:9092"}})
		out = t.Sink(rt.SinkSpec{Name: "out", Place: "same.eo:3", Topic: rt.Setting{Text: "out"}})
		return out
	})}
}

// Topics of one name are told apart by their source, where records are sent and where they are refused.
func TestSameNameInTwoClusters(t *testing.T) {
	p := rttest.Config{Partitions: map[string]int{"there:orders": 2}}.Start(t, sameName())
	p.Send("here:orders", `{"from":"here"}`, "x")
	p.SendTo("there:orders", 1, `{"from":"there"}`, "x")
	p.End()
	p.Expect("out", `{"from":"here"}`, `{"from":"there"}`)
	letters := p.DeadLetters("bad")
	if len(letters) != 2 || letters[0].Source != "" || letters[1].Source != "there" || letters[0].Topic != "orders" || letters[1].Topic != "orders" || letters[1].Partition != 1 {
		t.Errorf("dead letters: %+v", letters)
	}
	if got := failing(t, sameName(), rttest.Config{}, func(p *rttest.Test) { p.Send("orders", "{}") }); got != `same.eo reads no topic "orders"; it reads here:orders, there:orders` {
		t.Errorf("the name alone: %s", got)
	}
}
