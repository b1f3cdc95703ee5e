package dev

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

// places knows whence the records that were fed have come, so that what is said of one names its line, not only where the broker has put it.
type places struct {
	data  string     // folder of sample data
	mu    sync.Mutex // held while records are on their way: nothing is said of one before its place is known
	lines map[partition][]int
}

// partition is one of a topic.
type partition struct {
	topic string
	id    int32
}

// Where a record comes from, beside the lines of the topic's file, which count from 1.
const (
	fromElsewhere = 0 // another client of the broker
	fromInput     = -1
)

func newPlaces(data string) *places { return &places{data: data, lines: map[partition][]int{}} }

// send sends records to a topic and notes their places.
func (p *places) send(ctx context.Context, client *devkafka.Client, topic string, records []devkafka.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := client.Send(ctx, topic, records); err != nil {
		return err
	}
	for _, r := range records {
		p.note(partition{topic, r.Partition}, r.Offset, r.Line)
	}
	return nil
}

// note is called with growing offsets.
func (p *places) note(at partition, offset int64, line int) {
	known := p.lines[at]
	for int64(len(known)) < offset {
		known = append(known, fromElsewhere)
	}
	p.lines[at] = append(known, line)
}

// of is the place of the record with a partition and an offset, such as data/orders.jsonl:7; "" if it was not fed from here.
func (p *places) of(topic, id, offset string) string {
	number, err := strconv.ParseInt(id, 10, 32)
	if err != nil {
		return ""
	}
	n, err := strconv.ParseUint(offset, 10, 63)
	if err != nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fromElsewhere
	if known := p.lines[partition{topic, int32(number)}]; n < uint64(len(known)) {
		line = known[n]
	}
	switch line {
	case fromElsewhere:
		return ""
	case fromInput:
		return "standard input"
	}
	return fmt.Sprintf("%s:%d", DataFile(p.data, topic), line)
}

// mention is how a program names a record that is at fault, see runtime.Batch.
var mention = regexp.MustCompile(`topic ([a-zA-Z0-9._-]+), partition ([0-9]+), offset ([0-9]+)`)

// addTo adds its place behind each record that a text of the program names.
func (p *places) addTo(text string) string {
	return mention.ReplaceAllStringFunc(text, func(found string) string {
		parts := mention.FindStringSubmatch(found)
		if place := p.of(parts[1], parts[2], parts[3]); place != "" {
			return fmt.Sprintf("%s (%s)", found, place)
		}
		return found
	})
}
