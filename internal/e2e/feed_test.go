//go:build unix

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/reference"
)

const (
	pace          = 5 * time.Millisecond // from one piece to the next
	slow          = 10                   // times slower when a phase has had its share, so that the input lasts,
	slower        = 50                   // twice as slow with each so-manieth part of what was left that goes out so,
	slowest       = 10 * slow            // to here: a machine that is busy must not use up the input of the phases behind
	smallestPiece = 4
	largestPiece  = 5000
)

// feeder writes the input to its topics, piece by piece, whether the program lives or not. The input is shared out among phases:
// most of a phase's share goes out at its start, and then ever smaller pieces, so that there is always something new to read, however long
// the phase lasts. It begins with the first phase.
type feeder struct {
	broker *kafkatest.Broker
	rng    *rand.Rand
	parts  []*stretch
	stop   func()        // between two pieces: one that is cut off might be written or not
	done   chan struct{} // closed when the goroutine has ended

	sending sync.Mutex // held while a piece is on its way: parts and rng are its
	mu      sync.Mutex
	quota   int // records of the phase's share that are not sent; negative when it has had more
	stock   int // records that were left when the phase began
	rest    int // beats since the last piece
	begun   bool
	pieces  int // sent so far
	err     error
	sent    chan struct{} // closed and replaced with every piece
}

// stretch is what one partition has still to get.
type stretch struct {
	topic     string
	partition int32
	records   []kafkatest.Record
}

// newFeeder writes the input of a load until the test ends.
func newFeeder(t testing.TB, p *pipeline, l *load) *feeder {
	f := &feeder{broker: p.upstream, rng: rand.New(rand.NewPCG(l.seed, 1)), done: make(chan struct{}), sent: make(chan struct{})}
	for written, topic := range p.topics {
		source := p.source(written)
		if source == nil {
			continue
		}
		for id, records := range l.input[source.Name] {
			f.parts = append(f.parts, &stretch{topic, int32(id), wire(int32(id), records)})
		}
	}
	stop := make(chan struct{})
	f.stop = sync.OnceFunc(func() { close(stop) })
	go func() {
		defer close(f.done)
		f.loop(stop)
	}()
	t.Cleanup(func() {
		f.stop()
		<-f.done
	})
	return f
}

// wire is records as they are produced.
func wire(partition int32, records []reference.Record) []kafkatest.Record {
	out := make([]kafkatest.Record, len(records))
	for i, r := range records {
		out[i] = kafkatest.Record{Partition: partition, Key: r.Key, Value: r.Value, Time: time.UnixMicro(r.Time)}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, kafkatest.Header{Key: h.Key, Value: h.Value})
		}
	}
	return out
}

func (f *feeder) loop(stop <-chan struct{}) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if !f.beat() {
			return
		}
	}
}

// beat sends a piece if it is time for one, and says whether there is more.
func (f *feeder) beat() bool {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.mu.Lock()
	size := min(max(smallestPiece, f.quota/16), largestPiece)
	f.rest++
	if !f.begun || f.rest < f.beats() {
		size = 0
	} else {
		f.rest = 0
	}
	f.quota -= size
	f.mu.Unlock()
	return size == 0 || f.piece(size)
}

// beats is from one piece to the next.
func (f *feeder) beats() int {
	if f.quota > 0 {
		return 1
	}
	return min(slow-f.quota*slow*slower/f.stock, slowest)
}

// piece sends about n records, to each partition in proportion to what it has still to get, and says whether there is more.
func (f *feeder) piece(n int) bool {
	left := f.unsent()
	var err error
	for _, s := range f.parts {
		share := n*len(s.records)/left + f.rng.IntN(2)
		count := min(share, len(s.records))
		if count > 0 && err == nil {
			err = f.broker.Send(context.Background(), s.topic, s.records[:count]...)
			s.records = s.records[count:]
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pieces++
	f.err = err
	close(f.sent)
	f.sent = make(chan struct{})
	return err == nil && f.unsent() > 0
}

// left is how many records are still to be sent.
func (f *feeder) left() int {
	f.sending.Lock()
	defer f.sending.Unlock()
	return f.unsent()
}

func (f *feeder) unsent() int {
	n := 0
	for _, s := range f.parts {
		n += len(s.records)
	}
	return n
}

// pause stops the feeder until the next phase. What it has sent is with the broker then.
func (f *feeder) pause() {
	f.sending.Lock() // a piece may be on its way until then
	defer f.sending.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = false
}

// phase lets so much of the input out.
func (f *feeder) phase(records int) {
	left := f.left()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.quota, f.stock, f.begun = records, max(1, left), true
}

// shares begins, each time that next is called, a phase with one of n equal shares of the input. Of what goes out beyond one
// share all those behind it have less, so that the last one has some.
func (f *feeder) shares(n int) (next func()) {
	return func() {
		f.phase(f.left() / n)
		n = max(1, n-1)
	}
}

// nudge sends a little more, also while the feeder is paused. It is with the broker then.
func (f *feeder) nudge(t testing.TB) {
	t.Helper()
	f.sending.Lock()
	defer f.sending.Unlock()
	for before := f.unsent(); before > 0 && f.unsent() == before && f.failure() == nil; {
		f.piece(smallestPiece) // which may be nothing
	}
	if err := f.failure(); err != nil {
		t.Fatalf("feed: %v", err)
	}
}

// await waits until n further pieces have been sent.
func (f *feeder) await(ctx context.Context, n int) error {
	f.mu.Lock()
	target := f.pieces + n
	f.mu.Unlock()
	for {
		f.mu.Lock()
		pieces, err, sent := f.pieces, f.err, f.sent
		f.mu.Unlock()
		if pieces >= target || err != nil {
			return err
		}
		select {
		case <-sent:
		case <-f.done:
			return fmt.Errorf("the input is used up")
		case <-ctx.Done():
			return fmt.Errorf("waiting for the feeder to send %d pieces, of which it has sent %d: %w", n, n-(target-pieces), context.Cause(ctx))
		}
	}
}

// failure is why the feeder has ended before its time, nil if it has not.
func (f *feeder) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// finish sends the rest, and then the last records of each source's partitions.
func (f *feeder) finish(t testing.TB, p *pipeline, last reference.Input) {
	t.Helper()
	f.stop()
	<-f.done
	for f.err == nil && f.left() > 0 {
		f.piece(largestPiece)
	}
	if f.err != nil {
		t.Fatalf("feed: %v", f.err)
	}
	for written, topic := range p.topics {
		if source := p.source(written); source != nil {
			for id, records := range last[source.Name] {
				p.upstream.Produce(t, topic, wire(int32(id), records)...)
			}
		}
	}
}
