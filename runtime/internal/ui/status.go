package ui

import (
	"math"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// answer is status.json. Times are milliseconds since 1970, event time is in microseconds; null: not known yet.
type answer struct {
	Process     int64  `json:"process"` // when the process began: another number is another process
	Now         int64  `json:"now"`     // the program's clock
	Pipeline    string `json:"pipeline"`
	Phase       string `json:"phase"`
	Since       int64  `json:"since"`
	Tasks       int    `json:"tasks"`
	Interval    int64  `json:"interval"` // between checkpoints, in ms
	Restarts    int64  `json:"restarts"`
	Checkpoints int64  `json:"checkpoints"`
	// Transactions were committed in this process.
	Transactions int64            `json:"transactions"`
	Looked       *int64           `json:"looked"` // when brokers have last said how far the partitions go
	InFlight     *inFlight        `json:"inFlight"`
	History      []checkpointJSON `json:"history"`  // oldest first
	Failures     []failureJSON    `json:"failures"` // oldest first
	Refusals     []refusalJSON    `json:"refusals"` // newest first, the last of each operator
	Operators    []operatorJSON   `json:"operators"`
	Partitions   []partitionJSON  `json:"partitions"`
	Totals       []totalJSON      `json:"totals"` // of the newest checkpoint, over all partitions
	Sinks        []sinkJSON       `json:"sinks"`
}

type inFlight struct {
	Number  int64  `json:"number"`
	Since   int64  `json:"since"`
	Waiting string `json:"waiting"`
}

type checkpointJSON struct {
	Number int64      `json:"number"`
	At     int64      `json:"at"`
	Bytes  int64      `json:"bytes"`
	Took   [5]float64 `json:"took"` // align, flush, store, commit and confirm, in ms
}

type failureJSON struct {
	Text    string `json:"text"`
	At      int64  `json:"at"`
	During  string `json:"during"`
	Retried bool   `json:"retried"`
}

// refusalJSON holds nothing of what was refused but its place.
type refusalJSON struct {
	Operator  string `json:"operator"`
	Place     string `json:"place"`
	Reason    string `json:"reason"`
	Topic     string `json:"topic,omitempty"` // of a record
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Start     int64  `json:"start"` // of the window of a result
	End       int64  `json:"end"`
	At        int64  `json:"at"`
	N         int64  `json:"n"` // refused by the operator in all
}

type operatorJSON struct {
	ID        string `json:"id"`
	Watermark *int64 `json:"watermark"`
	Ended     bool   `json:"ended"` // everything is read: no window stays open
	Keys      *int64 `json:"keys"`  // in open windows, each once for each, as of the newest checkpoint
}

type partitionJSON struct {
	Source    string           `json:"source"`
	Topic     string           `json:"topic"`
	ID        int32            `json:"id"`
	State     string           `json:"state"`
	Next      int64            `json:"next"`
	End       *int64           `json:"end"`
	Lag       *int64           `json:"lag"`
	StableLag *int64           `json:"stableLag"`
	Watermark *int64           `json:"watermark"`
	Counts    map[string]int64 `json:"counts,omitempty"` // of its records, in all operators
}

type totalJSON struct {
	Operator string `json:"operator"`
	Name     string `json:"name"`
	N        int64  `json:"n"`
}

type sinkJSON struct {
	Name    string `json:"name"`
	Topic   string `json:"topic"`
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"`
}

func newAnswer(s engine.Status, process, now time.Time) answer {
	a := answer{
		Process: process.UnixMilli(), Now: now.UnixMilli(), Pipeline: s.Pipeline, Phase: s.Phase.String(), Tasks: s.Tasks,
		Since: now.UnixMilli(), Interval: s.Interval.Milliseconds(), Restarts: s.Restarts, Checkpoints: s.Checkpoints, Transactions: s.Transactions,
		History: []checkpointJSON{}, Failures: []failureJSON{}, Refusals: []refusalJSON{}, Operators: []operatorJSON{}, Partitions: []partitionJSON{},
		Totals: []totalJSON{}, Sinks: []sinkJSON{},
	}
	if !s.Since.IsZero() {
		a.Since = s.Since.UnixMilli()
	}
	if !s.Looked.IsZero() {
		looked := s.Looked.UnixMilli()
		a.Looked = &looked
	}
	if f := s.InFlight; f != nil {
		a.InFlight = &inFlight{f.Number, f.Since.UnixMilli(), f.Waiting}
	}
	for _, c := range s.History {
		t := c.Took
		a.History = append(a.History, checkpointJSON{c.Number, c.At.UnixMilli(), c.Bytes,
			[5]float64{millis(t.Align), millis(t.Flush), millis(t.Store), millis(t.Commit), millis(t.Confirm)}})
	}
	for _, f := range s.Failures {
		a.Failures = append(a.Failures, failureJSON{f.Text, f.At.UnixMilli(), f.During.String(), f.Retried})
	}
	for _, r := range s.Refusals {
		a.Refusals = append(a.Refusals, refusalJSON{r.Operator, r.Place, r.Reason, r.Topic, r.Partition, r.Offset, r.WindowStart, r.WindowEnd, r.At.UnixMilli(), r.N})
	}
	for _, o := range s.Operators {
		a.Operators = append(a.Operators, operatorJSON{o.ID, eventTime(o.W), o.W == math.MaxInt64, known(o.Keys)})
	}
	for _, sink := range s.Sinks {
		a.Sinks = append(a.Sinks, sinkJSON{sink.Name, sink.Topic, sink.Records, sink.Bytes})
	}
	a.setPartitions(s)
	return a
}

// setPartitions fills in the partitions, and the counts: by operator, and by the partition that records came from.
func (a *answer) setPartitions(s engine.Status) {
	type partition struct {
		topic string
		id    int32
	}
	type total struct{ operator, name string }
	at, of := map[partition]map[string]int64{}, map[total]int{}
	for _, c := range s.Counts {
		if p := (partition{c.Topic, c.Partition}); c.Partition >= 0 {
			if at[p] == nil {
				at[p] = map[string]int64{}
			}
			at[p][c.Name] += c.N
		}
		t := total{c.Operator, c.Name}
		i, known := of[t]
		if !known {
			i = len(a.Totals)
			of[t] = i
			a.Totals = append(a.Totals, totalJSON{Operator: c.Operator, Name: c.Name})
		}
		a.Totals[i].N += c.N
	}
	for _, p := range s.Partitions {
		a.Partitions = append(a.Partitions, partitionJSON{
			Source: p.Source, Topic: p.Topic, ID: p.ID, State: p.State.String(), Next: p.Next, Watermark: eventTime(p.Watermark),
			End: known(p.End), Lag: known(p.Lag()), StableLag: known(p.StableLag()), Counts: at[partition{p.Topic, p.ID}],
		})
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// eventTime is null for what is no time: before the first watermark, and behind the end.
func eventTime(t int64) *int64 {
	if t == math.MinInt64 || t == math.MaxInt64 {
		return nil
	}
	return &t
}

func known(n int64) *int64 {
	if n == engine.Unknown {
		return nil
	}
	return &n
}
