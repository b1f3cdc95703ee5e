package dev

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

// line is a line of standard input; with err it is too long to be one.
type line struct {
	text string
	err  error
}

// readLines reads lines until their end or that of ctx; what ends them otherwise comes as the last one. A read that waits at a terminal lasts
// as long as the process.
func readLines(ctx context.Context, r io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		for text, err := range devkafka.Lines(r) {
			select {
			case lines <- line{string(text), err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// wish is what a line asks for.
type wish int

const (
	goOn wish = iota
	startOver
	quit
)

// command does what a line of standard input says.
func (l *life) command(ctx context.Context, said line) (wish, error) {
	if said.err != nil {
		l.screen.say("standard input, %v", said.err)
		return goOn, nil
	}
	line := strings.TrimSpace(said.text)
	name, value, isRecord := strings.Cut(line, " ")
	switch {
	case line == "r" || line == "" && l.Terminal:
		return startOver, nil
	case line == "q":
		return quit, nil
	case line == "":
		return goOn, nil
	case strings.HasPrefix(line, "{"):
		l.screen.say("a record has its topic in front: TOPIC {json}; there is %s", strings.Join(l.topics.inputs(), ", "))
		return goOn, nil
	case !isRecord && slices.Contains(l.topics.inputs(), line):
		l.screen.say("%s is a topic; a record of it stands behind it: %[1]s {json}", line)
		return goOn, nil
	case !isRecord:
		l.screen.say("%q is no command: r starts over, q ends, TOPIC {json} feeds a record", line)
		return goOn, nil
	}
	t, ok := l.topics.input(name)
	if !ok {
		l.screen.say("no source reads a topic %s; there is %s", name, strings.Join(l.topics.inputs(), ", "))
		return goOn, nil
	}
	record := t.rule.Record([]byte(strings.TrimSpace(value)))
	if n := record.Size(); n > devkafka.MostBytes {
		l.screen.say("standard input: %s", devkafka.LongError{Bytes: n}.Text())
		return goOn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, brokerLimit)
	defer cancel()
	if err := l.places.sendByHand(ctx, l.client, t.name, record); err != nil {
		return goOn, fmt.Errorf("feed a line: %w", err)
	}
	if l.process == nil {
		l.screen.say("the record is in topic %s, and waits there: the program does not run", t.name)
	}
	return goOn, nil
}
