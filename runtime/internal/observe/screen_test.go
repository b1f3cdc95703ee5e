package observe

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// terminal shows what is written to it, and refuses to be wider than it is.
type terminal struct {
	mu     sync.Mutex
	rows   []string // the last one is that of the cursor
	column int
	wide   bool
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows = []string{""}
	}
	for _, r := range string(p) {
		row := &t.rows[len(t.rows)-1]
		switch r {
		case '\n':
			t.rows, t.column = append(t.rows, ""), 0
		case '\r':
			t.column = 0
		default:
			runes := []rune(*row)
			if t.column < len(runes) {
				runes[t.column] = r
			} else {
				runes = append(runes, r)
			}
			*row = string(runes)
			t.column++
			t.wide = t.wide || t.column >= columns
		}
	}
	return len(p), nil
}

const columns = 60

// shown is what stands there, without trailing spaces.
func (t *terminal) shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var rows []string
	for _, r := range t.rows {
		rows = append(rows, strings.TrimRight(r, " "))
	}
	return strings.Join(rows, "\n")
}

// The line stands below the log, moves with it, and is gone at the end.
func TestScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		status := engine.Status{Phase: engine.Starting}
		change := func(f func(*engine.Status)) {
			mu.Lock()
			defer mu.Unlock()
			f(&status)
		}
		term := &terminal{}
		s := NewScreen(term, func() int { return columns })
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := term.shown(); got != want {
				t.Errorf("the terminal shows\n%s\nwant\n%s", got, want)
			}
		}
		fmt.Fprintln(s, "first")
		stop := s.Show(func() engine.Status { mu.Lock(); defer mu.Unlock(); return status })
		time.Sleep(redraw)
		expect("first\nstarting")
		fmt.Fprintln(s, "second")
		expect("first\nsecond\nstarting")
		change(func(s *engine.Status) {
			s.Phase = engine.Restarting
			s.Failure = &engine.Failure{Text: "cannot reach Kafka at localhost:9092:\nconnection refused, and much more than fits"}
		})
		time.Sleep(redraw)
		expect("first\nsecond\nrestarting after: cannot reach Kafka at localhost:9092: co…")
		change(func(s *engine.Status) {
			s.Phase = engine.Running
			s.Partitions = []engine.PartitionStatus{{Next: 1000, End: 1500}, {Next: 10, End: engine.Unknown}}
			s.Operators = []engine.OperatorStatus{{W: math.MinInt64}, {W: time.Now().Add(-90 * time.Second).UnixMicro()}}
			s.Checkpoint = &engine.CheckpointStatus{Number: 7, At: time.Now()}
			s.Sinks = []engine.SinkStatus{{Records: 5}}
		})
		time.Sleep(redraw)
		expect("first\nsecond\nrunning  0/s in  0/s out  lag 500  watermark 1m31s ago  ch…")
		change(func(s *engine.Status) {
			s.Partitions[0].Next, s.Partitions[0].End, s.Sinks[0].Records, s.Operators = 1500, 1500, 25, nil
		})
		time.Sleep(redraw)
		expect("first\nsecond\nrunning  500/s in  20/s out  lag 0  checkpoint 7 2s ago")
		time.Sleep(redraw)
		expect("first\nsecond\nrunning  250/s in  10/s out  lag 0  checkpoint 7 3s ago")
		change(func(s *engine.Status) { s.Partitions[0].Next = 1000 })
		time.Sleep(redraw)
		expect("first\nsecond\nrunning  0/s in  0/s out  lag 500  checkpoint 7 4s ago")
		change(func(s *engine.Status) {
			s.Operators = []engine.OperatorStatus{{W: time.Now().Add(3*time.Hour + redraw).UnixMicro()}}
			s.Partitions, s.Sinks, s.Checkpoint = nil, nil, nil
		})
		time.Sleep(redraw)
		expect("first\nsecond\nrunning  0/s in  0/s out  watermark 3h0m ahead")
		stop()
		expect("first\nsecond\n")
		fmt.Fprintln(s, "third")
		expect("first\nsecond\nthird\n")
		if term.wide {
			t.Error("the line was wider than the terminal")
		}
	})
}

// broken is a terminal that is gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestScreenWithoutTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewScreen(broken{}, func() int { return 0 })
		stop := s.Show(func() engine.Status { return engine.Status{} })
		time.Sleep(2 * redraw)
		if n, err := s.Write([]byte("a\n")); n != 0 || err == nil {
			t.Errorf("%d bytes were written, %v", n, err)
		}
		stop()
	})
}

// Who ends at once leaves no line, and none comes later.
func TestLeaveScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := &terminal{}
		s := NewScreen(term, func() int { return columns })
		stop := s.Show(func() engine.Status { return engine.Status{Phase: engine.Stopping} })
		time.Sleep(redraw)
		synctest.Wait()
		if got := term.shown(); got != "stopping  0/s in  0/s out" {
			t.Errorf("the terminal shows %q", got)
		}
		s.Leave()
		time.Sleep(2 * redraw)
		synctest.Wait()
		if got := term.shown(); got != "" {
			t.Errorf("it has left %q", got)
		}
		stop()
	})
}
