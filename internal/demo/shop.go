package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

// What examples/orders.eo says about time.
const (
	window   = time.Minute
	disorder = 5 * time.Second
	grace    = 10 * time.Second
)

const (
	batch      = 100                   // orders sent at once
	batchEvery = 50 * time.Millisecond // so about 2,000 orders a second
	batchSpans = 10 * time.Second      // of event time: a window fills in a third of a second
)

// order is one record of the topic. A bad one is no order at all.
type order struct {
	user  string
	cents int64
	at    time.Time
	bad   bool
}

// shop makes orders and remembers what it has sent.
type shop struct {
	random *rand.Rand
	users  []string
	now    time.Time // event time of the next batch
	sent   atomic.Int64
	// logs has the orders of each partition in the order of their offsets, as the broker acknowledged them.
	logs [partitions][]order
}

func newShop(seed uint64) *shop {
	return &shop{
		random: rand.New(rand.NewPCG(seed, 0)),
		users:  []string{"ada", "alan", "barbara", "dennis", "edsger", "frances", "grace", "john", "katherine", "ken", "leslie", "tony"},
		now:    time.Now().Add(-24 * time.Hour).Truncate(window),
	}
}

// feed sends orders until there are at least least and enough is closed, then one order an hour later
// to each partition: it closes all windows before.
func (s *shop) feed(ctx context.Context, client *devkafka.Client, least int, enough <-chan struct{}) error {
	tick := time.NewTicker(batchEvery)
	defer tick.Stop()
	for wait := enough; wait != nil || s.sent.Load() < int64(least); {
		orders := make([]order, batch)
		for i := range orders {
			orders[i] = s.order()
		}
		if err := s.send(ctx, client, devkafka.ByKey, orders...); err != nil {
			return err
		}
		s.now = s.now.Add(batchSpans)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case <-wait:
			wait = nil
		default:
		}
	}
	for p := range int32(partitions) {
		if err := s.send(ctx, client, p, order{user: "closing", cents: 1, at: s.now.Add(time.Hour)}); err != nil {
			return err
		}
	}
	return nil
}

// order makes one up: out of order within what the source allows, now and then much too late, without a
// price, or not even JSON.
func (s *shop) order() order {
	o := order{
		user:  s.users[s.random.IntN(len(s.users))],
		cents: 1 + s.random.Int64N(100_00),
		at:    s.now.Add(time.Duration(s.random.Int64N(int64(batchSpans)))).Truncate(time.Millisecond),
	}
	switch s.random.IntN(200) {
	case 0:
		o.at = o.at.Add(-5 * time.Minute)
	case 1:
		o.cents = 0
	case 2:
		o.bad = true
	}
	return o
}

func (s *shop) send(ctx context.Context, client *devkafka.Client, partition int32, orders ...order) error {
	records := make([]devkafka.Record, len(orders))
	for i, o := range orders {
		records[i] = devkafka.Record{Partition: partition, Key: []byte(o.user), Value: []byte(o.json()), Time: o.at}
	}
	if err := client.Send(ctx, ordersTopic, records); err != nil {
		return err
	}
	for i, r := range records {
		s.logs[r.Partition] = append(s.logs[r.Partition], orders[i])
	}
	s.sent.Add(int64(len(orders)))
	return nil
}

func (o order) json() string {
	if o.bad {
		return fmt.Sprintf(`{"user_id": %q, "amount": `, o.user)
	}
	return fmt.Sprintf(`{"user_id": %q, "amount": %s, "at": %q}`, o.user, money(o.cents), o.at.Format(time.RFC3339Nano))
}

// slot is a user's minute.
type slot struct {
	user  string
	start time.Time
}

// total is what a user has spent in a minute.
type total struct{ cents, orders int64 }

// expectation is what there should be in the topics when all windows before the closing orders are closed.
type expectation struct {
	totals    map[slot]total
	late, bad int
	filtered  int // without a price
	open      int // the closing orders, whose window stays open
}

// sent is how many orders there are in all.
func (e expectation) sent() int {
	n := e.late + e.bad + e.filtered + e.open
	for _, t := range e.totals {
		n += int(t.orders)
	}
	return n
}

// expect computes it from the partitions' contents, as the language has it: an order is late when the
// watermark of its own partition, the greatest event time less the disorder, has passed its window's end and grace.
func (s *shop) expect() expectation {
	e := expectation{totals: map[slot]total{}}
	for _, log := range s.logs {
		var watermark time.Time
		for _, o := range log {
			if o.bad {
				e.bad++
				continue
			}
			if w := o.at.Add(-disorder); w.After(watermark) {
				watermark = w
			}
			at := slot{o.user, o.at.Truncate(window).UTC()}
			switch {
			case o.cents <= 0:
				e.filtered++
			case o.user == "closing":
				e.open++
			case !watermark.Before(at.start.Add(window + grace)):
				e.late++
			default:
				t := e.totals[at]
				e.totals[at] = total{t.cents + o.cents, t.orders + 1}
			}
		}
	}
	return e
}

// byUser sums totals up, sorted by user.
func byUser(totals map[slot]total) (users []string, sums map[string]total) {
	sums = map[string]total{}
	for at, t := range totals {
		sum, known := sums[at.user]
		if !known {
			users = append(users, at.user)
		}
		sums[at.user] = total{sum.cents + t.cents, sum.orders + t.orders}
	}
	slices.Sort(users)
	return users, sums
}

func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
