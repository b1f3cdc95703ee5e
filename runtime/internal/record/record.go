// Package record holds what passes between Kafka and the operators: records that were
// read, and slabs of records to be written. It is a leaf.
package record

import "math"

// NoTime is the Time of a record without a timestamp.
const NoTime = math.MinInt64

// Record is one record of a topic. Its bytes belong to the fetch buffer and are valid
// until the batch that they came in is done.
type Record struct {
	Key, Value []byte // nil is a Kafka null
	Headers    []Header
	Offset     int64
	Time       int64 // Kafka timestamp in microseconds since 1970, or NoTime
}

// Header is a Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// Slab is many encoded records for one topic, in one piece of memory: keys and values
// one behind the other in Data. A task fills it, the sink writer sends it and hands it
// back when the broker has acknowledged every record of it.
type Slab struct {
	Sink       int // index of the pipeline's sinks
	Data       []byte
	Records    []Span
	Headers    []SlabHeader
	HeaderText []byte
	Origins    []Origin // of its task: what Span.Origin counts in
}

// Origin is a source partition that records come from.
type Origin struct {
	Topic     string
	Partition int32
}

// Span is one record of a Slab.
type Span struct {
	Start, KeyEnd, End int // Data[Start:KeyEnd] is the key, Data[KeyEnd:End] the value
	HasKey             bool
	Headers, HeaderEnd int // Headers[Headers:HeaderEnd]
	Time               int64
	Origin             int32 // of the record that it was made of, in Slab.Origins; 0: of several, as results of windows are
	Offset             int64 // and where in that partition
}

// SlabHeader is a header whose value is HeaderText[Start:End].
type SlabHeader struct {
	Key        string
	Start, End int
}

// Reset empties the slab and keeps its memory.
func (s *Slab) Reset() {
	clear(s.Headers) // their names are memory of their own
	s.Data, s.Records = s.Data[:0], s.Records[:0]
	s.Headers, s.HeaderText = s.Headers[:0], s.HeaderText[:0]
	s.Origins = nil
}

// SlabHeaderSize is about what a header holds beside its text, here and on its way to the broker.
const SlabHeaderSize = 80

// HeaderSize is about what the headers hold.
func (s *Slab) HeaderSize() int {
	n := len(s.HeaderText) + SlabHeaderSize*len(s.Headers)
	for _, h := range s.Headers {
		n += len(h.Key)
	}
	return n
}
