package runtime

import (
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// SinkSpec declares a sink.
type SinkSpec struct {
	Name, Place string
	Topic       Setting
	Deliver     Delivery
}

// Delivery is the guarantee of a sink.
type Delivery uint8

const (
	ExactlyOnce Delivery = iota // visible when the checkpoint is complete that holds its input
	AtLeastOnce                 // flushed before the checkpoint
	DeliverNone                 // not flushed
)

// Sink collects the records for a topic in a slab, and hands it on when it is
// full and at a barrier: no call to the producer per record.
type Sink struct {
	spec        SinkSpec
	topic       string
	deadLetters bool
	task        *Task
	out         *counter

	slab    *record.Slab
	headers int         // bytes that the slab's headers hold
	current record.Span // the record that is being written
	scratch []byte      // for the text of a header
}

// slabSize is when a sink hands on what it has, in bytes of keys, values and headers. Several make one produce request; smaller ones go
// round sooner and stay in the cache.
const slabSize = 64 << 10

// Sink declares a sink.
func (t *Task) Sink(spec SinkSpec) *Sink {
	return t.newSink(spec, t.topic(spec.Topic, "the topic of sink "+spec.Name+" ("+spec.Place+")"))
}

func (t *Task) newSink(spec SinkSpec, topic string) *Sink {
	s := &Sink{
		spec: spec, topic: topic, task: t,
		out:  t.counter(spec.Name, spec.Place, countOut),
		slab: &record.Slab{Sink: len(t.sinks)},
	}
	t.sinks = append(t.sinks, s)
	return s
}

func (s *Sink) declaration() engine.SinkSpec {
	return engine.SinkSpec{Name: s.spec.Name, Place: s.spec.Place, Topic: s.topic, Deliver: engine.Delivery(s.spec.Deliver)}
}

// Begin starts a record with the given key, or none if it is nil. The caller
// appends the value to what Begin returns and gives that to End.
func (s *Sink) Begin(key []byte) []byte {
	data := s.slab.Data
	s.current = record.Span{Start: len(data), KeyEnd: len(data) + len(key), HasKey: key != nil, Headers: len(s.slab.Headers)}
	if t := s.task; t.origin > 0 && uint(t.batch.i) < uint(len(t.batch.records)) {
		s.current.Origin, s.current.Offset = int32(t.origin), t.batch.records[t.batch.i].Offset
	}
	return append(data, key...)
}

// End completes the record that Begin started. at is its event time.
func (s *Sink) End(b []byte, at Time) {
	slab := s.slab
	slab.Data = b
	s.current.End, s.current.HeaderEnd, s.current.Time = len(b), len(slab.Headers), int64(at)
	slab.Records = append(slab.Records, s.current)
	s.out.n[s.task.origin]++
	if len(b)+s.headers >= slabSize {
		s.flush()
	}
}

// header adds a header to the record that is being written.
func (s *Sink) header(key string, value []byte) {
	slab := s.slab
	start := len(slab.HeaderText)
	slab.HeaderText = append(slab.HeaderText, value...)
	slab.Headers = append(slab.Headers, record.SlabHeader{Key: key, Start: start, End: len(slab.HeaderText)})
	s.headers += len(key) + len(value) + record.SlabHeaderSize
}

// flush hands the slab on if it holds anything.
func (s *Sink) flush() {
	if len(s.slab.Records) > 0 {
		s.slab.Origins = s.task.origins
		s.slab = s.task.out.Slab(s.slab)
		s.headers = 0
	}
}
