package state

import (
	"context"
	"slices"
	"sync"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Memory is a store that is lost at exit. It keeps to the same rules as Bolt, so a pipeline can go through start-up again
// within the process. Its methods may be called from any goroutine.
type Memory struct {
	opt Options

	mu             sync.Mutex
	newest, before *checkpoint.Checkpoint
	confirmed      int64 // -1: none
	pieces         map[groupID][]piece
	due            foldDue
}

// piece is a delta, or what deltas up to a checkpoint were folded into.
type piece struct {
	number int64
	data   []byte
}

// NewMemory makes an empty store. It uses Options.Merge only.
func NewMemory(opt Options) *Memory {
	return &Memory{opt: opt, confirmed: -1, pieces: map[groupID][]piece{}}
}

// Load is as of Bolt.
func (m *Memory) Load() (newest, before *checkpoint.Checkpoint, confirmed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.newest == nil {
		return nil, nil, false, nil
	}
	return copied(m.newest), copied(m.before), m.confirmed == m.newest.Number, nil
}

// Save is as of Bolt, in memory.
func (m *Memory) Save(c *checkpoint.Checkpoint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := inOrder(c, m.newest, m.confirmed); err != nil {
		return err
	}
	if c.Number == 0 {
		m.newest, m.confirmed, m.pieces, m.due = nil, -1, map[groupID][]piece{}, foldDue{}
	}
	for _, d := range c.Deltas {
		id := groupID{d.Operator, d.Group}
		m.pieces[id] = append(m.pieces[id], piece{c.Number, slices.Clone(d.Data)})
	}
	m.before, m.newest = m.newest, header(c)
	m.due.saved(c)
	return nil
}

// Confirm is as of Bolt.
func (m *Memory) Confirm(n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := confirmable(n, m.newest); err != nil {
		return err
	}
	m.before, m.confirmed = nil, n
	if m.opt.Merge == nil || !m.due.now(m.opt) {
		return nil
	}
	return m.fold()
}

// fold merges all that there is: everything is confirmed.
func (m *Memory) fold() error {
	m.due = foldDue{}
	for id, list := range m.pieces {
		parts := make([][]byte, len(list))
		for i, p := range list {
			parts[i] = p.data
		}
		data, err := m.opt.Merge(id.operator, id.group, parts, watermarkOf(m.newest.Watermarks, id.operator))
		if err != nil {
			return failure.New(failure.Internal, "", err, "cannot fold the state of %s, key group %d", id.operator, id.group)
		}
		delete(m.pieces, id)
		if len(data) > 0 {
			m.pieces[id] = []piece{{m.confirmed, data}}
			m.due.segments += int64(len(data))
		}
	}
	return nil
}

// Drop is as of Bolt.
func (m *Memory) Drop(n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := droppable(n, m.newest, m.before); err != nil {
		return err
	}
	for id, list := range m.pieces {
		for len(list) > 0 && list[len(list)-1].number == n {
			list = list[:len(list)-1]
		}
		m.pieces[id] = list
	}
	m.newest, m.before = m.before, nil
	return nil
}

// Adopt is as of Bolt.
func (m *Memory) Adopt(ids []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := adoptable(m.newest); err != nil {
		return err
	}
	m.newest = copied(m.newest)
	m.newest.IDs = ids
	return nil
}

// Restore is as of Bolt, on one goroutine.
func (m *Memory) Restore(ctx context.Context, yield func(checkpoint.Delta) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, list := range m.pieces {
		for _, p := range list {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := yield(checkpoint.Delta{Operator: id.operator, Group: id.group, Data: p.data}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close does nothing: the pipeline may be started again.
func (m *Memory) Close() error { return nil }
