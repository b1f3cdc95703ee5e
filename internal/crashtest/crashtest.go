// Package crashtest is `eoc test --crash`: it kills a user's pipeline at every crash point and at random moments while it reads sample
// data from an embedded broker, and compares what readers of committed records then see with a run without crashes and with the
// interpreter of plans. Decision 41 says why it does so in this way.
//
//	schedule.go   where the program dies in a run, and what happens between
//	data.go       what it is fed
//	run.go        one run: a broker, the program's lives, what they leave
//	outcome.go    what was left, and what is wrong with it
//	compare.go    how the records of a topic differ
//	report.go     what is said of it
package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eoc-lang/eoc/internal/crashpoint"
	"github.com/eoc-lang/eoc/internal/dev"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// Options say what is tested, and how.
type Options struct {
	File   string         // the .eo file
	Graph  *planner.Graph // of it, adapted with Adapt
	Binary string         // its program, with crash points
	// Command runs this eoc. With dev.BrokerVerb behind it, it calls devkafka.Serve; with dev.GuardVerb and a command, dev.Guard.
	Command []string

	Data       string            // folder of sample data, see docs/dev.md; "": none
	Key, Time  map[string]string // see dev.Options
	Partitions int32             // of topics

	Transactions []int    // versions to run with
	Parallelism  []int    // numbers of tasks to run with
	Seed         uint64   // of everything that is drawn
	Moments      int      // runs with kills at random moments, for each version and parallelism
	Only         Schedule // the only schedule; nil: all
	Repeat       string   // the command that runs this test, without what makes it one case

	Err      io.Writer // progress
	Terminal bool      // Err is a terminal
}

// Adapt makes the graph of a pipeline that can be tested: that talks to the embedded broker, reads what it is fed from the
// beginning, and depends on no clock.
func Adapt(g *planner.Graph) {
	dev.Adapt(g)
	for _, n := range g.Nodes {
		if s, ok := n.Op.(*planner.Source); ok {
			s.Start, s.Idle = planner.StartEarliest, 0
		}
	}
}

// nameTopics puts the topics that the environment names into the graph of a program that is compiled: its sources differ by them.
func nameTopics(g *planner.Graph) error {
	for _, n := range g.Nodes {
		if s, ok := n.Op.(*planner.Source); ok {
			topic, err := dev.TopicName(s.Topic, os.LookupEnv)
			if err != nil {
				return err
			}
			s.Topic = planner.Setting{Text: topic}
		}
	}
	return nil
}

// StopError says that the pipeline stops at a record of the data, as on_error fail or on_null fail wants it.
type StopError struct {
	Place   string // of the record, a file with its line; "": it is a result
	Refusal reference.Refusal
}

func (e StopError) Error() string {
	what, wanted := "a result", "`on_error fail` wants it, which is what a source has that says nothing"
	if e.Place != "" {
		what = e.Place + ": this record"
	}
	instead := "give the source on_error skip or dlq(\"topic\")"
	if e.Refusal.Class == reference.NullValue {
		wanted, instead = "`on_null fail` wants it", "give the source on_null skip"
	}
	return fmt.Sprintf("%s stops the pipeline, as %s: %s: %s.\nCorrect the data, or %s", what, wanted, e.Refusal.Operator, e.Refusal.Reason, instead)
}

// mostFailures is after how many failures a test ends: more say no more.
const mostFailures = 10

// test is a test that is run.
type test struct {
	Options
	dir     string // where the runs have their folders
	began   time.Time
	topics  []dev.Topic
	outputs []output
	sample  *sample
	want    *reference.Result
	points  []string // those of the program
	screen  *screen

	mu      sync.Mutex
	results []*Result
	failed  int
}

// Run runs the test. An error is no failure of it: something is missing, or ctx has ended; or it is a StopError. If the error came
// when runs had failed already, the report of these comes with it, else the report is nil.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	t := &test{Options: o, began: time.Now(), screen: newScreen(o)}
	if o.Graph.Job.Memory {
		return nil, errors.New("the job has `store memory`: a crash loses the state, and the next start is refused; give it a store on disk to test it")
	}
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	if t.dir, err = os.MkdirTemp("", "eoc-test-"); err != nil {
		return nil, err
	}
	defer func() {
		if report == nil || report.Passed() {
			err = errors.Join(err, os.RemoveAll(t.dir))
		}
	}()
	defer t.screen.end()
	err = t.runAll(ctx)
	if err != nil && t.failed == 0 {
		return nil, err
	}
	return t.report(), err
}

// prepare reads the data, asks the reference and the program.
func (t *test) prepare(ctx context.Context) (err error) {
	if t.points, err = crashpoint.Of(ctx, t.Binary); err != nil {
		return err
	}
	if err := t.Only.check(t.points); err != nil {
		return err
	}
	if err := nameTopics(t.Graph); err != nil {
		return err
	}
	if t.topics, err = dev.Topics(t.Graph, t.Key, t.Time, os.LookupEnv); err != nil {
		return err
	}
	if t.sample, err = readSample(ctx, t.Options, t.topics, t.began); err != nil {
		return err
	}
	if t.want = reference.Run(t.Graph, t.sample.input); len(t.want.Failures) > 0 {
		return StopError{t.sample.place(t.want.Failures[0]), t.want.Failures[0]}
	}
	if len(t.want.DeadLetters) == 0 && !slices.ContainsFunc(t.Graph.Nodes, func(n *planner.Node) bool { return len(t.want.Sinks[n.ID]) > 0 }) {
		return fmt.Errorf("%s: this data leads to no result, late record or dead letter, so there is nothing that could be lost or doubled%s; add records that do",
			strings.Join(t.sample.files, ", "), t.lost())
	}
	return t.findOutputs()
}

// lost says where the records have gone, if it is to no result.
func (t *test) lost() string {
	sums := map[string]int64{}
	for c, n := range t.want.Counts {
		sums[c.Name] += n
	}
	var parts []string
	for _, gone := range []struct{ name, says string }{
		{"null", "without a value"}, {"rejected", "at fault, which on_error skips"}, {"filtered", "kept by no `where` or `if`"},
	} {
		if n := sums[gone.name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, gone.says))
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf(" (of %d read: %s)", sums["read"], strings.Join(parts, ", "))
}

func (t *test) findOutputs() error {
	for _, n := range t.Graph.Nodes {
		var o output
		var topic planner.Setting
		switch op := n.Op.(type) {
		case *planner.Sink:
			topic = op.Topic
			o = output{deliver: op.Deliver, ordered: judgedOrder(n, op), inexact: t.want.Inexact[n.ID]}
		case *planner.DeadLetter:
			topic = op.Topic
			o = output{deliver: op.Deliver, dead: true}
		default:
			continue
		}
		name, err := dev.TopicName(topic, os.LookupEnv)
		if err != nil {
			return err
		}
		o.topic, o.id = name, n.ID
		t.outputs = append(t.outputs, o)
	}
	return nil
}

// inputs are the topics that are read.
func (t *test) inputs() []string {
	var names []string
	for _, topic := range t.topics {
		if topic.Input {
			names = append(names, topic.Name)
		}
	}
	return names
}

// exactly reports whether any sink is exactly once.
func (t *test) exactly() bool {
	return slices.ContainsFunc(t.outputs, output.exactly)
}

// combination is a version of transactions with a parallelism.
type combination struct{ transactions, parallelism int }

// runAll runs the program without a crash in each combination, and then all cases.
func (t *test) runAll(ctx context.Context) error {
	var bases, cases []Case
	for i, version := range t.Transactions {
		for j, parallelism := range t.Parallelism {
			bases = append(bases, Case{version, parallelism, nil})
			list := []Schedule{t.Only}
			if t.Only == nil {
				number := uint64(i*len(t.Parallelism) + j)
				list = schedules(t.points, t.Moments, rand.New(rand.NewPCG(t.Seed, 2+number)))
			}
			for _, s := range list {
				if len(s) > 0 {
					cases = append(cases, Case{version, parallelism, s})
				}
			}
		}
	}
	t.screen.begin(len(bases) + len(cases))
	var mu sync.Mutex
	left := map[combination]*outcome{}
	err := t.parallel(ctx, bases, func(ctx context.Context, c Case) error {
		found, err := t.one(ctx, c, nil)
		mu.Lock()
		left[combination{c.Transactions, c.Parallelism}] = found
		mu.Unlock()
		return err
	})
	if err != nil || t.failed > 0 {
		return err // what fails without a crash tells nothing of crashes
	}
	return t.parallel(ctx, cases, func(ctx context.Context, c Case) error {
		_, err := t.one(ctx, c, left[combination{c.Transactions, c.Parallelism}])
		return err
	})
}

// one runs a case, judges and notes it.
func (t *test) one(ctx context.Context, c Case, base *outcome) (*outcome, error) {
	result, left, err := t.run(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", c, overdue(ctx, err))
	}
	r := &run{test: t, Result: result}
	if left != nil {
		r.judge(left, base)
	}
	if len(result.Faults) == 0 {
		err = os.RemoveAll(result.Dir)
		result.Dir = ""
	} else if left != nil {
		err = r.keep(left)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.results = append(t.results, result)
	if len(result.Faults) > 0 {
		t.failed++
	}
	t.screen.done(result)
	return left, err
}

// parallel runs cases side by side, since a run mostly waits, until one returns an error or enough have failed.
func (t *test) parallel(ctx context.Context, cases []Case, do func(context.Context, Case) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan Case)
	var workers sync.WaitGroup
	for range min(len(cases), 2*runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for c := range next {
				if err := do(ctx, c); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, c := range cases {
		if ctx.Err() != nil || t.enough() {
			break
		}
		select {
		case next <- c:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

func (t *test) enough() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed >= mostFailures
}
