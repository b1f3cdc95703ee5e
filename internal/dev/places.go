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
	data   string // folder of sample data
	mu     sync.Mutex
	topics map[string]*fed
}

// fed are the places of a topic's records.
type fed struct {
	mu    sync.Mutex        // held while records are on their way: nothing is said of one before its place is known
	lines map[int32][]int32 // of the topic's file, by partition and offset
}

// Where a record comes from that is not of a line of the topic's file.
const (
	unknown = 0 // another client of the broker
	byHand  = -1
)

func newPlaces(data string) *places { return &places{data: data, topics: map[string]*fed{}} }

func (p *places) topic(name string) *fed {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topics[name] == nil {
		p.topics[name] = &fed{lines: map[int32][]int32{}}
	}
	return p.topics[name]
}

// send sends records of a topic's file, and notes where they are.
func (p *places) send(ctx context.Context, client *devkafka.Client, topic string, records []devkafka.Record) error {
	return p.topic(topic).send(ctx, client, topic, records, func(r devkafka.Record) int32 { return int32(r.Line) })
}

// sendByHand sends a record of standard input.
func (p *places) sendByHand(ctx context.Context, client *devkafka.Client, topic string, record devkafka.Record) error {
	return p.topic(topic).send(ctx, client, topic, []devkafka.Record{record}, func(devkafka.Record) int32 { return byHand })
}

func (f *fed) send(ctx context.Context, client *devkafka.Client, topic string, records []devkafka.Record, line func(devkafka.Record) int32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := client.Send(ctx, topic, records); err != nil {
		return err
	}
	for _, r := range records {
		f.note(r.Partition, r.Offset, line(r))
	}
	return nil
}

// note is called with growing offsets.
func (f *fed) note(partition int32, offset int64, line int32) {
	known := f.lines[partition]
	for int64(len(known)) < offset {
		known = append(known, unknown)
	}
	f.lines[partition] = append(known, line)
}

// of is the place of the record with a partition and an offset, such as data/orders.jsonl:7; "" if it was not fed from here.
func (p *places) of(topic, partition, offset string) string {
	id, err := strconv.ParseInt(partition, 10, 32)
	if err != nil {
		return ""
	}
	n, err := strconv.ParseUint(offset, 10, 63)
	if err != nil {
		return ""
	}
	f := p.topic(topic)
	f.mu.Lock()
	defer f.mu.Unlock()
	line := int32(unknown)
	if known := f.lines[int32(id)]; n < uint64(len(known)) {
		line = known[n]
	}
	switch line {
	case unknown:
		return ""
	case byHand:
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
