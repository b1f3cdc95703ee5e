package engine

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// pickyWorker refuses records of key bad, as a clause that says so of its last one.
type pickyWorker struct {
	*fakeWorker
	last *Refusal // since the last barrier
}

func (w *pickyWorker) Process(p *Partition, records []record.Record) error {
	good := slices.DeleteFunc(slices.Clone(records), func(r record.Record) bool {
		if string(r.Key) != "bad" {
			return false
		}
		w.counts[checkpoint.Count{Operator: "let", Name: "rejected", Topic: p.Topic, Partition: p.ID}]++
		w.last = &Refusal{Operator: "let", Place: "p.eo:3", Reason: "too bad", Topic: p.Topic, Partition: p.ID, Offset: r.Offset, At: time.Now()}
		return true
	})
	return w.fakeWorker.Process(p, good)
}

func (w *pickyWorker) Refused(to []Refusal) []Refusal {
	if w.last != nil {
		to = append(to, *w.last)
		w.last = nil
	}
	return to
}

// The status has what an operator has refused last, of all tasks, with how much there was in all, as of the newest checkpoint. It is asked for
// all the time meanwhile.
func TestRefusals(t *testing.T) {
	for parallelism := 1; parallelism <= 2; parallelism++ {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(2)
			e := newFakeEngine(c, newFakeStore(), parallelism, checkpoint.Until{})
			e.Spec.New = func(out Outlet, targets int) Worker {
				return &pickyWorker{fakeWorker: newFakeWorker(out, targets).(*fakeWorker)}
			}
			run := start(t, e)
			want := func(n, offset int64, partition int32) {
				t.Helper()
				for range 2000 { // a checkpoint and more
					time.Sleep(time.Millisecond)
					e.Status()
				}
				s := e.Status()
				if len(s.Refusals) != 1 {
					t.Fatalf("refusals are %+v", s.Refusals)
				}
				got := s.Refusals[0]
				if since := time.Since(got.At); since < time.Second || since > 3*time.Second {
					t.Errorf("refused %v ago", since)
				}
				got.At = time.Time{}
				if want := (Refusal{Operator: "let", Place: "p.eo:3", Reason: "too bad", Topic: "in", Partition: partition, Offset: offset, N: n}); got != want {
					t.Errorf("parallelism %d: %+v, want %+v", parallelism, got, want)
				}
			}
			synctest.Wait()
			if s := e.Status(); len(s.Refusals) != 0 {
				t.Errorf("nothing was refused, and the status says %+v", s.Refusals)
			}
			for range 1000 {
				c.append("in", 0, "bad", 5)
			}
			want(1000, 999, 0)
			c.append("in", 1, "good", 5)
			c.append("in", 1, "bad", 5)
			want(1001, 1, 1)
			run.end(t)
			if s := e.Status(); len(s.Refusals) != 1 {
				t.Errorf("at the end: %+v", s.Refusals)
			}
		})
	}
}

// Whatever is refused, the status has one refusal of each operator, the newest first, and not more than it says.
func TestLastRefusals(t *testing.T) {
	began := time.Now()
	var last []Refusal
	for i := range 1000 {
		at := began.Add(time.Duration(i) * time.Second)
		last = lastRefusals(last, []Refusal{
			{Operator: "always", Offset: int64(i), At: at.Add(2)}, {Operator: fmt.Sprint("clause ", i%50), At: at}, {Operator: "always", Offset: -1, At: at.Add(1)}, // of another task
		})
	}
	if len(last) != KeptRefusals || last[0].Operator != "always" || last[0].Offset != 999 {
		t.Fatalf("%d are kept: %+v", len(last), last)
	}
	for i, r := range last[1:] {
		if r.Operator != fmt.Sprint("clause ", 49-i) {
			t.Errorf("number %d is %+v", i+1, r)
		}
	}
}
