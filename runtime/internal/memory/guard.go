// Package memory knows how much memory the process may have and how much it holds, so that a pipeline whose state outgrows
// the machine ends with a message, before the system ends it without one. It is a leaf.
package memory

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Shares of the memory that the process may have, in percent.
const (
	mostHeld  = 90 // more than this is too much: the rest is for what is garbage until the next collection, and for growth between two looks
	tightHeld = 75 // more than this is worth a word
	ofMachine = 90 // of the memory of a machine or container, what the process takes for its own
)

// Limit makes Go keep within the memory of the machine or of the container, if the environment says nothing else: GOMEMLIMIT, which
// may be "off", is Go's own variable; to Go an empty one is none. It returns where the limit comes from, for messages.
func Limit(env func(string) (string, bool)) (from string) {
	if text, _ := env("GOMEMLIMIT"); text != "" {
		return "GOMEMLIMIT"
	}
	bytes, from := machine(os.DirFS("/"))
	if bytes > 0 {
		debug.SetMemoryLimit(bytes / 100 * ofMachine)
	}
	return from
}

// Guard watches that what the process holds stays below Go's memory limit. A nil Guard has no limit.
type Guard struct {
	limit int64
	from  string
	held  func() int64 // bytes

	mu sync.Mutex // of those who want more at once
}

// New makes a guard of Go's memory limit, whoever has set it; nil if there is none. from says where the limit comes from, if that is known.
func New(from string) *Guard {
	const ask = -1
	limit := debug.SetMemoryLimit(ask)
	if limit == math.MaxInt64 {
		return nil
	}
	if from == "" {
		from = "Go's memory limit"
	}
	return &Guard{limit: limit, from: from, held: held}
}

// String is the limit, for people.
func (g *Guard) String() string {
	if g == nil {
		return "none"
	}
	return fmt.Sprintf("%d MiB (%s)", g.limit>>20, g.from)
}

// Look returns what is wrong: that the process holds too much. tight says that it soon will.
func (g *Guard) Look() (tight bool, err error) {
	if g == nil {
		return false, nil
	}
	held := g.held()
	if held > g.share(mostHeld) {
		held = g.collected(g.share(mostHeld))
	}
	if held > g.share(mostHeld) {
		return true, g.exceeded(held, 0)
	}
	return held > g.share(tightHeld), nil
}

// collections is how many in a row have to find that too much is held. A collection takes for live what is allocated while it is at work, which is much
// if the limit is small and records come fast.
const collections = 2

// collected is what is held behind a collection: the first that finds no more than most, or the last one.
func (g *Guard) collected(most int64) (held int64) {
	for range collections {
		runtime.GC()
		if held = g.held(); held <= most {
			break
		}
	}
	return held
}

// Allocate calls allocate, which takes so many bytes at once, if there is room for them; else it returns what is wrong.
func (g *Guard) Allocate(bytes int64, allocate func()) error {
	if g == nil {
		allocate()
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if inUse()+bytes > g.share(mostHeld) {
		if held := g.collected(g.share(mostHeld) - bytes); held+bytes > g.share(mostHeld) {
			return g.exceeded(held, bytes)
		}
	}
	allocate()
	return nil
}

func (g *Guard) share(percent int64) int64 { return g.limit / 100 * percent }

func (g *Guard) exceeded(held, more int64) error {
	return &Exceeded{Held: held, More: more, Limit: g.limit, From: g.from}
}

// Exceeded says that the process holds more than it should.
type Exceeded struct {
	Held, More int64 // bytes that are held, and that were asked for at once
	Limit      int64
	From       string // where the limit comes from
}

func (e *Exceeded) Error() string {
	more := ""
	if e.More > 0 {
		more = fmt.Sprintf(" and %d more would be needed at once", e.More>>20)
	}
	return fmt.Sprintf("%d MiB are held%s, of %d MiB (%s)", e.Held>>20, more, e.Limit>>20, e.From)
}

// Needs is the limit with which so much would not be too much if so many bytes of it were not held.
func (e *Exceeded) Needs(without int64) int64 { return (e.Held - without) / mostHeld * 100 }

// The classes of memory that Go's limit is about, see https://pkg.go.dev/runtime/metrics.
const (
	live     = "/gc/heap/live:bytes" // as of the last collection
	objects  = "/memory/classes/heap/objects:bytes"
	free     = "/memory/classes/heap/free:bytes"
	unused   = "/memory/classes/heap/unused:bytes"
	released = "/memory/classes/heap/released:bytes"
	total    = "/memory/classes/total:bytes"
)

// held is what is live of the heap, and what Go needs beside the heap.
func held() int64 {
	m := read(live, objects, free, unused, released, total)
	return m[0] + m[5] - m[1] - m[2] - m[3] - m[4]
}

// inUse is held with what may be garbage.
func inUse() int64 {
	m := read(free, unused, released, total)
	return m[3] - m[0] - m[1] - m[2]
}

func read(names ...string) []int64 {
	samples := make([]metrics.Sample, len(names))
	for i, n := range names {
		samples[i].Name = n
	}
	metrics.Read(samples)
	values := make([]int64, len(names))
	for i, s := range samples {
		values[i] = int64(s.Value.Uint64())
	}
	return values
}
