package crashtest

import (
	"fmt"
	"io"
	"sync"
)

// clear takes away what a line of progress has left on a terminal.
const clear = "\r\x1b[K"

// everyRuns is after how many runs there is a line of progress where that is no terminal.
const everyRuns = 50

// screen shows how far a test is.
type screen struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	total    int
	ran      int
	failed   int
}

func newScreen(o Options) *screen { return &screen{out: o.Err, terminal: o.Terminal} }

// begin says how many runs there are.
func (s *screen) begin(total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total = total
	s.show("")
}

// done notes a run that has ended.
func (s *screen) done(r *Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran++
	if len(r.Faults) > 0 {
		s.failed++
	}
	s.show(r.String())
}

func (s *screen) show(last string) {
	failed := ""
	if s.failed > 0 {
		failed = fmt.Sprintf(", %d failed", s.failed)
	}
	switch {
	case s.terminal:
		fmt.Fprintf(s.out, "%s%d of %s%s  %s", clear, s.ran, many(s.total, "run"), failed, shortened(last))
	case s.ran%everyRuns == 0 || s.ran == s.total:
		fmt.Fprintf(s.out, "%d of %s%s\n", s.ran, many(s.total, "run"), failed)
	}
}

// shortened is text that fits beside the rest in a line of a narrow terminal.
func shortened(text string) string {
	const most = 50
	if len(text) > most {
		return text[:most-3] + "..."
	}
	return text
}

// end takes the line of progress away.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		fmt.Fprint(s.out, clear)
	}
}
