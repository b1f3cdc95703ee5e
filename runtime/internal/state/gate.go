package state

import (
	"sync"

	"go.etcd.io/bbolt"
)

// gate lets one bbolt tx that writes through at a time, and none after one that has failed. Of a failed sync nobody knows what is on disk, and a
// second one that succeeds says nothing about what the first has lost: so nothing is built on it, neither by the fold beside a checkpoint nor by
// the checkpoint beside a fold.
type gate struct {
	mu     sync.Mutex
	failed error
}

// write is write of the ledger through the gate.
func (g *gate) write(db *bbolt.DB, fn func(*writer) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == nil {
		g.failed = guarded(func() error { return write(db, fn) })
	}
	return g.failed
}

// shut says whether a write has failed.
func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed != nil
}
