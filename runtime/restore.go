package runtime

import (
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// restoring is keys on their way from a delta to a table, many at a time for the reason that touch gives.
type restoring struct {
	n    int
	keys [BatchSize]restoredKey
}

type restoredKey struct {
	key         key
	text, state []byte
}

// restore applies a delta. Windows that W has passed are skipped.
func (w *Tumbling[S, V]) restore(d checkpoint.Delta) error {
	r := readDelta(d.Data)
	for {
		start, ok := r.nextWindow()
		if !ok {
			break
		}
		w.restoreWindow(&r, start, d.Group)
	}
	switch {
	case w.room.err != nil:
		return w.room.err
	case r.wrong != "":
		return w.damaged(d.Group, r.wrong)
	}
	return nil
}

func (w *Tumbling[S, V]) damaged(group int, what string) error {
	return failure.New(failure.State, failure.StateHelp, nil, "the checkpoint's state of %s (%s), key group %d, is damaged: %s",
		w.spec.Name, w.spec.Place, group, what)
}

func (w *Tumbling[S, V]) restoreWindow(r *deltaReader, start Time, group int) {
	span := w.grid.span(start)
	if span.start != start {
		r.fail("a window of another size")
		return
	}
	p := w.open(span) // nil if it is closed
	if p != nil && p.used == 0 {
		p.reserve(r.expected() * checkpoint.Groups / max(w.task.targets, 1)) // the other groups have about as many
	}
	if w.room.err != nil {
		r.fail("") // not the delta's fault
		return
	}
	var batch restoring
	for {
		text, state, ok := r.next()
		if ok && p == nil {
			continue
		}
		if !ok || batch.n == BatchSize {
			if !w.restoreBatch(p, &batch) {
				r.fail("a state")
			}
			batch.n = 0
			if w.room.err != nil {
				r.fail("")
				return
			}
		}
		if !ok {
			return
		}
		k := hashKey(text)
		if groupOf(k.hash) != group {
			r.fail("a key of another group")
			return
		}
		batch.keys[batch.n] = restoredKey{k, text, state} // a long key is an arena of its own, where its place is 0
		batch.n++
	}
}

// restoreBatch reports whether all states could be read.
func (w *Tumbling[S, V]) restoreBatch(p *Pane[S], batch *restoring) bool {
	keys := batch.keys[:batch.n]
	for i := range keys {
		w.touched += p.touch(keys[i].key.hash)
	}
	for i := range keys {
		k := &keys[i]
		if rest := w.spec.Read(k.state, &p.slots[p.find(&k.key, k.text)].state); rest == nil || len(rest) > 0 {
			return false
		}
	}
	return true
}
