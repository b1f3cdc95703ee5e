package engine

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// logbook keeps what is logged.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lines are those that contain the text.
func (l *logbook) lines(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return out
}

// listen makes the engine log into a book.
func listen(e *Engine) *logbook {
	l := &logbook{}
	e.Options.Log = slog.New(slog.NewTextHandler(l, nil))
	return l
}

// said fails unless there are n lines with the first text, and the last of them has all others.
func (l *logbook) said(t *testing.T, n int, text string, with ...string) {
	t.Helper()
	lines := l.lines(text)
	if len(lines) != n {
		t.Errorf("%d lines say %q, want %d\n%s", len(lines), text, n, strings.Join(lines, ""))
		return
	}
	for _, w := range with {
		if n > 0 && !strings.Contains(lines[n-1], w) {
			t.Errorf("line %q does not say %q", lines[n-1], w)
		}
	}
}

// second is one of event time in microseconds.
const second = int64(1e6)

// TestPausedAndResumed has a partition run so far ahead of another one that it is not read, says so, and reads it when
// the other has followed.
func TestPausedAndResumed(t *testing.T) {
	for parallelism := 1; parallelism <= 2; parallelism++ {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(2)
			e := newFakeEngine(c, newFakeStore(), parallelism, checkpoint.Until{})
			e.Spec.Sources[0].Idle = 15 * time.Minute
			log := listen(e)
			c.append("in", 1, "k", second)
			for i := range int64(300) { // five minutes of event time; one is what it may run ahead
				c.append("in", 0, "k", (i+1)*second)
			}
			run := start(t, e)
			time.Sleep(3 * time.Second)
			s := e.Status()
			p := s.Partitions[0]
			// The limit counts from the first watermark, which may be that of a whole fetch. The fetch that goes beyond it is read still, and so is
			// the next one, if that is on its way.
			if p.State != Paused || p.Next < 60 || p.Next > 60+3*fakeFetch || s.Partitions[1].State != Active || s.Operators[0].W != second-fakeDisorder {
				t.Errorf("while the other one stands: %+v, W %d", s.Partitions, s.Operators[0].W)
			}
			log.said(t, 1, "run ahead of the watermark", "topic=in partition=0", "waits_for.topic=in waits_for.partition=1 waits_for.offset=1 waits_for.watermark=1970-01-01T00:00:00.99995Z")
			time.Sleep(10 * time.Minute)
			if n := e.Status().Partitions[0].Next; n != p.Next {
				t.Errorf("the paused partition was read from %d to %d", p.Next, n)
			}
			if n := len(log.lines("run ahead of the watermark")); n < 2 || n > 11 {
				t.Errorf("it was said %d times in ten minutes", n)
			}
			c.append("in", 1, "k", 100*second)
			time.Sleep(3 * time.Second)
			if n := e.Status().Partitions[0].Next; n < 159 || n > 160+2*fakeFetch {
				t.Errorf("the other has followed to 100 s: read to %d", n)
			}
			c.append("in", 1, "k", 300*second)
			time.Sleep(3 * time.Second)
			if p := e.Status().Partitions[0]; p.State != Active || p.Lag() != 0 {
				t.Errorf("the other has followed to the end: %+v", p)
			}
			time.Sleep(20 * time.Minute)
			run.end(t)
			check(t, c)
		})
	}
}

// TestNeverIdle has a partition without records whose source is never idle: no window closes, and the log says why.
func TestNeverIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		e.Spec.Sources[0].Idle = 0
		log := listen(e)
		feed(c, rand.New(rand.NewPCG(1, 1)), 1, 500)
		run := start(t, e)
		time.Sleep(5 * time.Second)
		log.said(t, 0, "no window closes")
		time.Sleep(10 * time.Minute)
		log.said(t, 10, "no window closes", "level=WARN", "operator=count", "waits_for.partition=1 waits_for.offset=0 waits_for.watermark=none")
		log.said(t, 0, "partition is idle")
		c.append("in", 1, "k", 1)
		time.Sleep(10 * time.Minute)
		log.said(t, 10, "no window closes")
		run.end(t)
	})
}

// TestIdleIsSaid shows that each partition that becomes idle is named, whether W moves with it or not.
func TestIdleIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4) // the last has no records
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		log := listen(e)
		feed(c, rand.New(rand.NewPCG(1, 1)), 3, 500)
		run := start(t, e)
		time.Sleep(time.Minute)
		log.said(t, 0, "no window closes")
		for p := range 4 {
			log.said(t, 1, "partition is idle: it no longer holds the watermark\" source=in place=\"\" topic=in partition="+fmt.Sprint(p))
		}
		run.end(t)
	})
}

// aheadWorker says that all its records are too far ahead.
type aheadWorker struct{ Worker }

func (w aheadWorker) Counts(to []checkpoint.Count) []checkpoint.Count {
	for _, c := range w.Worker.Counts(nil) {
		if c.Name == "aggregated" {
			c.Operator, c.Name = "in", "ahead"
		}
		to = append(to, c)
	}
	return to
}

// TestCountsAreSaid shows that counts come once a minute while they change, and that records ahead of their
// timestamp are warned of at once, and then once a minute.
func TestCountsAreSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		store := newFakeStore()
		run := func(round int64) {
			e := newFakeEngine(c, store, 1, checkpoint.Until{})
			e.Spec.New = func(out Outlet, targets int) Worker { return aheadWorker{newFakeWorker(out, targets)} }
			log := listen(e)
			run := start(t, e)
			time.Sleep(time.Minute + 30*time.Second + e.Options.Checkpoint/2) // between two checkpoints
			log.said(t, 0, "msg=counts")
			for range 15 { // in 150 s
				c.append("in", 0, "k", round*1000*second)
				time.Sleep(10 * time.Second)
			}
			time.Sleep(10 * time.Minute)
			all := 15 * round
			log.said(t, 3, "msg=counts", fmt.Sprintf(`"counts.in ahead"=%d`, all))
			log.said(t, 4, "far ahead of their own Kafka timestamp", "level=WARN", "source=in", fmt.Sprint("in_all=", all))
			run.end(t)
			log.said(t, 1, "msg=stopped", fmt.Sprintf(`"counts.in ahead in/0"=%d`, all))
		}
		run(1)
		run(2) // the counts go on from the checkpoint
	})
}

// skippingWorker skips a record and, beside it, a result. It marks them as the first ones for longer than a worker does.
type skippingWorker struct {
	Worker
	n *int64
}

func (w skippingWorker) Process(p *Partition, records []record.Record) error {
	*w.n++
	return w.Worker.Process(p, records)
}

func (w skippingWorker) Refused(to []Refusal) []Refusal {
	if *w.n == 0 {
		return to
	}
	*w.n = 0
	r := Refusal{Operator: "in", Place: "p.eo:3", Reason: "v: missing", Topic: "in", Partition: 1, Offset: 7, At: time.Now()}
	skipped := r
	skipped.Skipped = true
	return append(to, r, skipped, Refusal{Operator: "w", Place: "p.eo:8", Reason: "does not fit an int", WindowEnd: 60 * second, At: time.Now(), Skipped: true})
}

// TestSkippedIsSaid: on_error skip leaves nothing behind but a count, so the log has the first records and results with their reasons, and no more.
func TestSkippedIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
		e.Spec.New = func(out Outlet, targets int) Worker { return skippingWorker{newFakeWorker(out, targets), new(int64)} }
		log := listen(e)
		run := start(t, e)
		for i := range int64(10) {
			c.append("in", 0, "k", i*second)
			time.Sleep(10 * time.Second)
		}
		log.said(t, FirstSkipped, "on_error has skipped a record", "level=INFO", "operator=in", "place=p.eo:3", `reason="v: missing"`, "topic=in", "partition=1", "offset=7", `others="are counted"`)
		if first := log.lines("on_error has skipped a record")[0]; strings.Contains(first, "others") {
			t.Errorf("the first line is %q", first)
		}
		log.said(t, FirstSkipped, "on_error has skipped a result", "operator=w", `reason="does not fit an int"`, "window_start=1970-01-01T00:00:00Z", "window_end=1970-01-01T00:01:00Z")
		if s := e.Status(); len(s.Refusals) != 1 || s.Refusals[0].Skipped {
			t.Errorf("the status has %+v", s.Refusals)
		}
		run.end(t)
	})
}

// TestStrangeTimes: seconds that are read as milliseconds are times of January 1970. That is said once of a source.
func TestStrangeTimes(t *testing.T) {
	for at, times := range map[int64]int{1_767_225_600_000: 1, 1_767_225_600_000_000: 0} { // 2026, in milliseconds and as it should be
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(2)
			e := newFakeEngine(c, newFakeStore(), 1, checkpoint.Until{})
			log := listen(e)
			run := start(t, e)
			for i := range int64(200) {
				c.append("in", int(i%2), "k", at+i*second)
				time.Sleep(time.Second)
			}
			log.said(t, times, "event times are before the year 2000", "source=in", "topic=in", "watermark=1970-01-2")
			run.end(t)
		})
	}
}

// A partition that was paused when it came to its end is not said to wait for others.
func TestWaiting(t *testing.T) {
	slots := []slot{{slot: 0, reach: &reach{}}, {slot: 1, reach: &reach{}}, {slot: 2, reach: &reach{}}}
	parts := make([]partTrack, 3)
	if n := waiting(slots, parts); n != -1 {
		t.Errorf("none is paused, got %d", n)
	}
	for _, i := range []int{1, 2} {
		slots[i].reach.paused.Store(true)
	}
	parts[1].finished = true
	if n := waiting(slots, parts); n != 2 {
		t.Errorf("got %d, want 2", n)
	}
}
