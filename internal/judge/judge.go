// Package judge reads what a program has left behind, its records and what it has counted, in the terms of internal/reference,
// so that the two can be compared. It shares no code with the runtime.
package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/reference"
)

// Record is a record of a topic, as a reader of committed records sees it.
type Record struct {
	Partition  int32
	Offset     int64
	Key, Value []byte
	Headers    []reference.Header
	Time       time.Time
}

// Output is the record as one of a sink.
func (r Record) Output() reference.Output {
	return reference.Output{Key: r.Key, Value: r.Value, Time: r.Time.UnixMilli()}
}

// DeadLetter reads a record of a dead-letter topic, whose id in the graph is given: the record as it came, and behind its own headers those
// that say why it is there and whence it came. written is the topic of the .eo file that stands for a topic of the cluster.
func DeadLetter(id string, rec Record, written func(topic string) string) (reference.DeadLetter, error) {
	d := reference.DeadLetter{Topic: id, Key: rec.Key, Value: rec.Value}
	d.Partition, d.Offset = -1, -1
	for _, h := range rec.Headers {
		var err error
		switch text := string(h.Value); h.Key {
		case "eo.reason":
			d.Reason = text
		case "eo.topic":
			d.Refusal.Topic = written(text)
		case "eo.partition":
			var n int64
			n, err = strconv.ParseInt(text, 10, 32)
			d.Partition = int32(n)
		case "eo.offset":
			d.Offset, err = strconv.ParseInt(text, 10, 64)
		case "eo.operator":
			d.Operator, _, _ = strings.Cut(text, " ")
		case "eo.window_start", "eo.window_end", "eo.source":
		default:
			d.Headers = append(d.Headers, h)
		}
		if err != nil {
			return d, fmt.Errorf("dead letter at partition %d, offset %d: header %s: %w", rec.Partition, rec.Offset, h.Key, err)
		}
	}
	if d.Reason == "" || d.Operator == "" {
		return d, fmt.Errorf("dead letter at partition %d, offset %d says neither why nor where: %v", rec.Partition, rec.Offset, rec.Headers)
	}
	return d, nil
}

// Counts reads in a program's log, in JSON, what it has counted at its end. ok is false if it has not said so.
func Counts(log string, written func(topic string) string) (counts map[reference.Counter]int64, ok bool, err error) {
	for line := range strings.Lines(log) {
		var end struct {
			Msg    string
			Counts map[string]int64
		}
		if json.Unmarshal([]byte(line), &end) != nil || end.Msg != "stopped" && end.Msg != "finished" || end.Counts == nil {
			continue
		}
		counts := map[reference.Counter]int64{}
		for text, n := range end.Counts {
			c, err := counter(text, written)
			if err != nil {
				return nil, false, fmt.Errorf("the program counts %q: %w", text, err)
			}
			counts[c] = n
		}
		return counts, true, nil
	}
	return nil, false, nil
}

// counter reads the name of a counter in the log: operator, name, topic/partition.
func counter(text string, written func(string) string) (reference.Counter, error) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return reference.Counter{}, fmt.Errorf("want operator, name and topic/partition")
	}
	slash := strings.LastIndex(parts[2], "/")
	id, err := strconv.ParseInt(parts[2][slash+1:], 10, 32)
	return reference.Counter{
		Operator: parts[0], Name: parts[1], Topic: written(parts[2][:max(slash, 0)]), Partition: int32(id),
	}, err
}
