package runtime

import (
	"fmt"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// crowded is an outlet with room for tables of so many bytes.
type crowded struct {
	wire
	room  int64
	asked []int64
}

func (c *crowded) Allocate(bytes int64, take func()) error {
	c.asked = append(c.asked, bytes)
	if bytes > c.room {
		return failure.New(failure.Memory, "", nil, "no room for %d bytes", bytes)
	}
	take()
	return nil
}

// manyKeys are records of one window with as many keys.
func manyKeys(n int) []record.Record {
	records := make([]record.Record, n)
	for i := range records {
		records[i] = at(0, fmt.Sprintf("key-%d", i))
	}
	return records
}

// TestNoRoom: a table that may not grow ends its task before it is full, alone and behind an exchange, and nothing that was folded is missing.
func TestNoRoom(t *testing.T) {
	const keys = 300_000
	for _, targets := range []int{0, 1} {
		c := minutes()
		out := &crowded{room: 10 << 20}
		task := c.task(t, out, targets)
		p, records := newPartition(0), manyKeys(keys)
		var err error
		done := 0
		for ; done < keys && err == nil; done += 1000 {
			if err = task.Process(p, records[done:done+1000]); err == nil && targets > 0 {
				for _, sent := range out.rows {
					if err == nil {
						err = task.Accept(sent.op, sent.rows)
					}
				}
				out.rows = nil
			}
		}
		if failure.KindOf(err) != failure.Memory || done < keys/2 {
			t.Fatalf("%d targets: %v after %d keys", targets, err, done)
		}
		if len(out.asked) != 2 || out.asked[0] > out.room || out.asked[1] != 2*out.asked[0] {
			t.Errorf("%d targets: asked for %v, want what there is room for, and the double of it, once", targets, out.asked)
		}
		held, bytes := 0, int64(0)
		task.Held(func(op int, start int64, keys int, size int64) { held, bytes = held+keys, bytes+size })
		if bytes < out.asked[0] || bytes >= out.asked[1] {
			t.Errorf("%d targets: %d bytes are held, of tables of %d", targets, bytes, out.asked)
		}
		if held != task.w.panes[0].Len() || held < done-1000 || held >= len(task.w.panes[0].slots) {
			t.Errorf("%d targets: %d keys in %d slots after %d", targets, held, len(task.w.panes[0].slots), done)
		}
	}
}

// TestNoRoomToRestore: state that does not fit is not taken for damaged, whether its size is foreseen or not.
func TestNoRoomToRestore(t *testing.T) {
	const keys = 300_000
	c := minutes()
	full := c.task(t, nil, 0)
	p := newPartition(0)
	full.process(t, p, manyKeys(1000)...) // a first delta that foresees a small table
	deltas := append([]checkpoint.Delta(nil), cloned(full.Snapshot())...)
	small := len(deltas)
	full.process(t, p, manyKeys(keys)...)
	deltas = append(deltas, cloned(full.Snapshot())...)
	for name, list := range map[string][]checkpoint.Delta{"foreseen": deltas[small:], "not foreseen": deltas} {
		task := c.task(t, &crowded{room: 10 << 20}, 0)
		var err error
		for _, d := range list {
			if err = task.Restore(d); err != nil {
				break
			}
		}
		if failure.KindOf(err) != failure.Memory {
			t.Errorf("%s: %v", name, err)
		}
	}
	fits := c.task(t, &crowded{room: 1 << 30}, 0)
	for _, d := range deltas {
		if err := fits.Restore(d); err != nil {
			t.Fatal(err)
		}
	}
	if n := fits.w.panes[0].Len(); n != keys {
		t.Errorf("%d keys restored, want %d", n, keys)
	}
}

// cloned are deltas that live on.
func cloned(deltas []checkpoint.Delta) []checkpoint.Delta {
	var out []checkpoint.Delta
	for _, d := range deltas {
		d.Data = append([]byte(nil), d.Data...)
		out = append(out, d)
	}
	return out
}
