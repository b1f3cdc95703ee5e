package runtime_test

import (
	"testing"

	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// The pipeline of the tests is that of examples/orders.eo. What eoc has generated for its records is in generated_test.go; what
// it declares is here, so that tests can change it:
//
//	source orders: Order from kafka("orders") { format json  time at  watermark 5s  on_error dlq("orders.dlq") }
//	stream user_totals {
//	  from      orders
//	  where     amount > 0
//	  window    tumbling 1m by user_id grace 10s late to orders_late
//	  aggregate total = sum(amount), orders = count()
//	  to        totals
//	}
//	sink totals to kafka("user-totals") { key user_id }
//	sink orders_late to kafka("orders-late") {}

func ordersPipeline() rt.Pipeline { return ordersWith(func(*rt.SourceSpec) {}) }

// ordersWith is the pipeline with another source.
func ordersWith(change func(*rt.SourceSpec)) rt.Pipeline {
	return rt.Pipeline{
		Name: "orders", File: "orders.eo",
		Checkpoint: rt.Second, TxnTimeout: 2 * rt.Minute, Parallelism: 1,
		StateDir: rt.Setting{Text: "./state"}, TxnPrefix: rt.Setting{Text: "orders"},
		RestartMin: rt.Second, RestartMax: rt.Minute,
		State: []rt.StateForm{{ID: "orders", Place: "orders.eo:8", Form: "orders Order"}},
		Build: rt.Build(func(t *rt.Task) *pipeline { return build(t, change) }),
	}
}

// pipeline is one task's copy of the operators.
type pipeline struct {
	orders          *rt.Source
	ordersJSON      *rt.JSON
	userTotalsWhere *rt.Clause
	userTotals      *rt.Tumbling[userTotalsState, userTotalsInput]
	totals          *rt.Sink
	ordersLate      *rt.Sink
}

func build(t *rt.Task, change func(*rt.SourceSpec)) *pipeline {
	p := new(pipeline)
	spec := rt.SourceSpec{
		Name:         "orders",
		Place:        "orders.eo:8",
		Topic:        rt.Setting{Text: "orders"},
		HasWatermark: true,
		Watermark:    5 * rt.Second,
		Idle:         30 * rt.Second,
		Skew:         rt.Hour,
		OnError:      rt.DLQ(rt.Setting{Text: "orders.dlq"}),
	}
	change(&spec)
	p.orders = t.Source(spec, p.readOrders)
	p.ordersJSON = newOrderJSON()
	p.userTotalsWhere = t.Clause("user_totals/where", "orders.eo:17")
	p.userTotals = rt.NewTumbling(t, rt.TumblingSpec[userTotalsState, userTotalsInput]{
		Name:    "user_totals/window",
		Place:   "orders.eo:18",
		Sources: []*rt.Source{p.orders},
		Size:    rt.Minute,
		Grace:   10 * rt.Second,
		Fold:    p.foldUserTotals,
		Close:   p.closeUserTotals,
		Append:  appendUserTotalsState,
		Read:    readUserTotalsState,
	})
	p.totals = t.Sink(rt.SinkSpec{Name: "totals", Place: "orders.eo:23", Topic: rt.Setting{Text: "user-totals"}})
	p.ordersLate = t.Sink(rt.SinkSpec{Name: "orders_late", Place: "orders.eo:27", Topic: rt.Setting{Text: "orders-late"}})
	return p
}

// newRun is a run of orders in memory.
func newRun(t testing.TB, p rt.Pipeline, cfg rttest.Config) *rttest.Run {
	t.Helper()
	r, err := rttest.New(p, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
