package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/planner"
)

const (
	// lookEvery is how often the program is asked, by its offsets, whether it has read all that was fed.
	lookEvery = 200 * time.Millisecond
	// restLimit is how long the last results may take to be read.
	restLimit = 10 * time.Second
	// mostBetween is the longest time between checkpoints, whatever the file says: people wait for results.
	mostBetween = time.Second
)

// life is a broker with its topics, and the processes of the program that follow each other beside it.
type life struct {
	*dev
	broker  *devkafka.Process
	client  *devkafka.Client
	watcher *devkafka.Watcher
	topics  topics
	program Program // that runs, or ran last
	places  *places

	process  *process     // nil: none runs
	fed      <-chan error // says when the data has been fed; then nil
	failed   chan error   // results cannot be read
	running  string       // is said when the program runs that is started next
	caughtUp bool         // it was said that all is read
	counts   counts       // the program's, when it has stopped
	pause    func()       // stops showing results, until show
	cancel   func()       // ends feeding
	feeders  sync.WaitGroup
}

// begin starts everything. What it returns is to be ended, also with an error.
func (d *dev) begin(ctx context.Context) (*life, error) {
	l := &life{dev: d, places: newPlaces(d.Data), failed: make(chan error, 1), pause: func() {}, cancel: func() {}}
	ctx, cancel := context.WithTimeout(ctx, brokerLimit)
	defer cancel()
	var err error
	if l.topics, err = d.resolve(d.program.Graph, os.LookupEnv); err != nil {
		return l, err
	}
	if err := d.fit(l.topics); err != nil {
		return l, err
	}
	if l.broker, err = devkafka.Start(ctx, d.Err, d.Command[0], slices.Concat(d.Command[1:], []string{BrokerVerb})...); err != nil {
		return l, err
	}
	if l.client, err = devkafka.Dial(l.broker.Addr); err != nil {
		return l, err
	}
	if err := l.client.EnsureTopics(ctx, d.Partitions, l.topics.all()...); err != nil {
		return l, err
	}
	if l.watcher, err = devkafka.Watch(l.broker.Addr, l.topics.outputs()...); err != nil {
		return l, err
	}
	d.screen.begin(l.topics, l.places)
	d.screen.say("%s runs with an embedded broker at %s, for trying only: topics are in memory, and gone at the end", filepath.Base(d.File), l.broker.Addr)
	l.program = d.program
	if !d.UntilEnd {
		l.show()
		d.screen.say("%s", d.usage())
		if err := l.start(); err != nil {
			return l, err
		}
	}
	l.feed()
	return l, nil
}

func (d *dev) usage() string {
	if d.Terminal {
		return "save the file to go on with an edit; r Enter starts over, TOPIC {json} Enter feeds a record, Ctrl-C ends"
	}
	return "save the file to go on with an edit; the lines r, q and TOPIC {json} of standard input start over, end, feed a record"
}

// show begins to show results, until pause is called.
func (l *life) show() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			records, err := l.watcher.Next(ctx)
			unshown := l.screen.results(l.inOrder(records))
			switch err = errors.Join(unshown, err); {
			case ctx.Err() != nil && unshown == nil:
				return
			case err != nil:
				select {
				case l.failed <- err:
				default: // an earlier one is waiting to be told
				}
				return
			}
		}
	}()
	l.pause = func() { cancel(); <-done }
}

// showRest shows what is committed by now. It is called between pause and show.
func (l *life) showRest() error {
	ctx, cancel := context.WithTimeout(context.Background(), restLimit)
	defer cancel()
	records, err := l.watcher.Rest(ctx)
	return errors.Join(err, l.screen.results(l.inOrder(records)))
}

// inOrder sorts records that came together by topic, in the order of the text: which one is read faster means nothing.
func (l *life) inOrder(records []devkafka.Record) []devkafka.Record {
	slices.SortStableFunc(records, func(a, b devkafka.Record) int {
		return cmp.Or(l.topics.index(a.Topic)-l.topics.index(b.Topic), int(a.Partition-b.Partition))
	})
	return records
}

// Adapt makes the graph of a pipeline that talks to the embedded broker: that has neither TLS nor SASL, and what the file says of
// a connection may need files and secrets of another place.
func Adapt(g *planner.Graph) {
	g.Job.Connection = planner.Connection{}
	g.OneCluster()
}

// start starts a process of the program.
func (l *life) start(more ...string) error {
	job := l.program.Graph.Job
	arguments := []string{"--brokers", l.broker.Addr, "--tls=false", "--sasl-mechanism=none", "--create-topics=false", "--fresh=false",
		"--checkpoint-interval", min(job.Checkpoint, mostBetween).String()}
	if !job.Memory {
		arguments = append(arguments, "--state", filepath.Join(l.dir, "state"))
	}
	page := ""
	if l.Page {
		address, err := l.pageAddress()
		if err != nil {
			return err
		}
		arguments, page = append(append(arguments, "--ui"), address...), "/ui/"
	}
	command := slices.Concat(l.Command, []string{GuardVerb, l.program.Path}, arguments, more, l.Arguments,
		[]string{"--log-format", "json", "--log-level", "info"}) // last: the log is read here, whatever is asked for
	p, err := startProcess(command, filepath.Join(l.dir, "program.log"), page, l.running, l.screen)
	l.process, l.running = p, ""
	return err
}

// stop stops the program, if it runs, and shows what it has committed last.
func (l *life) stop() error {
	if l.process == nil {
		return nil
	}
	killed, err := l.process.stop()
	if killed {
		l.screen.say("the program did not stop within %v and was killed, which loses nothing: what runs next goes on from its last checkpoint", stopLimit)
	}
	l.counts = l.process.counts
	l.process = nil
	return err
}

// look says it, once, when the program has read all that was fed, and what results wait for.
func (l *life) look(ctx context.Context) error {
	name := l.process.name()
	if name == "" {
		return nil // it has not begun
	}
	ctx, cancel := context.WithTimeout(ctx, brokerLimit)
	defer cancel()
	all, err := l.client.CaughtUp(ctx, "eo-"+name, l.topics.inputs()...)
	if err != nil || !all {
		return err
	}
	l.caughtUp = true
	l.pause()
	err = l.showRest()
	l.screen.say("%s", allRead(l.program.Graph, l.Partitions))
	l.show()
	return err
}

// edited compiles the file anew and goes on with it. again: it is to begin from the start.
func (l *life) edited(ctx context.Context) (again bool, err error) {
	next, err := l.Compile(ctx)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, ErrFaulty) && l.process == nil:
		l.screen.say("%s has errors", filepath.Base(l.File))
		return false, nil
	case errors.Is(err, ErrFaulty):
		l.screen.say("%s has errors: the program from before the edit runs on", filepath.Base(l.File))
		return false, nil
	case err != nil:
		l.screen.say("%s", l.Explain(err))
		return false, nil
	case next.Path == l.program.Path && l.process != nil:
		l.screen.say("the edit changes nothing of what the program does: it runs on")
		return false, nil
	}
	topics, err := l.resolve(next.Graph, os.LookupEnv)
	if err != nil {
		l.screen.say("%v", err)
		return false, nil
	}
	forgets := l.program.Graph.Job.Memory || next.Graph.Job.Memory
	l.dev.program = next
	switch {
	case l.Fresh:
		return true, nil
	case forgets:
		l.screen.say("with `store memory` nothing is kept over an edit")
		return true, nil
	}
	return false, l.replace(ctx, next, topics)
}

// replace stops the program and starts the next one with its state.
func (l *life) replace(ctx context.Context, next Program, topics topics) error {
	ctx, cancel := context.WithTimeout(ctx, brokerLimit)
	defer cancel()
	if err := l.client.EnsureTopics(ctx, l.Partitions, topics.all()...); err != nil {
		return err
	}
	if err := l.stop(); err != nil {
		return err
	}
	l.pause()
	err := l.showRest()
	l.watcher.Add(topics.outputs()...)
	l.topics, l.program = topics, next
	l.screen.roles(topics)
	l.show()
	if err != nil {
		return err
	}
	l.running = fmt.Sprintf("going on with the edited %s, from the state that it had; %s shows all data with it",
		filepath.Base(l.File), map[bool]string{true: "r Enter", false: "the line r"}[l.Terminal])
	return l.start()
}

// programEnded says why the program has ended by itself, and what can be done. done: there is nothing left to do.
func (l *life) programEnded() (done bool, err error) {
	code := l.process.code
	l.counts = l.process.counts
	l.process = nil
	switch {
	case code == 0:
		return true, nil
	case l.UntilEnd || code == codeUsage:
		return true, ExitError{code}
	}
	l.screen.say("%s", advice(code))
	return false, nil
}

// end ends everything that was begun. With last it shows what was made of the data.
func (l *life) end(last bool) (err error) {
	l.cancel()
	l.feeders.Wait()
	err = l.stop()
	l.pause()
	select {
	case unseen := <-l.failed:
		err = errors.Join(err, unseen)
	default:
	}
	if l.watcher != nil {
		if last {
			err = errors.Join(err, l.showRest())
			l.screen.summary(l.topics, l.counts)
		}
		l.watcher.Close()
	}
	if l.client != nil {
		l.client.Close()
	}
	if l.broker != nil {
		err = errors.Join(err, l.broker.Stop())
	}
	if last && l.Keep != "" {
		l.screen.say("the program's log and state are in %s", l.Keep)
	}
	return err
}

// The exit codes of programs that have an answer of their own, see runtime.Main.
const (
	codeUsage     = 2
	codeBadRecord = 3
	codeState     = 5
)

func advice(code int) string {
	switch code {
	case codeBadRecord:
		return "a record at fault has stopped the program. Correct the data and start over (r), or change what the source does with such records, and save"
	case codeState:
		return "the program cannot keep its state with this edit, and does not run. Undo the edit and save to go on as before, " +
			"or start over with it (r), which derives all results anew, from empty topics"
	}
	return fmt.Sprintf("the program has ended with code %d. Edit the file and save to go on, or start over (r)", code)
}
