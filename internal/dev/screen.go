package dev

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

// The colours, as ANSI has them.
const (
	dim    = "\x1b[2m"
	cyan   = "\x1b[36m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	plain  = "\x1b[0m"
)

// clear takes away what a line of progress has left on a terminal.
const clear = "\r\x1b[K"

// screen is where results and words go, a line at a time.
type screen struct {
	mu              sync.Mutex
	out, err        io.Writer
	columns, colour bool
	role            map[string]role
	width           int            // of topics
	count           map[string]int // of records shown, by topic
	places          *places
	broken          bool // out takes nothing any more
}

func newScreen(o Options) *screen {
	return &screen{out: o.Out, err: o.Err, columns: o.Columns, colour: o.Colour, places: newPlaces(o.Data)}
}

// begin begins to count, for a life with these topics and records.
func (s *screen) begin(list topics, from *places) {
	s.mu.Lock()
	s.role, s.count, s.width, s.places = map[string]role{}, map[string]int{}, 0, from
	s.mu.Unlock()
	s.roles(list)
}

// roles tells what the topics are. Those of before stay known.
func (s *screen) roles(list topics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range list {
		s.role[t.name] = t.role
		if t.role != input {
			s.width = max(s.width, utf8.RuneCountInString(t.name))
		}
	}
}

// say says something about the run.
func (s *screen) say(text string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = fmt.Sprintf(text, args...)
	if s.columns {
		text = clear + text
	}
	fmt.Fprintln(s.err, text)
}

// results shows records. The form without columns is stable: role, topic, key and value with tabs between them, and of a
// dead letter the reason; a record without key has "-", and what is no plain text is quoted as in Go. That they cannot be written is said once.
func (s *screen) results(records []devkafka.Record) error {
	reasons := make([]string, len(records)) // before others are kept from saying something: whence a record came may not be known yet
	for i, r := range records {
		if len(r.Headers) > 0 {
			reasons[i] = s.reasonOf(r)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var failure error
	print := func(text string) {
		if s.broken {
			return
		}
		if _, failure = fmt.Fprintln(s.out, text); failure != nil {
			s.broken = true
		}
	}
	for i, r := range records {
		s.count[r.Topic]++
		key := "-"
		if r.Key != nil {
			key = printable(r.Key)
		}
		kind, value, reason := s.role[r.Topic], printable(r.Value), ""
		if kind == refused {
			reason = reasons[i]
		}
		if s.columns {
			print(clear + s.row(kind, r.Topic, key, value, reason))
			continue
		}
		fields := []string{string(kind), r.Topic, key, value}
		if reason != "" {
			fields = append(fields, reason)
		}
		print(strings.Join(fields, "\t"))
	}
	if failure != nil {
		return fmt.Errorf("the results cannot be shown: %w", failure)
	}
	return nil
}

// row is a result for people.
func (s *screen) row(kind role, topic, key, value, reason string) string {
	paint := func(colour, text string) string {
		if !s.colour || text == "" {
			return text
		}
		return colour + text + plain
	}
	colour := map[role]string{result: cyan, late: yellow, refused: red}[kind]
	text := paint(colour, fmt.Sprintf("%-6s  %-*s", kind, s.width, topic)) + "  " + paint(dim, key) + "  " + value
	if reason != "" {
		text += "  " + paint(colour, reason)
	}
	return text
}

// reasonOf is why a record is a dead letter, and where it stood.
func (s *screen) reasonOf(r devkafka.Record) string {
	headers := map[string]string{}
	for _, h := range r.Headers {
		headers[h.Key] = string(h.Value)
	}
	text := fmt.Sprintf("%s; in %s", headers["eo.reason"], headers["eo.operator"])
	if topic := headers["eo.topic"]; topic != "" {
		text += fmt.Sprintf(", %s/%s offset %s", topic, headers["eo.partition"], headers["eo.offset"])
		if place := s.places.of(topic, headers["eo.partition"], headers["eo.offset"]); place != "" {
			text += fmt.Sprintf(" (%s)", place)
		}
	}
	return printable([]byte(text))
}

// printable is text that stays on its line.
func printable(text []byte) string {
	s := string(text)
	if utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	return strconv.Quote(s)
}

// summary says how many records came into each topic, and what the program has counted.
func (s *screen) summary(list topics, counts counts) {
	dropped := counts.rejected // but for those that are dead letters
	for _, t := range list {
		if t.role == refused {
			dropped -= s.shown(t.name)
		}
		if t.role != input {
			s.say("%s in %s", many(s.shown(t.name), roleNames[t.role]), t.name)
		}
	}
	if dropped > 0 {
		s.say("on_error has skipped %s; the first of each operator are named above", many(dropped, "record"))
	}
	if len(counts.lines) > 0 {
		s.say("what became of all records, by operator:")
	}
	for _, line := range counts.lines {
		s.say("  %s", line)
	}
}

// shown is how many records of a topic were shown.
func (s *screen) shown(topic string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[topic]
}

// roleNames is what one record is called.
var roleNames = map[role]string{result: "result", late: "late record", refused: "dead letter"}

// many is a number of things.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
