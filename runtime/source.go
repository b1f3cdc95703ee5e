package runtime

import (
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// SourceSpec declares a source. Place is where the .eo file declares it, such as `orders.eo:8`.
type SourceSpec struct {
	Name, Place string
	Topic       Setting
	Connection  *Connection // of its own; nil: that of the pipeline

	HasWatermark bool // windows may read it
	Watermark    Time // how far out of order its records are
	Idle         Time // after this long without anything new a partition holds no window open; 0: never
	Skew         Time // how far ahead of its Kafka timestamp an event may move the watermark; 0: any

	Start           StartAt
	StartTime       Time    // of AtTime
	StartGroup      Setting // of AtGroup
	ReadUncommitted bool

	OnError    OnError
	DLQDeliver Delivery // of the dead-letter topic
	FailOnNull bool     // a record without a value is an error; else it is counted and skipped
}

// StartAt is where a source begins when the pipeline starts for the first time.
type StartAt uint8

const (
	Earliest StartAt = iota
	Latest
	AtTime  // at the first record with this Kafka timestamp or a later one
	AtGroup // at the committed offsets of a consumer group
)

// OnError is what becomes of records that cannot be used. The zero OnError is Fail.
type OnError struct {
	mode  onErrorMode
	topic Setting
}

type onErrorMode uint8

// The stricter the less.
const (
	failOnError onErrorMode = iota
	dlqOnError
	skipOnError
)

// Fail, which is the default, stops the pipeline, Skip counts the record, DLQ writes it as it came to a topic, with
// the reason and its place in headers.
func Fail() OnError             { return OnError{mode: failOnError} }
func Skip() OnError             { return OnError{mode: skipOnError} }
func DLQ(topic Setting) OnError { return OnError{mode: dlqOnError, topic: topic} }

// Source is a topic as one task reads it.
type Source struct {
	spec  SourceSpec
	topic string
	group string // of AtGroup
	reach int    // number of its connection; see engine.SourceSpec
	index int    // of the task's sources
	task  *Task

	process  func(*Batch)
	batch    Batch
	disorder Time // spec.Watermark, short enough not to overflow
	skew     Time // spec.Skew likewise; 0: any
	dlq      *Sink

	read, null, ahead *counter
	rejected          *refusals
}

// Source declares a source whose batches process takes.
func (t *Task) Source(spec SourceSpec, process func(*Batch)) *Source {
	s := &Source{
		spec: spec, index: len(t.sources), task: t, process: process,
		topic:    t.topic(spec.Topic, "the topic of source "+spec.Name+" ("+spec.Place+")"),
		disorder: min(spec.Watermark, longerThanTime),
		read:     t.counter(spec.Name, spec.Place, countRead),
		null:     t.counter(spec.Name, spec.Place, countNull),
		rejected: t.refusals(spec.Name, spec.Place),
		ahead:    t.counter(spec.Name, spec.Place, countAhead),
	}
	s.reach = t.connect(spec)
	if spec.HasWatermark {
		s.skew = min(spec.Skew, longerThanTime)
	}
	if spec.Start == AtGroup {
		s.group = t.resolve(spec.StartGroup, "the group that source "+spec.Name+" ("+spec.Place+") starts at")
	}
	t.sources = append(t.sources, s)
	return s
}

func (s *Source) declaration() engine.SourceSpec {
	d := engine.SourceSpec{
		Name: s.spec.Name, Place: s.spec.Place, Topic: s.topic, Connection: s.reach,
		Idle: s.spec.Idle.duration(), Start: engine.Start(s.spec.Start), StartGroup: s.group,
		ReadUncommitted: s.spec.ReadUncommitted,
	}
	if s.spec.Start == AtTime {
		d.StartTime = time.UnixMicro(int64(s.spec.StartTime)).UTC()
	}
	return d
}

// take takes a batch through the pipeline, and moves the partition's watermark on.
func (s *Source) take(p *engine.Partition, records []record.Record) error {
	t := s.task
	for i, op := range t.operators {
		floor := MinTime
		if i < len(p.Floor) {
			floor = Time(p.Floor[i])
		}
		op.begin(floor)
	}
	b := &s.batch
	*b = Batch{records: records, rest: len(records), i: -1, source: s, part: p, origin: t.origin, watermark: Time(p.Watermark)}
	t.batch = b
	s.process(b)
	s.read.n[t.origin] += int64(len(records))
	p.Watermark = int64(b.watermark)
	for _, op := range t.operators {
		t.fail(op.end())
	}
	t.freeScratch()
	return t.err
}
