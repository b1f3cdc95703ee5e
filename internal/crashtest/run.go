package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/crashpoint"
	"github.com/eoc-lang/eoc/internal/dev"
	"github.com/eoc-lang/eoc/internal/devkafka"
)

// brokerLimit is how long the embedded broker may take for what it is asked.
const brokerLimit = 30 * time.Second

// overdue adds to an error of the broker, if it is of brokerLimit, what a person can do. ctx is that of the test.
func overdue(ctx context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("the embedded broker took longer than %v: %w.\nThe machine has too much to do, or the data is too much for it: %s", brokerLimit, err, fewer)
}

// Case is one run of the program from empty topics to the end of the data.
type Case struct {
	Transactions int // the feature transaction.version of the broker: 1 or 2
	Parallelism  int
	Schedule     Schedule
}

// String names the case.
func (c Case) String() string {
	return fmt.Sprintf("V%d, parallelism %d: %v", c.Transactions, c.Parallelism, c.Schedule)
}

// Result is what became of a case.
type Result struct {
	Case
	Deaths []Step  // those that happened
	Missed *Missed // the step at which the program did not die; nil: it died at all
	Faults []Fault // empty: it passes
	Dir    string  // log, state and records of a case that does not
}

// Missed is a death that did not happen, since the program came to its end before.
type Missed struct {
	Step   Step
	Passed int // how often the life had passed the point
}

// Fault is something that is not as without a crash.
type Fault struct {
	Text       string
	Difference *Difference // of records; nil: the text says it
}

// run is a case that is run.
type run struct {
	*test
	*Result
	broker *devkafka.Process
	client *devkafka.Client
	lives  int
	logs   []string // files, one for each life
}

// run runs a case and returns what it has left behind, nil if the program did not come to its end. An error
// is of the machine around, or of ctx.
func (t *test) run(ctx context.Context, c Case) (result *Result, left *outcome, err error) {
	r := &run{test: t, Result: &Result{Case: c}}
	if r.Dir, err = os.MkdirTemp(t.dir, fmt.Sprintf("v%d-p%d-%s-", c.Transactions, c.Parallelism, fileName(c.Schedule.String()))); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err = errors.Join(err, r.end()); err != nil {
			err = errors.Join(err, os.RemoveAll(r.Dir)) // it tells of no fault, and may stand beside those that do
		}
	}()
	if err := r.begin(ctx); err != nil {
		return nil, nil, err
	}
	if ok, err := r.lifetimes(ctx); err != nil || !ok {
		return r.Result, nil, err
	}
	left, err = r.read(ctx)
	return r.Result, left, err
}

// longestName is what of a schedule gets into the name of a folder.
const longestName = 60

// fileName is text as a name on all systems.
func fileName(text string) string {
	text = strings.NewReplacer(":", "-", ",", "_").Replace(text)
	return text[:min(len(text), longestName)]
}

// begin starts the broker and fills the topics.
func (r *run) begin(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, brokerLimit)
	defer cancel()
	if r.broker, err = devkafka.Start(ctx, os.Stderr, r.Command[0], append(slices.Clone(r.Command[1:]), dev.BrokerVerb)...); err != nil {
		return err
	}
	if r.client, err = devkafka.Dial(r.broker.Addr); err != nil {
		return err
	}
	if err := r.client.SetTransactionVersion(ctx, int16(r.Case.Transactions)); err != nil {
		return err
	}
	var names []string
	for _, t := range r.topics {
		names = append(names, t.Name)
	}
	if err := r.client.EnsureTopics(ctx, r.Partitions, names...); err != nil {
		return err
	}
	for _, f := range r.sample.feeds {
		if err := f.send(ctx, r.client); err != nil {
			return err
		}
	}
	return r.broker.Pace(r.sample.pause)
}

func (r *run) end() error {
	if r.client != nil {
		r.client.Close()
	}
	if r.broker != nil {
		return r.broker.Stop()
	}
	return nil
}

// lifetimes goes through the schedule and then lets the program come to its end. ok is false if it did not, which is noted as a fault.
func (r *run) lifetimes(ctx context.Context) (ok bool, err error) {
	for _, step := range r.Schedule {
		if step.Abort {
			if err := r.abort(ctx); err != nil {
				return false, err
			}
			continue
		}
		code, err := r.life(ctx, step)
		switch {
		case err != nil:
			return false, r.stuck(err)
		case code == dev.ExitKilled:
			r.Deaths = append(r.Deaths, step)
			continue
		case code == 0 || code == crashpoint.ExitMissed:
			r.Missed = &Missed{step, passed(r.logs[len(r.logs)-1], step.Point)}
			return true, nil // it has come to its end
		}
		r.failed(code)
		return false, nil
	}
	if err := r.broker.Pace(0); err != nil {
		return false, err
	}
	code, err := r.life(ctx, Step{})
	if err != nil {
		return false, r.stuck(err)
	}
	if code != 0 {
		r.failed(code)
	}
	return code == 0, nil
}

func (r *run) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, brokerLimit)
	defer cancel()
	_, err := r.client.AbortTransactions(ctx)
	return err
}

// life starts the program and waits for its end.
func (r *run) life(ctx context.Context, step Step) (code int, err error) {
	r.lives++
	name, environment := "to-its-end", []string(nil)
	switch {
	case step.Point != "":
		name, environment = step.String(), []string{crashpoint.Env + "=" + step.String()}
	case step.After > 0:
		name = step.String()
	}
	log := filepath.Join(r.Dir, fmt.Sprintf("life-%d-%s.log", r.lives, fileName(name)))
	r.logs = append(r.logs, log)
	p, err := start(r.command(), environment, log)
	if err != nil {
		return 0, err
	}
	return p.wait(ctx, r.sample.limit(), step.After)
}

// command is the program with its arguments.
func (r *run) command() []string {
	return slices.Concat(r.Command, []string{dev.GuardVerb, r.Binary,
		"--brokers", r.broker.Addr, "--tls=false", "--sasl-mechanism=none", "--create-topics=false",
		"--state", filepath.Join(r.Dir, "state"), "--until", "latest", "--checkpoint-interval", interval.String(),
		"--parallelism", fmt.Sprint(r.Case.Parallelism), "--log-format", "json", "--log-level", "info"})
}

// stuck notes a life that did not end; another error is returned.
func (r *run) stuck(err error) error {
	if !errors.Is(err, errStuck) {
		return err
	}
	r.fault("the program did not come to an end in life %d: %v%s", r.lives, err, r.lastWords())
	return nil
}

// failed notes a life that has ended by itself with an error.
func (r *run) failed(code int) {
	r.fault("the program ended with code %d in life %d%s", code, r.lives, r.lastWords())
}

func (r *run) fault(text string, args ...any) {
	r.Faults = append(r.Faults, Fault{Text: fmt.Sprintf(text, args...)})
}

// lastWords is why the last life has ended, as it says itself.
func (r *run) lastWords() string {
	text, err := os.ReadFile(r.logs[len(r.logs)-1])
	if err != nil {
		return ""
	}
	last := ""
	for line := range strings.Lines(string(text)) {
		var entry struct{ Level, Msg, Error string }
		switch {
		case json.Unmarshal([]byte(line), &entry) != nil:
			last = strings.TrimSpace(line)
		case entry.Level == "ERROR" || entry.Level == "WARN":
			last = strings.TrimPrefix(entry.Msg+": "+entry.Error, "ended: ")
		}
	}
	if last == "" {
		return ""
	}
	return ", and says: " + strings.TrimSuffix(last, ": ")
}

// passed is how often a life has passed a point, as it says itself when it has come to its end without dying there.
func passed(log, point string) int {
	text, err := os.ReadFile(log)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var entry struct{ Points []string }
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		for _, p := range entry.Points {
			n, pass := 0, 0
			if rest, ok := strings.CutPrefix(p, point+":"); ok {
				if _, err := fmt.Sscanf(rest, "%d (passed %d times)", &pass, &n); err == nil {
					return n
				}
			}
		}
	}
	return 0
}
