package kafka

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// flight is a slab on its way: its records as the client wants them. It lives until each of them is
// acknowledged or has failed. Flights are used again, so that a record costs no allocation.
type flight struct {
	slab    *record.Slab
	lane    *lane
	tally   *tally
	records []kgo.Record
	headers []kgo.RecordHeader
	left    int // records without an answer; the client gives the answers one after the other
	good    int64
	answer  func(*kgo.Record, error)
	land    func(*flight)
}

// lane is the way of one sink's records to its topic.
type lane struct {
	topic   string
	limit   int32 // bytes of a batch, and so of a record
	deliver engine.Delivery
	clamped occasions // records whose timestamp was moved into what brokers take
	lost    occasions // records of delivery none that did not arrive
}

// tally counts the records of one transaction, or since one checkpoint.
type tally struct {
	sent   int64 // by the writer's goroutine
	acked  atomic.Int64
	err    atomic.Pointer[error] // the first send error
	places places                // where acknowledged records are; nil: nobody wants to know
	check  func(*kgo.Record) error
	// fail says what it means that a record of a flight was refused; nil: it is lost, and nothing more.
	fail func(f *flight, r *kgo.Record, err error) error
}

func (t *tally) failure() error {
	if err := t.err.Load(); err != nil {
		return *err
	}
	return nil
}

func newFlight(land func(*flight)) *flight {
	f := &flight{land: land}
	f.answer = f.answered
	return f
}

// load makes the client's records from a slab. now is the latest timestamp that a record gets: brokers
// refuse those more than an hour ahead (message.timestamp.after.max.ms), and would do so after each restart again.
func (f *flight) load(s *record.Slab, l *lane, t *tally, now int64) {
	f.slab, f.lane, f.tally, f.left, f.good = s, l, t, len(s.Records), 0
	if cap(f.records) < len(s.Records) {
		f.records = make([]kgo.Record, len(s.Records))
	}
	f.records = f.records[:len(s.Records)]
	f.headers = f.headers[:0]
	for _, h := range s.Headers {
		f.headers = append(f.headers, kgo.RecordHeader{Key: h.Key, Value: s.HeaderText[h.Start:h.End:h.End]})
	}
	var clamped int64
	for i := range s.Records {
		span := &s.Records[i]
		at := span.Time
		switch {
		case at == record.NoTime:
			at = now
		case at < 0:
			at, clamped = 0, clamped+1
		case at > now:
			at, clamped = now, clamped+1
		}
		r := &f.records[i]
		*r = kgo.Record{Topic: l.topic, Timestamp: time.UnixMicro(at)}
		if span.HasKey {
			r.Key = slice(s.Data, span.Start, span.KeyEnd)
		}
		r.Value = slice(s.Data, span.KeyEnd, span.End)
		if span.Headers < span.HeaderEnd {
			r.Headers = f.headers[span.Headers:span.HeaderEnd:span.HeaderEnd]
		}
	}
	if clamped > 0 {
		l.clamped.add(clamped)
	}
}

// slice is data[from:to], never nil: an empty value is not a null.
func slice(data []byte, from, to int) []byte {
	if from == to {
		return []byte{}
	}
	return data[from:to:to]
}

// send hands the records to the client. The client keeps the order in each partition.
func (f *flight) send(ctx context.Context, client *kgo.Client) {
	f.tally.sent += int64(len(f.records))
	for i := range f.records {
		client.Produce(ctx, &f.records[i], f.answer)
	}
}

func (f *flight) answered(r *kgo.Record, err error) {
	if err == nil && f.tally.check != nil {
		err = f.tally.check(r)
	}
	if err == nil {
		f.good++
		f.tally.places.note(f.slab.Sink, r)
	} else {
		f.refused(r, err)
	}
	if f.left--; f.left == 0 {
		f.tally.acked.Add(f.good)
		f.land(f)
	}
}

// refused keeps the first send error. (Here, since its address is taken: in answered each nil would be on the heap.)
func (f *flight) refused(r *kgo.Record, err error) {
	if f.tally.failure() != nil {
		return
	}
	if err = f.tally.fail(f, r, err); err != nil {
		f.tally.err.CompareAndSwap(nil, &err)
	}
}

// whence says what a record of the flight was made of.
func (f *flight) whence(r *kgo.Record) string {
	for i := range f.records {
		if &f.records[i] != r {
			continue
		}
		span := &f.slab.Records[i]
		if span.Origin > 0 {
			from := f.slab.Origins[span.Origin]
			return fmt.Sprintf("made of topic %s, partition %d, offset %d", from.Topic, from.Partition, span.Offset)
		}
		if span.Time != record.NoTime {
			return "a result of event time " + time.UnixMicro(span.Time).UTC().Format(time.RFC3339Nano)
		}
	}
	return "of no known origin"
}

// idleHeaders is how many headers a flight that is not in use keeps room for.
const idleHeaders = 4096

// hangar keeps flights that are not in use, and how many bytes are on their way.
type hangar struct {
	recycle func(*record.Slab)

	mu    sync.Mutex
	idle  []*flight
	bytes int
	freed chan struct{} // has a token when bytes became fewer
}

func newHangar(recycle func(*record.Slab)) *hangar {
	return &hangar{recycle: recycle, freed: make(chan struct{}, 1)}
}

// takeOff returns a flight for so many bytes, if there is room for them. One that is larger than all room
// goes alone.
func (h *hangar) takeOff(bytes, room int) (*flight, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes > 0 && h.bytes+bytes > room {
		return nil, false
	}
	h.bytes += bytes
	if n := len(h.idle); n > 0 {
		f := h.idle[n-1]
		h.idle = h.idle[:n-1]
		return f, true
	}
	return newFlight(h.land), true
}

// land takes back a flight whose records are all answered, and gives the slab back.
func (h *hangar) land(f *flight) {
	slab := f.slab
	bytes := weight(slab)
	f.slab, f.lane, f.tally = nil, nil, nil
	clear(f.records) // they point into the slab
	clear(f.headers)
	if cap(f.headers) > idleHeaders {
		f.headers = nil
	}
	h.mu.Lock()
	h.bytes -= bytes
	h.idle = append(h.idle, f)
	h.mu.Unlock()
	select {
	case h.freed <- struct{}{}:
	default:
	}
	h.recycle(slab)
}

// weight is what a slab counts for in the limit of bytes on their way: its contents, and about
// what the client keeps for each record.
func weight(s *record.Slab) int {
	const perRecord = 200
	return min(len(s.Data)+s.HeaderSize()+perRecord*len(s.Records), math.MaxInt32)
}
