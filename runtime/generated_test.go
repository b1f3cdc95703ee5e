package runtime_test

// What golden/orders has beside main.go, in one file.

import rt "github.com/eoc-lang/eoc/runtime"

// Order is a record of source orders (orders.eo:2).
type Order struct {
	UserID []byte // points into the batch
	Amount int64  // decimal(12, 2): hundredths
	At     rt.Time
}

// The fields of Order, as newOrderJSON numbers them.
const (
	orderUserID = iota
	orderAmount
	orderAt
)

func newOrderJSON() *rt.JSON {
	return rt.NewJSON([]rt.Field{
		orderUserID: {Name: "user_id"},
		orderAmount: {Name: "amount"},
		orderAt:     {Name: "at"},
	})
}

// readOrders takes a batch of topic orders through the streams that read it.
func (p *pipeline) readOrders(in *rt.Batch) {
	var o Order
	for in.Next() {
		// orders.eo:9: format json
		if !o.readJSON(p.ordersJSON, in.Value()) {
			in.Reject(p.ordersJSON.Fault()) // orders.eo:12: on_error dlq("orders.dlq")
			continue
		}
		// orders.eo:10: time at
		in.Observe(o.At)

		p.addUserTotals(in, &o) // orders.eo:16: from orders
	}
}

// readJSON reads an order from value. It returns false if value is not one.
func (o *Order) readJSON(c *rt.JSON, value []byte) bool {
	for c.Begin(value); c.Next(); {
		switch c.Field() {
		case orderUserID:
			o.UserID = c.String()
		case orderAmount:
			o.Amount = c.Decimal(12, 2)
		case orderAt:
			o.At = c.Time()
		}
	}
	return c.End()
}

// userTotalsInput is what an order adds to its window.
type userTotalsInput struct {
	amount int64 // decimal(12, 2): hundredths
}

// userTotalsState is what is kept for one user id in one window (orders.eo:19).
type userTotalsState struct {
	total  rt.Int128 // sum(amount), decimal(38, 2): hundredths
	orders int64     // count()
}

// UserTotals is a result of stream user_totals.
type UserTotals struct {
	UserID      []byte // points into the window
	WindowStart rt.Time
	WindowEnd   rt.Time
	Total       rt.Int128 // decimal(38, 2): hundredths
	Orders      int64
}

// addUserTotals takes an order as far as its window.
func (p *pipeline) addUserTotals(in *rt.Batch, o *Order) {
	// orders.eo:17: where amount > 0
	if !(o.Amount > 0) {
		p.userTotalsWhere.Filter(in)
		return
	}

	// orders.eo:18: window tumbling 1m by user_id grace 10s late to orders_late
	if !p.userTotals.Add(in, o.UserID, o.At, userTotalsInput{o.Amount}) {
		p.writeOrdersLate(o, o.At)
	}
}

// foldUserTotals adds the rows of a batch to the states of their windows.
func (p *pipeline) foldUserTotals() {
	for s, in := range p.userTotals.Pending() {
		// orders.eo:19: aggregate total = sum(amount), orders = count()
		s.total.Add(in.amount)
		s.orders++
	}
}

// closeUserTotals sends the results of a window that has closed.
func (p *pipeline) closeUserTotals(w *rt.Pane[userTotalsState]) {
	for userID, s := range w.All() {
		// orders.eo:20: to totals
		p.writeTotals(&UserTotals{
			UserID:      userID,
			WindowStart: w.Start,
			WindowEnd:   w.End,
			Total:       s.total,
			Orders:      s.orders,
		}, w.End-rt.Millisecond)
	}
}

// The form of userTotalsState in a checkpoint.

func appendUserTotalsState(b []byte, s *userTotalsState) []byte {
	b = rt.AppendStateInt128(b, s.total)
	return rt.AppendStateInt(b, s.orders)
}

func readUserTotalsState(b []byte, s *userTotalsState) []byte {
	s.total, b = rt.ReadStateInt128(b)
	s.orders, b = rt.ReadStateInt(b)
	return b
}

// writeTotals sends a result to topic user-totals.
func (p *pipeline) writeTotals(r *UserTotals, at rt.Time) {
	// orders.eo:24: key user_id
	b := p.totals.Begin(r.UserID)
	b = append(b, `{"user_id":`...)
	b = rt.AppendString(b, r.UserID)
	b = append(b, `,"window_start":`...)
	b = rt.AppendTime(b, r.WindowStart)
	b = append(b, `,"window_end":`...)
	b = rt.AppendTime(b, r.WindowEnd)
	b = append(b, `,"total":`...)
	b = rt.AppendDecimal128(b, r.Total, 2)
	b = append(b, `,"orders":`...)
	b = rt.AppendInt(b, r.Orders)
	b = append(b, '}')
	p.totals.End(b, at)
}

// writeOrdersLate sends an order to topic orders-late.
func (p *pipeline) writeOrdersLate(r *Order, at rt.Time) {
	b := p.ordersLate.Begin(nil)
	b = append(b, `{"user_id":`...)
	b = rt.AppendString(b, r.UserID)
	b = append(b, `,"amount":`...)
	b = rt.AppendDecimal(b, r.Amount, 2)
	b = append(b, `,"at":`...)
	b = rt.AppendTime(b, r.At)
	b = append(b, '}')
	p.ordersLate.End(b, at)
}
