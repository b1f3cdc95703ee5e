package checkpoint

// Between two transactions the producer of an id is renewed, as package kafka does it: the id is taken by who has it, it is taken from
// whomever, and each answer has to be what the one before leads to. Where epochs run out, so that this says nothing, the marker is looked at.

// renewal is how far the producer of an id is on its way to its next transaction.
type renewal struct {
	stage renewing
	from  producer // that ended the last one
	held  producer // after the steps that were taken
	n     int8     // the last one
}

type renewing uint8

const (
	ready   renewing = iota
	waits            // for the first step
	between          // the two steps
	looks            // at the marker
	failed           // which shows when the next transaction is to begin
)

// ended notes that a process has ended the transaction of checkpoint n.
func (p *process) ended(slot, n int8, next producer, m mutant) {
	p.hold[slot], p.ending = next, n
	if !m.noReinit {
		p.renewal[slot] = renewal{stage: waits, from: next, n: n}
	}
}

// renewable are the slots whose renewal can go a step further: one at a time goes beyond its first.
func (p *process) renewable() (list []int8) {
	for slot, r := range p.renewal {
		switch {
		case r.stage == between || r.stage == looks:
			return []int8{int8(slot)}
		case r.stage == waits, r.stage == failed && p.running && p.todo == nil && p.current == int8(slot):
			list = append(list, int8(slot))
		}
	}
	return list
}

// renew takes a renewal one step further. The answer to a request that is repeated was lost.
func (w *world) renew(p *process, slot int8, m mutant, repeated bool) {
	r, id := &p.renewal[slot], p.id(slot)
	switch r.stage {
	case waits:
		if c := w.ids[id]; c.known && c.producer != r.from { // KIP-360. A coordinator that does not know the id makes one for whoever asks
			r.stage = failed
			return
		}
		got, answer := w.initProducerID(id)
		if answer != ok {
			return
		}
		r.held, r.stage = w.moved(r.from, got), between
		if m.forgottenIsFine {
			r.held = got
		}
		if got != r.held {
			r.stage = failed
		}
	case between:
		got, answer := w.initProducerID(id)
		if answer != ok {
			return
		}
		if repeated {
			got, _ = w.initProducerID(id)
		}
		p.hold[slot] = got
		switch r.held = w.moved(r.held, got); {
		case m.blindRenewal:
			r.stage = ready
		case got != r.held && !m.markerDecides:
			r.stage = failed
		case got != r.held, r.held.pid != r.from.pid && !m.noLookAtRenewal:
			r.stage = looks
		default:
			r.stage = ready
		}
	case looks:
		if w.unstable() {
			return
		}
		r.stage = failed
		if k := w.mark; k.there && k.inc == p.inc && r.n <= k.n && k.n <= p.ending {
			r.stage = ready
		}
	case failed:
		p.fail(fenced())
	}
	if r.stage == ready {
		*r = renewal{}
	}
}

// moved is what an id that p holds comes to when it is taken once: got, if the producer id has no more epochs.
func (b *broker) moved(p, got producer) producer {
	if p.epoch >= b.maxEpoch {
		return producer{got.pid, 0}
	}
	return producer{p.pid, p.epoch + 1}
}

func (r renewal) key(k []byte) []byte {
	return append(k, byte(r.stage), byte(r.from.pid), byte(r.from.epoch), byte(r.held.pid), byte(r.held.epoch), byte(r.n))
}
