package judge

import (
	"maps"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/reference"
)

func same(topic string) string { return topic }

func TestDeadLetter(t *testing.T) {
	header := func(key, value string) reference.Header { return reference.Header{Key: key, Value: []byte(value)} }
	rec := Record{Partition: 1, Offset: 4, Value: []byte("x"), Headers: []reference.Header{
		header("trace", "t"), header("eo.reason", "not JSON"), header("eo.topic", "real"), header("eo.partition", "2"),
		header("eo.offset", "77"), header("eo.operator", "orders (orders.eo:8)"),
	}}
	d, err := DeadLetter("orders.dlq", rec, func(topic string) string { return "written-" + topic })
	if err != nil {
		t.Fatal(err)
	}
	if d.Topic != "orders.dlq" || d.Refusal.Topic != "written-real" || d.Partition != 2 || d.Offset != 77 || d.Operator != "orders" || d.Reason != "not JSON" {
		t.Errorf("got %+v", d)
	}
	if len(d.Headers) != 1 || d.Headers[0].Key != "trace" {
		t.Errorf("its own headers are %v", d.Headers)
	}
	for name, headers := range map[string][]reference.Header{
		"no reason":     rec.Headers[2:],
		"no operator":   rec.Headers[:2],
		"bad offset":    append([]reference.Header{header("eo.offset", "x")}, rec.Headers...),
		"bad partition": append([]reference.Header{header("eo.partition", "x")}, rec.Headers...),
	} {
		if d, err := DeadLetter("orders.dlq", Record{Headers: headers}, same); err == nil {
			t.Errorf("%s: is taken as %+v", name, d)
		}
	}
}

func TestCounts(t *testing.T) {
	const log = `{"msg":"running"}
no JSON
{"msg":"finished","counts":{"orders read orders/0":5,"user_totals/window late orders/1":2}}
`
	want := map[reference.Counter]int64{
		{Operator: "orders", Name: "read", Topic: "orders", Partition: 0}:             5,
		{Operator: "user_totals/window", Name: "late", Topic: "orders", Partition: 1}: 2,
	}
	if got, ok, err := Counts(log, same); err != nil || !ok || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, %v", got, ok, err)
	}
	if got, ok, err := Counts(`{"msg":"finished","checkpoint":3}`, same); err != nil || ok {
		t.Errorf("a start behind the end: %v, %v, %v", got, ok, err)
	}
	for _, bad := range []string{`{"msg":"stopped","counts":{"orders read":5}}`, `{"msg":"stopped","counts":{"orders read orders/x":5}}`} {
		if got, _, err := Counts(bad, same); err == nil {
			t.Errorf("%s is taken as %v", bad, got)
		}
	}
}

func TestOrder(t *testing.T) {
	at := func(partition int32, key string, minute int) Record {
		return Record{Partition: partition, Key: []byte(key), Time: time.Date(2026, 1, 31, 12, minute, 0, 0, time.UTC)}
	}
	if got := Order([]Record{at(0, "ada", 1), at(0, "ken", 0), at(0, "ada", 1), at(0, "ada", 2), at(1, "ada", 0)}); got != "" {
		t.Error(got)
	}
	if Order([]Record{at(0, "ada", 2), at(0, "ken", 0), at(0, "ada", 1)}) == "" {
		t.Error("a result behind one of a later window is not seen")
	}
}
