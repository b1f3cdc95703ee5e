package checkpoint

import (
	"fmt"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// canRead says that a record may be read and written now: not between a barrier and the moment at which the transaction behind it is prepared.
func (w *world) canRead(p *process) bool {
	_, preparing := p.todo.(InjectBarrier)
	return p.running && p.pos < w.inputs && !preparing && p.renewal[p.current].stage == ready
}

// read reads a record and writes its output into the open transaction.
func (w *world) read(p *process) {
	switch w.write(p.id(p.current), p.hold[p.current], p.pos, marking{}) {
	case ok:
		p.begun[p.current] = w.ids[p.id(p.current)].txn.serial
		p.pos++
		p.counted++
	case refusal:
		p.fail(fenced())
	}
}

func fenced() error { return failure.New(failure.Fenced, "", nil, "fenced") }

// fail gives an error to the coordinator. Whether it goes through start-up again or stops, all in memory is gone.
func (p *process) fail(err error) {
	p.coordinator.Handle(Failed{err})
	p.down()
}

// handle gives an event to the coordinator, which has at most one thing to do at a time.
func (p *process) handle(e Event) error {
	actions := p.coordinator.Handle(e)
	if len(actions) > 1 {
		return fmt.Errorf("the coordinator wants %d things at once", len(actions))
	}
	p.todo = nil
	if len(actions) == 1 {
		p.todo = actions[0]
		if stop, ok := p.todo.(Stop); ok {
			return fmt.Errorf("the coordinator stops: %v", stop.Err)
		}
	}
	return nil
}

// tick starts a checkpoint. The task snapshots at once.
func (w *world) tick(p *process) error {
	if err := p.handle(Tick{Active: p.pos > p.stored}); err != nil {
		return err
	}
	b, ok := p.todo.(InjectBarrier)
	if !ok {
		return fmt.Errorf("a tick with activity starts no checkpoint")
	}
	next := p.pending.Next()
	next.Number = b.Number
	next.Partitions = []Partition{{Source: "in", Next: int64(p.pos), Bound: -1}}
	next.Counts = []Count{{Operator: "start", N: int64(p.from)}, {Operator: "in", Name: "read", N: int64(p.counted)}}
	if p.counted != p.pos-p.from {
		return fmt.Errorf("I8: %d records are counted, %d were read", p.counted, p.pos-p.from)
	}
	p.pending, p.stored = *next, p.pos
	actions := p.coordinator.Handle(TaskAcked{Number: b.Number})
	if len(actions) > 0 {
		return fmt.Errorf("I2: checkpoint %d is taken for complete before it is prepared", b.Number)
	}
	return nil
}

// runStep does what the coordinator wants.
func (w *world) runStep(p *process, m mutant, ghost bool) error {
	switch todo := p.todo.(type) {
	case InjectBarrier:
		return w.prepare(p, todo.Number, m)
	case Store:
		return w.store(p, todo, m, ghost)
	case Commit:
		return w.commit(p, todo.Committable, m, ghost)
	case Confirm:
		if !m.earlyNext {
			if err := p.disk.confirm(todo.Number); err != nil {
				return err
			}
		}
		return p.handle(Confirmed(todo))
	}
	return nil
}

// prepare writes the marker. From then on records go to the other transaction.
func (w *world) prepare(p *process, n int64, m mutant) error {
	slot := p.current
	id := p.id(slot)
	mk := marking{there: true, inc: p.inc, n: int8(n), pos: p.stored, by: p.hold[slot]}
	if m.markOutside {
		w.log++
		mk.log = w.log
		w.mark, mk = mk, marking{}
	}
	switch w.write(id, p.hold[slot], -1, mk) {
	case refusal:
		p.fail(fenced())
		return nil
	case retry:
		return nil
	}
	p.begun[slot] = w.ids[id].txn.serial
	p.current = 1 - slot
	// Records stands for the transaction that is meant, which only the model knows.
	c := Committable{ClusterID: "k", TransactionalID: modelIDs[id], ProducerID: int64(p.hold[slot].pid), Epoch: int16(p.hold[slot].epoch),
		EndTxnVersion: 4, Checkpoint: n, Incarnation: ID{byte(p.inc)}, Records: int64(p.begun[slot])}
	if w.v2 {
		c.EndTxnVersion = 5
	}
	return p.handle(Prepared{Number: n, Committable: c})
}

// store makes the checkpoint durable.
func (w *world) store(p *process, todo Store, m mutant, ghost bool) error {
	if m.commitFirst && !p.early {
		p.early = true
		return w.sendEndTxn(p, todo.Committable, m, ghost, func() error { return nil })
	}
	c := p.pending
	c.Committable = todo.Committable
	if err := p.disk.save(&c, m.earlyNext); err != nil {
		return err
	}
	if m.dropEarly {
		p.disk.before = nil
	}
	p.pending = c
	if m.earlyNext && p.pos < w.inputs { // as if it were committed and confirmed
		for _, e := range []Event{Stored{c.Number}, Committed{c.Number}, Confirmed{c.Number}} {
			if err := p.handle(e); err != nil {
				return err
			}
		}
		return nil
	}
	return p.handle(Stored{c.Number})
}

// commit ends the transaction. Its producer is renewed beside what comes next.
func (w *world) commit(p *process, c Committable, m mutant, ghost bool) error {
	done := func() error { return p.handle(Committed{c.Checkpoint}) }
	if p.early {
		p.early = false
		return done()
	}
	return w.sendEndTxn(p, c, m, ghost, done)
}

func (w *world) sendEndTxn(p *process, c Committable, m mutant, ghost bool, then func() error) error {
	id := idOf(c.TransactionalID)
	r := request{there: true, id: id, by: producer{int8(c.ProducerID), int8(c.Epoch)}, meant: uint8(c.Records), number: int8(c.Checkpoint)}
	if ghost {
		w.ghost = r
	}
	if err := w.durable(r); err != nil {
		return err
	}
	got, next, err := w.endTxn(r)
	switch {
	case err != nil || got == retry:
		return err
	case got == refusal:
		p.fail(fenced())
		return nil
	}
	p.ended(id-p.base, int8(c.Checkpoint), next, m)
	return then()
}

// durable is I2: a transaction is committed only if its checkpoint is on a disk.
func (w *world) durable(r request) error {
	for _, p := range w.procs {
		for _, c := range []*Checkpoint{p.disk.newest, p.disk.before} {
			if c != nil && c.Committable.TransactionalID == modelIDs[r.id] &&
				c.Committable.ProducerID == int64(r.by.pid) && c.Committable.Epoch == int16(r.by.epoch) {
				return nil
			}
		}
	}
	return fmt.Errorf("I2: the transaction of checkpoint %d is to be committed and the checkpoint is on no disk", r.number)
}
