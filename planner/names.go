package planner

import "github.com/eoc-lang/eoc/dsl"

// What the options of a graph can be, for those that know the planner and not the
// language: see the types of the same meaning in package dsl.
type (
	// OnError is what becomes of bad records of a source.
	OnError = dsl.OnError
	// OnErrorMode is fail, skip or dlq.
	OnErrorMode = dsl.OnErrorMode
	// StartAt is where a source begins at the first start.
	StartAt = dsl.StartAt
	// Delivery is the guarantee of a sink.
	Delivery = dsl.Delivery
	// Connection is how the Kafka cluster is reached.
	Connection = dsl.Connection
	// Branch is one way out of a Route.
	Branch = dsl.Route
)

// Modes of on_error, from the strictest.
const (
	OnErrorFail = dsl.Fail
	OnErrorDLQ  = dsl.DeadLetter
	OnErrorSkip = dsl.Skip
)

// Places where a source may start.
const (
	StartEarliest    = dsl.Earliest
	StartLatest      = dsl.Latest
	StartAtTimestamp = dsl.AtTimestamp
	StartAtGroup     = dsl.AtGroup
)

// Deliveries, from the strongest.
const (
	DeliverExactlyOnce = dsl.ExactlyOnce
	DeliverAtLeastOnce = dsl.AtLeastOnce
	DeliverNone        = dsl.None
)
