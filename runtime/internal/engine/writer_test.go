package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// noteSink writes down what it is asked to do. Preparing takes a second.
type noteSink struct {
	Sink
	mu    sync.Mutex
	notes []string
}

func (s *noteSink) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

func (s *noteSink) read() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

func (s *noteSink) Begin(_ context.Context, n int64) error { s.note("begin %d", n); return nil }

func (s *noteSink) Write(_ context.Context, slab *record.Slab) error {
	s.note("%s", slab.Data)
	return nil
}

func (s *noteSink) Prepare(_ context.Context, n int64, _ []Position) (checkpoint.Committable, []checkpoint.Written, error) {
	time.Sleep(time.Second)
	s.note("prepared %d", n)
	return checkpoint.Committable{}, nil, nil
}

// TestOutputWaitsForTheTransactionBefore has one task ahead of the other. What it sends for transaction 2 does not reach the sink
// before everything of transaction 1 is acknowledged, and transaction 3 does not begin before 1 is committed.
func TestOutputWaitsForTheTransactionBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sink := &noteSink{}
		w := newWriter(make([]sinkTally, 1))
		w.sink = sink
		w.begin(2, 0)
		defer context.AfterFunc(ctx, w.close)()
		done := make(chan prepare, 3)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.run(ctx, done) // its error is that ctx has ended
		}()
		task := func(name string, late time.Duration) {
			for n := int64(1); n <= 3; n++ {
				time.Sleep(late)
				w.put(ctx, n, output{slab: &record.Slab{Data: fmt.Appendf(nil, "%s%d", name, n)}})
				w.put(ctx, n, output{barrier: &barrier{n: n}})
			}
		}
		go task("a", 0)
		go task("b", time.Minute)
		time.Sleep(time.Hour)
		want := []string{"begin 1", "a1", "b1", "prepared 1", "begin 2", "a2", "b2", "prepared 2"}
		if got := sink.read(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		w.commit(1)
		synctest.Wait()
		// Both tasks have waited for transaction 3, so either may be the first in it.
		want = append(want, "begin 3", "a3", "b3")
		got := sink.read()
		slices.Sort(got[min(len(want)-2, len(got)):])
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		cancel()
		<-ended
		synctest.Wait()
	})
}

// TestLargeSlabsGo: a slab that has held a large record, or many headers, is not kept. Each of the free ones would become as large in time.
func TestLargeSlabsGo(t *testing.T) {
	w := newWriter(make([]sinkTally, 1))
	for name, s := range map[string]*record.Slab{
		"record":  {Data: make([]byte, keptBytes+1)},
		"header":  {HeaderText: make([]byte, keptBytes+1)},
		"headers": {Headers: make([]record.SlabHeader, keptBytes/record.SlabHeaderSize+1)},
	} {
		w.recycle(s)
		if w.empty(0) == s {
			t.Errorf("large %s: the slab is kept", name)
		}
	}
	s := &record.Slab{Data: make([]byte, 64<<10), Headers: []record.SlabHeader{{Key: "name"}}, Origins: make([]record.Origin, 1)}
	w.recycle(s)
	if w.empty(0) != s || len(s.Data) > 0 || s.Headers[:1][0].Key != "" || s.Origins != nil {
		t.Errorf("%+v: it is not kept, or not empty", s)
	}
}
