package runtime

import (
	"regexp"
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
)

// A Task is one worker's copy of a pipeline. It runs on one goroutine, so nothing
// that belongs to it is locked or shared.
type Task struct {
	sources   []*Source
	operators []operator
	sinks     []*Sink
	counters  []*counter
	refusing  []*refusals
	calcs     []*Calc
	deltas    []checkpoint.Delta // of the last snapshot

	links []settings.Link // of sources with connections of their own, each once

	brokers *[]string // of Pipeline
	env     settings.Env
	asked   []settings.Variable // what was looked up there
	out     engine.Outlet
	targets int // workers that rows are dealt to; 0: this task is alone

	origins []record.Origin // of records, by Partition.Slot+1. The first stands for none: results of windows come from many partitions
	origin  int             // of the batch at hand; 0 outside one
	batch   *Batch          // at hand
	clock   time.Time       // when something was first refused of the records or windows at hand; zero: nothing was
	err     error           // the first that generated code ran into
}

// operator is the side of an operator with keyed state that the task sees.
type operator interface {
	declaration() engine.OperatorSpec
	// begin starts a batch of a partition for which windows up to floor are closed.
	begin(floor Time)
	// end ends it. A task that is alone folds the batch's rows.
	end() error
	// send hands over all rows that wait in front of the exchange.
	send()
	// accept folds rows that came through the exchange.
	accept(engine.Rows) error
	// advance closes what w has passed.
	advance(w Time) (closed int)
	// held yields the windows that are open, with their number of keys and the memory of these.
	held(yield func(start Time, keys int, bytes int64))
	snapshot([]checkpoint.Delta) []checkpoint.Delta
	restore(checkpoint.Delta) error
	// merge is checkpoint.Merge for this operator.
	merge(group int, deltas [][]byte, w Time) ([]byte, error)
}

// newTask lets p declare its parts in a new task.
func newTask(p Pipeline, env settings.Env, out engine.Outlet, targets int) (*Task, error) {
	t := &Task{brokers: p.brokers, env: env, out: out, targets: targets, origins: make([]record.Origin, 1)}
	p.Build(t)
	for _, s := range t.sources {
		s.declareDLQ()
	}
	for _, c := range t.counters {
		c.n = make([]int64, 1)
	}
	return t, t.err
}

// resolve looks a setting up; the task keeps the first error.
func (t *Task) resolve(s Setting, what string) string {
	if s.Env != "" {
		t.asked = append(t.asked, settings.Variable{Setting: s, What: what})
	}
	text, err := s.Resolve(t.env, what)
	t.fail(err)
	return text
}

// legalTopic are the names that Kafka takes for topics, but for `.` and `..` (org.apache.kafka.common.internals.Topic).
var legalTopic = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// topic is the topic that a setting names. What the file says the compiler has checked.
func (t *Task) topic(s Setting, what string) string {
	name := t.resolve(s, what)
	if s.Env != "" && (name == "." || name == ".." || !legalTopic.MatchString(name)) {
		t.fail(failure.New(failure.Usage, "a topic's name is 1 to 249 of a-z, A-Z, 0-9, `.`, `_` and `-`", nil, "%q is %s, which Kafka does not take", name, what))
	}
	return name
}

// connect is the number of a source's connection. Sources that say the same share one. Its variables are looked up when contact is
// to be made: tests need none.
func (t *Task) connect(s SourceSpec) int {
	if s.Connection == nil {
		return 0
	}
	i := slices.IndexFunc(t.links, func(l settings.Link) bool { return l.Connection == *s.Connection })
	if i < 0 {
		i = len(t.links)
		link := settings.Link{Connection: *s.Connection, Of: "source " + s.Name + " (" + s.Place + ")"}
		t.links = append(t.links, link)
		t.asked = append(t.asked, link.Variables()...)
	}
	return i + 1
}

// allocate calls take if there is room for so many bytes.
func (t *Task) allocate(bytes int64, take func()) error {
	if t.out == nil {
		take()
		return nil
	}
	return t.out.Allocate(bytes, take)
}

// fail keeps the first error.
func (t *Task) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// operatorOf is the operator of that id.
func (t *Task) operatorOf(id string) (operator, error) {
	for _, op := range t.operators {
		if op.declaration().ID == id {
			return op, nil
		}
	}
	return nil, failure.New(failure.State, failure.StateHelp, nil, "the checkpoint holds state of %s, which the pipeline does not have", id)
}

// Calc declares the arithmetic that can fail.
func (t *Task) Calc() *Calc {
	c := new(Calc)
	t.calcs = append(t.calcs, c)
	return c
}

// freeScratch ends the life of strings that casts have made.
func (t *Task) freeScratch() {
	for _, c := range t.calcs {
		c.freeScratch()
	}
}
