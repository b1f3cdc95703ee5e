package runtime

import (
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// refusals are what an operator has handed to on_error: how many records and results, and which was the last. The count stays, the last one is
// handed over at a barrier, and so is each of the first that on_error skip has dropped, of which nothing else tells.
type refusals struct {
	*counter
	noted bool // since the last barrier
	last  refusal

	skipped     [engine.FirstSkipped]refusal
	known, told int // of skipped: how many are there, and how many were handed over
}

// refusal is a record or a result, and what is wrong with it. It holds nothing of its contents, which may be secret, and no text: it is overwritten
// by the next one, so a topic full of bad records costs no memory.
type refusal struct {
	fault      Fault
	part       *engine.Partition // nil: it is a result
	offset     int64
	start, end Time // of a result
	at         time.Time
}

// refusals are those of that operator; several declarations of it share them.
func (t *Task) refusals(operator, place string) *refusals {
	c := t.counter(operator, place, countRejected)
	for _, r := range t.refusing {
		if r.counter == c {
			return r
		}
	}
	r := &refusals{counter: c}
	t.refusing = append(t.refusing, r)
	return r
}

// noteRecord notes the current record of in.
func (r *refusals) noteRecord(in *Batch, f Fault) {
	r.note(refusal{fault: f, part: in.part, offset: in.records[in.i].Offset, at: in.source.task.now()}, in.source.spec.OnError.mode)
}

// noteResult notes a result of the window from start to end.
func (r *refusals) noteResult(t *Task, start, end Time, f Fault, mode onErrorMode) {
	r.note(refusal{fault: f, start: start, end: end, at: t.now()}, mode)
}

func (r *refusals) note(last refusal, mode onErrorMode) {
	r.noted, r.last = true, last
	if mode == skipOnError && r.known < len(r.skipped) {
		r.skipped[r.known] = last
		r.known++
	}
}

// now asks the clock once for the records or windows at hand, however many of them are refused.
func (t *Task) now() time.Time {
	if t.clock.IsZero() {
		t.clock = time.Now()
	}
	return t.clock
}

// refused appends what was noted since the last call: for each operator the last refusal, and behind it the first that were skipped.
func (t *Task) refused(to []engine.Refusal) []engine.Refusal {
	for _, r := range t.refusing {
		if !r.noted {
			continue
		}
		r.noted = false
		to = append(to, r.tell(&r.last))
		for ; r.told < r.known; r.told++ {
			first := r.tell(&r.skipped[r.told])
			first.Skipped = true
			to = append(to, first)
		}
	}
	return to
}

// tell is a refusal as others see it.
func (r *refusals) tell(last *refusal) engine.Refusal {
	const enough = 128 // bytes of a reason
	reason := last.fault.AppendText(make([]byte, 0, enough))
	out := engine.Refusal{Operator: r.operator, Place: r.place, Reason: string(reason), At: last.at}
	if p := last.part; p != nil {
		out.Topic, out.Partition, out.Offset = p.Topic, p.ID, last.offset
	} else {
		out.WindowStart, out.WindowEnd = int64(last.start), int64(last.end)
	}
	return out
}
