package engine

import (
	"slices"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// orderWorker notes the order of what it is asked.
type orderWorker struct {
	Worker
	asked []string
}

func (w *orderWorker) Advance(int, int64) (int, error) {
	w.asked = append(w.asked, "advance")
	return 0, nil
}

func (w *orderWorker) Flush() { w.asked = append(w.asked, "flush") }

func (w *orderWorker) Snapshot() []checkpoint.Delta {
	w.asked = append(w.asked, "snapshot")
	return nil
}

func (w *orderWorker) Counts([]checkpoint.Count) []checkpoint.Count { return nil }

func (w *orderWorker) Refused([]Refusal) []Refusal { return nil }

func (w *orderWorker) Held(func(op int, start int64, keys int, bytes int64)) {}

// TestWComesBeforeTheBarrier moves W while a task is busy, so that it finds the news and a barrier at once: what the checkpoint
// holds and what operators have closed is W of that moment. At the end of the input the last windows depend on it.
func TestWComesBeforeTheBarrier(t *testing.T) {
	for _, alone := range []bool{true, false} {
		spec := &Spec{Sources: make([]SourceSpec, 1), Operators: []OperatorSpec{{Sources: []int{0}, Size: 1}}}
		tr := newTracker(spec, []int64{minTime})
		w := newWriter(nil)
		w.begin(1, 0)
		worker := &orderWorker{}
		acks := make(chan ack, 1)
		task := &sourceTask{
			spec: spec, worker: worker, tracker: tr, acks: acks, active: func() {}, moved: tr.subscribe(), w: []int64{minTime}, now: make([]int64, 1),
			out: &outlet{ctx: t.Context(), writer: w, txn: 1},
		}
		box := newInbox(1)
		if !alone {
			task.out.inboxes = []*inbox{box}
		}
		tr.end()
		if final, err := task.obey(t.Context(), command{barrier: &barrier{n: 1, final: true}}); !final || err != nil {
			t.Fatalf("final %v, error %v", final, err)
		}
		a := <-acks
		if alone {
			if want := []string{"advance", "flush", "snapshot"}; !slices.Equal(worker.asked, want) || !slices.Equal(a.w, []int64{maxTime}) {
				t.Errorf("the worker was asked to %q, want %q; W in the checkpoint is %d", worker.asked, want, a.w)
			}
			continue
		}
		_, first, _ := box.get()
		_, second, _ := box.get()
		if !slices.Equal(first.w, []int64{maxTime}) || second.barrier == nil || second.barrier.n != 1 {
			t.Errorf("sent %+v, then %+v", first, second)
		}
	}
}
