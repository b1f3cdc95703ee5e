// Package doctor is the verb `doctor` of a program: it checks what a start needs, says what it found and what to do, and changes nothing:
// it writes no file and no record, takes no lock, fences nobody and commits nothing, so it may be used beside a running program.
//
// What a start would refuse, it says in the words of the start, since it asks the same code: the store about the directory, the cluster
// about topics and limits, and engine.Foresee, which goes through a start without doing it.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// Result is what came of a check.
type Result string

const (
	OK      Result = "ok"
	Warning Result = "warning" // a start works, but something will go wrong, or is less safe than it could be
	Failure Result = "failure" // a start would be refused, or would fail soon
	Unknown Result = "unknown" // the cluster or the system does not tell, or an earlier failure is in the way
)

// Check is one check and its result. The names in JSON do not change.
type Check struct {
	Check   string `json:"check"`             // what is checked, one of the names in docs/operations.md
	Subject string `json:"subject,omitempty"` // of several: which topic, broker, transactional id
	Result  Result `json:"result"`
	Text    string `json:"text"`
	Help    string `json:"help,omitempty"` // what to do
	Code    int    `json:"code,omitempty"` // of a failure: the exit code with which the start would end
}

// Report is all checks, in a fixed order.
type Report struct {
	Pipeline string  `json:"pipeline"`
	File     string  `json:"file"`
	Result   Result  `json:"result"` // the worst: failure, warning or ok
	Checks   []Check `json:"checks"`
}

// Config is what there is to check.
type Config struct {
	Settings settings.Settings
	Spec     engine.Spec
	State    state.Options
}

// Code is the exit code: that of the first failure, or 0.
func (r *Report) Code() failure.Kind {
	for _, c := range r.Checks {
		if c.Result == Failure {
			return failure.Kind(c.Code)
		}
	}
	return 0
}

// Run makes all checks.
func Run(ctx context.Context, cfg Config) *Report {
	x := &exam{
		Config: cfg, report: &Report{Pipeline: cfg.Spec.Name, File: cfg.Spec.File},
		engine: &engine.Engine{Spec: &cfg.Spec, Options: engine.Options{
			Until: cfg.Settings.Until, Fresh: cfg.Settings.Fresh, AcceptLoss: cfg.Settings.AcceptLoss, Log: slog.New(slog.DiscardHandler),
		}},
	}
	x.settings()
	x.directory()
	x.http()
	defer x.close()
	for n := range x.Spec.Connections() {
		x.meet(ctx, n)
	}
	x.clock(ctx)
	x.topics(ctx)
	x.rights(ctx)
	x.limits(ctx)
	x.group(ctx)
	x.start(ctx)
	x.times(ctx)
	return x.report.sum()
}

// Misset is the report about a program whose settings are wrong: nothing else can be checked.
func Misset(pipeline, file string, err error) *Report {
	x := &exam{report: &Report{Pipeline: pipeline, File: file}}
	x.fail("settings", "", err)
	for _, name := range []string{"state-directory", "state", "disk", "http", "brokers", "cluster", "transactions", "clock", "topics", "rights", "txn-timeout",
		"offsets-retention", "group", "transactional-ids", "open-transactions", "start", "input", "retention"} {
		x.unknown(name, "", "the settings are wrong")
	}
	return x.report.sum()
}

func (r *Report) sum() *Report {
	r.Result = OK
	for _, c := range r.Checks {
		if c.Result == Failure || c.Result == Warning && r.Result == OK {
			r.Result = c.Result
		}
	}
	return r
}

// exam is one run of the checks: what they have found out for those that follow.
type exam struct {
	Config
	report *Report
	engine *engine.Engine

	place  *state.Place // nil: no directory, or it could not be looked at
	view   *state.View  // nil: no state
	stored bool         // view is known, even if it is nil
	unfit  bool         // the state is refused
	// damaged says that the state file cannot be read, which does not matter to a start that begins anew.
	damaged bool

	cluster  *kafka.Cluster                  // of the job; nil: there is no contact
	clusters []*kafka.Cluster                // by connection, that of the job too
	details  []map[string]kafka.TopicDetails // by connection
	brokers  kafka.Values
	outlook  *engine.Outlook
}

func (x *exam) add(c Check) { x.report.Checks = append(x.report.Checks, c) }

func (x *exam) ok(check, subject, text string, args ...any) {
	x.add(Check{Check: check, Subject: subject, Result: OK, Text: fmt.Sprintf(text, args...)})
}

func (x *exam) unknown(check, subject, text string, args ...any) {
	x.add(Check{Check: check, Subject: subject, Result: Unknown, Text: fmt.Sprintf(text, args...)})
}

func (x *exam) warn(check, subject, help, text string, args ...any) {
	x.add(Check{Check: check, Subject: subject, Result: Warning, Text: fmt.Sprintf(text, args...), Help: help})
}

func (x *exam) refuse(check, subject, help, text string, args ...any) {
	x.fail(check, subject, failure.New(failure.Cluster, help, nil, text, args...))
}

// fail takes over the words of a failure. What a start would try again for ever is the cluster's.
func (x *exam) fail(check, subject string, err error) {
	c := Check{Check: check, Subject: subject, Result: Failure, Text: err.Error(), Code: int(failure.KindOf(err))}
	var known *failure.Error
	if errors.As(err, &known) {
		plain := *known
		plain.Help = ""
		c.Text, c.Help = plain.Error(), known.Help
	}
	if c.Code == int(failure.Transient) {
		c.Code = int(failure.Cluster)
	}
	x.add(c)
}

// soften makes the failure that was found last a warning: it does not keep the program from starting. help takes the place of what the
// failure advises; "": that holds.
func (x *exam) soften(help string) {
	last := &x.report.Checks[len(x.report.Checks)-1]
	last.Result, last.Code, last.Help = Warning, 0, cmp.Or(help, last.Help)
}

// needs says whether there is contact to the cluster, and if not that the check is not known.
func (x *exam) needs(check string) bool {
	if x.cluster == nil {
		x.unknown(check, "", "there is no contact to the cluster")
	}
	return x.cluster != nil
}

// needsAll is needs for all clusters.
func (x *exam) needsAll(check string) bool {
	if x.cluster != nil && slices.Contains(x.clusters, nil) {
		x.unknown(check, "", "there is no contact to the cluster of a source")
		return false
	}
	return x.needs(check)
}

func (x *exam) close() {
	for _, c := range x.clusters {
		if c != nil {
			c.Close()
		}
	}
}

// of is what the cluster of a source tells of its topic.
func (x *exam) of(s engine.SourceSpec) kafka.TopicDetails { return x.details[s.Connection][s.Topic] }

func (x *exam) settings() {
	s := x.Settings
	where := "state in " + s.StateDir
	if x.Spec.Memory {
		where = "state in memory"
	}
	if s.Until.Bounded() {
		where += ", until " + s.Until.String()
	}
	x.ok("settings", "", "pipeline %s, %s, checkpoint every %v, parallelism %d, %v", s.Name, where, s.Checkpoint, s.Parallelism, s.Connection)
	for _, m := range s.Misspelt {
		x.warn("settings", m.Name, "unset it, or set "+m.Meant, "environment variable %s means nothing to this program; did you mean %s?", m.Name, m.Meant)
	}
	for _, one := range []struct {
		given bool
		flag  string
		does  string
	}{
		{s.Fresh, "--fresh", "it derives all output once more, at every start of the process"},
		{s.AcceptLoss, "--accept-loss", "it passes over input that is gone"},
	} {
		if one.given {
			x.warn("settings", one.flag, "leave it out of the command line of a service", "%s is given: %s", one.flag, one.does)
		}
	}
}

// Print writes the report. Colour is for terminals.
func (r *Report) Print(out io.Writer, asJSON, colour bool) error {
	if asJSON {
		return r.json(out)
	}
	return r.text(out, colour)
}
