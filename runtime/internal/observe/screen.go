package observe

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

const (
	redraw = time.Second // from one line to the next
	// window is over how many lines rates are averages, so that one can be read before it changes.
	window = 5
	// narrow is the width of a terminal that does not tell its own.
	narrow = 80
)

// Screen writes a log to a terminal and keeps below it one line that says how a pipeline stands, which is written over again and again.
// It needs nothing of the terminal but that a carriage return goes back to the line's begin.
type Screen struct {
	to    io.Writer
	width func() int // columns; 0: not known

	mu   sync.Mutex
	line string // that stands there; "": none
	left bool   // no line comes any more
}

// NewScreen makes a screen without a line. width tells the columns of the terminal, or 0.
func NewScreen(to io.Writer, width func() int) *Screen { return &Screen{to: to, width: width} }

// Write writes whole lines of a log, above the line that stands there.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.to.Write(p)
	}
	var b bytes.Buffer
	b.WriteString(erase(s.line))
	b.Write(p)
	b.WriteString(s.line)
	if _, err := s.to.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// set puts a line in the place of the one that stands there; "" takes it away.
func (s *Screen) set(line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns := s.width()
	if columns <= 0 {
		columns = narrow
	}
	if s.left {
		line = ""
	}
	line = cut(line, columns-1) // in the last column some terminals go to the next line
	if line == s.line {
		return nil
	}
	old := s.line
	s.line = line
	_, err := io.WriteString(s.to, erase(old)+line)
	return err
}

// Leave takes the line away for good, before a process that ends at once.
func (s *Screen) Leave() {
	s.mu.Lock()
	s.left = true
	s.mu.Unlock()
	s.set("") // if that fails there is no terminal, and no line
}

func erase(line string) string {
	if line == "" {
		return ""
	}
	return "\r" + strings.Repeat(" ", utf8.RuneCountInString(line)) + "\r"
}

// cut is at most n characters of a line, all of which can be printed.
func cut(line string, n int) string {
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, line)
	if utf8.RuneCountInString(line) <= n {
		return line
	}
	runes := []rune(line)
	return string(runes[:max(0, n-1)]) + "…"
}

// Show keeps the line up to date until stop is called, which takes it away.
func (s *Screen) Show(source Source) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		var r rates
		for {
			select {
			case <-quit:
				s.set("") // if that fails there is no terminal, and no line
				return
			case now := <-tick.C:
				status := source()
				r.add(status, now)
				if s.set(progress(status, r, now)) != nil {
					return // the terminal is gone, the log notices it too
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}

// sample is how many records there were at a time.
type sample struct {
	at      time.Time
	in, out int64
}

// rates are the last samples, oldest first.
type rates []sample

func (r *rates) add(s engine.Status, now time.Time) {
	this := sample{at: now}
	for _, p := range s.Partitions {
		this.in += p.Next
	}
	for _, sink := range s.Sinks {
		this.out += sink.Records
	}
	// After a restart what was not committed is read again, from before: nothing of a rate can be said over that. The
	// first partitions begin at their offset, not at 0.
	if n := len(*r); n > 0 && ((*r)[n-1].in > this.in || (*r)[n-1].in == 0) {
		*r = nil
	}
	*r = append(*r, this)
	if len(*r) > window+1 {
		*r = (*r)[1:]
	}
}

// perSecond are records read and written in a second, on average.
func (r rates) perSecond() (in, out float64) {
	if len(r) < 2 {
		return 0, 0
	}
	first, last := r[0], r[len(r)-1]
	d := last.at.Sub(first.at).Seconds()
	return float64(last.in-first.in) / d, float64(last.out-first.out) / d
}

// progress is the line.
func progress(s engine.Status, r rates, now time.Time) string {
	parts := []string{s.Phase.String()}
	switch {
	case s.Phase == engine.Restarting && s.Failure != nil:
		return "restarting after: " + s.Failure.Text
	case s.Phase == engine.Running || s.Phase == engine.Stopping:
		in, out := r.perSecond()
		parts = append(parts, fmt.Sprintf("%.0f/s in", in), fmt.Sprintf("%.0f/s out", out))
	}
	lag, known := int64(0), false
	for _, p := range s.Partitions {
		if n := p.Lag(); n != engine.Unknown {
			lag, known = lag+n, true
		}
	}
	if known {
		parts = append(parts, fmt.Sprintf("lag %d", lag))
	}
	if w, ok := leastWatermark(s); ok {
		parts = append(parts, "watermark "+since(now, time.UnixMicro(w)))
	}
	if s.Checkpoint != nil {
		parts = append(parts, fmt.Sprintf("checkpoint %d %s", s.Checkpoint.Number, since(now, s.Checkpoint.At)))
	}
	return strings.Join(parts, "  ")
}

// leastWatermark is that of the operator that is furthest behind.
func leastWatermark(s engine.Status) (w int64, ok bool) {
	for _, o := range s.Operators {
		if isTime(o.W) && (!ok || o.W < w) {
			w, ok = o.W, true
		}
	}
	return w, ok
}

// since says how long ago a time is, or how far ahead: event time may be, and clocks are set back.
func since(now, t time.Time) string {
	if d := now.Sub(t); d >= 0 {
		return age(d) + " ago"
	}
	return age(t.Sub(now)) + " ahead"
}

// age is a length of time with two digits or three.
func age(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
}
