package devkafka

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"time"
)

// MostBytes is the greatest size of a record, key and value: what the largest batch that clients send unless told otherwise
// (1,000,012 bytes, franz-go's ProducerBatchMaxBytes) has left for one beside its own fields.
const MostBytes = 1_000_012 - 112

// longestLine is the greatest length of a line in bytes: a record, and on standard input its topic.
const longestLine = MostBytes + 1<<10

// LongError says that a record is too long to be sent, or a line to be one. What comes behind it can be read.
type LongError struct {
	Path  string // of the file, if it is known
	Line  int    // of the text, from 1
	Bytes int
}

func (e LongError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Text())
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Text())
}

// Text says it without the place.
func (e LongError) Text() string {
	return fmt.Sprintf("a record of %d bytes is not fed: clients send %d at most, key and value, unless told otherwise; make it smaller or leave it out", e.Bytes, MostBytes)
}

// mark is what some editors put in front of UTF-8 (the Unicode Standard, 23.8, U+FEFF). It is of the file, not of its first line.
const mark = "\ufeff"

// Lines reads lines, without what ends them. One that is too long is a LongError, behind which it goes on; it ends at any other error.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReader(r)
		for number := 1; ; number++ {
			line, size, err := readLine(in)
			if number == 1 {
				line = bytes.TrimPrefix(line, []byte(mark))
			}
			switch {
			case err != nil && !errors.Is(err, io.EOF):
				yield(nil, fmt.Errorf("line %d: %w", number, err))
				return
			case size > longestLine:
				if !yield(nil, LongError{Line: number, Bytes: size}) {
					return
				}
			case size > 0 || err == nil:
				if !yield(line, nil) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

// readLine reads a line and says how long it is, without what ends it. Of one that is too long not all is kept.
func readLine(in *bufio.Reader) (line []byte, size int, err error) {
	for {
		var part []byte
		part, err = in.ReadSlice('\n')
		if size += len(part); size <= longestLine+len("\r\n") {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	if err == nil {
		size--
		line = bytes.TrimSuffix(line, []byte("\n"))
	}
	if cut, ok := bytes.CutSuffix(line, []byte("\r")); ok {
		line, size = cut, size-1
	}
	return line, size, err
}

// Rule says how a line of JSON becomes a record, whose value it is. A line that is not an object, or lacks
// the fields, becomes a record without key, of now: bad input is what dead letters are tried with. The line null, which is no object
// either, becomes a record without a value.
type Rule struct {
	Key  string        // field that gives the key: a string its text, another value its JSON; "": no key
	Time string        // field that gives the time: RFC 3339 text, or a number that counts Units since 1970; the nearest that Kafka has; "": now
	Unit time.Duration // of numbers; 0: milliseconds
}

// Records reads a record from each line that is not blank. One that is too long is a LongError, behind which it goes on; it ends at
// any other error.
func (rule Rule) Records(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		number := 0
		for line, err := range Lines(r) {
			number++
			var record Record
			if err == nil {
				if line = bytes.TrimSpace(line); len(line) == 0 {
					continue
				}
				record = rule.Record(line)
				record.Line = number
				if n := record.Size(); n > MostBytes {
					err = LongError{Line: number, Bytes: n}
				}
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// File is Records of a file, which errors name. It ends with ctx also where a read waits, as it does at a pipe that nobody writes to.
func (rule Rule) File(ctx context.Context, path string) iter.Seq2[Record, error] {
	type item struct {
		record Record
		err    error
	}
	return func(yield func(Record, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		items := make(chan item)
		go func() {
			defer close(items)
			for r, err := range rule.read(path) {
				select {
				case items <- item{r, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case i, more := <-items:
				if !more || !yield(i.record, i.err) {
					return
				}
			case <-ctx.Done():
				yield(Record{}, ctx.Err())
				return
			}
		}
	}
}

// read is File without an end of another.
func (rule Rule) read(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			yield(Record{}, fmt.Errorf("%s is a folder; expected a file with a record in each line", path))
			return
		}
		file, err := os.Open(path)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer file.Close()
		for r, err := range rule.Records(file) {
			var long LongError
			switch {
			case errors.As(err, &long):
				long.Path = path
				err = long
			case err != nil:
				err = fmt.Errorf("%s, %w", path, err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Record makes the record of a line, whose bytes it keeps.
func (rule Rule) Record(line []byte) Record {
	if string(line) == "null" {
		return Record{Partition: ByKey}
	}
	out := Record{Partition: ByKey, Value: line}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return out
	}
	if value, ok := fields[rule.Key]; ok && rule.Key != "" {
		var text string
		switch {
		case string(value) == "null": // no key
		case json.Unmarshal(value, &text) == nil:
			out.Key = []byte(text)
		default:
			out.Key = value
		}
	}
	if value, ok := fields[rule.Time]; ok && rule.Time != "" && string(value) != "null" {
		var text time.Time
		var count int64
		if json.Unmarshal(value, &text) == nil {
			out.Time = stamp(text)
		} else if json.Unmarshal(value, &count) == nil {
			out.Time = rule.at(count)
		}
	}
	return out
}

// The times that a record of Kafka can have: -1 ms is no time, and others before 1970 clients of Kafka refuse. franz-go counts
// nanoseconds in 64 bits, and makes another time of one behind their end.
var (
	FirstTime = time.UnixMilli(0)
	LastTime  = time.UnixMilli(math.MaxInt64 / int64(time.Millisecond))
)

// stamp is the nearest time that a record can have.
func stamp(t time.Time) time.Time {
	switch {
	case t.Before(FirstTime):
		return FirstTime
	case t.After(LastTime):
		return LastTime
	}
	return t
}

// at is the time that is count Units after the beginning of 1970, or the nearest that a record can have.
func (rule Rule) at(count int64) time.Time {
	unit := int64(cmp.Or(rule.Unit, time.Millisecond))
	if count > math.MaxInt64/unit {
		return LastTime // time.Unix, too, counts in 64 bits
	}
	return stamp(time.Unix(0, max(count, 0)*unit))
}
