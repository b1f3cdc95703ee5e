package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

const (
	// mostAtOnce is how many records are sent in one go.
	mostAtOnce = 1000
	// leastPause is the shortest time between two that are paced: faster than that, several are sent at once.
	leastPause = 20 * time.Millisecond
)

// ending is that of files with sample data: a line is a record, the name is the topic's.
const ending = ".jsonl"

// DataDir is where the sample data of a .eo file is unless somebody says otherwise: in data/NAME beside it, else in data; "" if there is none.
func DataDir(file string) string {
	data := filepath.Join(filepath.Dir(file), "data")
	for _, dir := range []string{filepath.Join(data, strings.TrimSuffix(filepath.Base(file), ".eo")), data} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// DataFile is the file with the sample data of a topic, in a folder of them.
func DataFile(dir, topic string) string { return filepath.Join(dir, topic+ending) }

// feed begins to feed the data of all inputs, each topic for itself. l.fed gets the end of it.
func (l *life) feed() {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	fed := make(chan error, 1)
	l.fed = fed
	list, others := l.topics, l.others() // an edit that changes a source is refused, so it brings no others
	l.feeders.Go(func() {
		var all sync.WaitGroup
		errs := make([]error, len(list))
		for i, t := range list {
			if t.role == input {
				all.Go(func() { errs[i] = l.feedTopic(ctx, t, others) })
			}
		}
		all.Wait()
		fed <- errors.Join(errs...)
	})
}

// others are the files with data of which no source reads the topic: one of them may have the wrong name.
func (l *life) others() string {
	entries, err := os.ReadDir(l.Data)
	if err != nil {
		return "" // there is no folder, as is said already
	}
	var names []string
	for _, e := range entries {
		topic, ok := strings.CutSuffix(e.Name(), ending)
		if _, read := l.topics.input(topic); ok && !read {
			names = append(names, e.Name())
		}
	}
	if names == nil {
		return ""
	}
	return "; there is " + strings.Join(names, ", ") + ", but no source reads a topic of that name"
}

// alike says which file is named after a topic and has another ending, such as orders.json.
func (l *life) alike(topic string) string {
	entries, err := os.ReadDir(l.Data)
	if err != nil {
		return "" // there is no folder, as is said already
	}
	for _, e := range entries {
		if end := filepath.Ext(e.Name()); end != ending && e.Name() == topic+end && !e.IsDir() {
			return fmt.Sprintf("; %s is, but its name has to end in %s, since each line is a record", filepath.Join(l.Data, e.Name()), ending)
		}
	}
	return ""
}

// feedTopic feeds the file of a topic. If there is none it says so, and which others there are.
func (l *life) feedTopic(ctx context.Context, t topic, others string) error {
	if l.Data == "" {
		l.noData(t, others)
		return nil
	}
	path := DataFile(l.Data, t.name)
	var some devkafka.Record // has what one of the records has
	n, err := l.send(ctx, t.name, noting(&some, l.passLong(t.rule.File(ctx, path))))
	switch {
	case ctx.Err() != nil:
		return nil // it has been ended
	case errors.Is(err, fs.ErrNotExist):
		l.noData(t, others)
		return nil
	case err != nil:
		return err
	}
	l.screen.say("fed %s to topic %s from %s", many(n, "record"), t.name, path)
	if field := named(l.Key, t.name); n > 0 && field != "" && some.Key == nil {
		l.screen.say("%s", NoKey(t.name, field))
	}
	if field := named(l.Time, t.name); n > 0 && field != "" && some.Time.IsZero() {
		l.screen.say("%s", NoTime(t.name, field))
	}
	return nil
}

// NoKey says that no record of the topics has the field that --key names.
func NoKey(topics, field string) string {
	return fmt.Sprintf("no record of topic %s has a key: its field %s, which --key names, is missing or null in all of them", topics, field)
}

// NoTime says that no record of the topics has a time in the field that --time names.
func NoTime(topics, field string) string {
	return fmt.Sprintf("all records of topic %s have the time of now: their field %s, which --time names, has no time in it", topics, field)
}

// noting notes in some the key and the time of records that have one.
func noting(some *devkafka.Record, records iter.Seq2[devkafka.Record, error]) iter.Seq2[devkafka.Record, error] {
	return func(yield func(devkafka.Record, error) bool) {
		for r, err := range records {
			if r.Key != nil {
				some.Key = r.Key
			}
			if !r.Time.IsZero() {
				some.Time = r.Time
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (l *life) noData(t topic, others string) {
	l.screen.say("no data for topic %s: %s is not there%s", t.name, l.wanted(t.name), cmp.Or(l.alike(t.name), others))
}

// passLong passes over records of a file that are too long, and says so. With UntilEnd, where nobody may be reading along, they are errors.
func (l *life) passLong(records iter.Seq2[devkafka.Record, error]) iter.Seq2[devkafka.Record, error] {
	return func(yield func(devkafka.Record, error) bool) {
		for r, err := range records {
			var long devkafka.LongError
			if errors.As(err, &long) && !l.UntilEnd {
				l.screen.say("%v", long)
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// wanted is where the data of a topic would be.
func (l *life) wanted(topic string) string {
	dir := l.Data
	if dir == "" {
		dir = filepath.Join(filepath.Dir(l.File), "data")
	}
	return DataFile(dir, topic)
}

// send sends records to a topic, at l.Rate, and returns how many.
func (l *life) send(ctx context.Context, topic string, records iter.Seq2[devkafka.Record, error]) (n int, err error) {
	pace := newPacer(l.Rate)
	defer pace.stop()
	var batch []devkafka.Record
	for r, err := range records {
		if err != nil {
			return n, err
		}
		if batch = append(batch, r); len(batch) < pace.batch {
			continue
		}
		if err := l.places.send(ctx, l.client, topic, batch); err != nil {
			return n, err
		}
		n, batch = n+len(batch), batch[:0]
		if err := pace.wait(ctx); err != nil {
			return n, err
		}
	}
	if len(batch) > 0 {
		err = l.places.send(ctx, l.client, topic, batch)
		n += len(batch)
	}
	return n, err
}

// pacer says how many records go at once, and waits between them.
type pacer struct {
	batch int
	tick  *time.Ticker // nil: no waiting
}

// newPacer paces to rate records a second; 0: as fast as possible.
func newPacer(rate float64) pacer {
	if rate <= 0 {
		return pacer{batch: mostAtOnce}
	}
	batch := max(1, int(rate*leastPause.Seconds()))
	return pacer{batch, time.NewTicker(time.Duration(float64(batch) / rate * float64(time.Second)))}
}

func (p pacer) wait(ctx context.Context) error {
	if p.tick == nil {
		return nil
	}
	select {
	case <-p.tick.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p pacer) stop() {
	if p.tick != nil {
		p.tick.Stop()
	}
}
