package dsl

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
)

var jobName = regexp.MustCompile(`^[a-z0-9._-]+$`)

// Limits and defaults of a job. Those of time are the ones of the checkpoint protocol.
const (
	defaultCheckpoint = time.Second
	leastCheckpoint   = 10 * time.Millisecond
	mostCheckpoint    = time.Hour
	defaultTxnTimeout = 2 * time.Minute
	mostTxnTimeout    = 24 * time.Hour
	defaultRestartMin = time.Second
	defaultRestartMax = time.Minute
	leastPause        = time.Millisecond
	maxParallelism    = 128 // key groups: more tasks would have none
	// A transaction is open for a checkpoint's interval, then until the checkpoint is complete,
	// then perhaps over a restart.
	checkpointTimeout = 30 * time.Second
	restartBudget     = 60 * time.Second
)

var jobOptions = wordsOf("checkpoint store parallelism txn_prefix txn_timeout restart "+connectionWords, "")

func (c *checker) job() {
	name := baseName(c.file.Name)
	j := &c.prog.Job
	*j = Job{Checkpoint: defaultCheckpoint, StateDir: Setting{Text: "./state"}, Parallelism: 1, TxnTimeout: defaultTxnTimeout,
		RestartMin: defaultRestartMin, RestartMax: defaultRestartMax}
	var first *syntax.Job
	for _, d := range c.file.Decls {
		d, ok := d.(*syntax.Job)
		if !ok {
			continue
		}
		if first != nil {
			c.report(diag.New("duplicate-name", c.at(d.Name.Node), "a pipeline has one job").
				WithRelated(c.at(first.Name.Node), "it is declared here"))
			continue
		}
		first = d
		name = d.Name.String()
		j.Place = c.head(d.Node)
		c.jobOptions(d)
	}
	if !jobName.MatchString(name) {
		d := diag.New("job-name", diag.Span{File: c.file.Name, Line: 1, Column: 1, Length: 1}, "the file's name, `%s`, cannot be the pipeline's", name).
			WithHelp("rename the file, or give the pipeline a name: `job %s`", cmp.Or(smallName(name), "name"))
		if first != nil {
			d = diag.New("job-name", c.at(first.Name.Node), "`%s` cannot be a pipeline's name", name)
			if small := smallName(name); small != "" {
				d = d.WithLabel("write `%s`", small)
			}
		}
		c.report(d.WithNote("names of groups and transactions are made of it: a-z, 0-9, `.`, `_` and `-`"))
	}
	j.Name = name
	if j.TxnPrefix == (Setting{}) {
		j.TxnPrefix = Setting{Text: name}
	}
}

// smallName is a name that a pipeline may have, made of one with capitals or spaces; "" if it cannot be made so.
func smallName(name string) string {
	small := strings.ToLower(wordEnd.ReplaceAllString(strings.ReplaceAll(name, " ", "_"), "${1}_${2}"))
	if !plainJob.MatchString(small) {
		return ""
	}
	return small
}

var (
	wordEnd  = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	plainJob = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`) // one that needs no backticks
)

func (c *checker) jobOptions(d *syntax.Job) {
	j := &c.prog.Job
	c.jobOpts = c.options("job", d.Options, jobOptions)
	if o := c.jobOpts["checkpoint"]; o != nil {
		if v, ok := c.durationOption(o, leastCheckpoint, mostCheckpoint); ok {
			j.Checkpoint = v
		}
	}
	if o := c.jobOpts["store"]; o != nil {
		switch word, call := c.wordOption(o, `bolt("./state")`, "memory"); {
		case word == "memory" && call != nil:
			c.badOption(o, "memory")
		case word == "memory":
			j.Memory = true
		case word == "bolt":
			j.StateDir, _ = c.settingArg(o, call, `bolt("./state")`)
		}
	}
	if o := c.jobOpts["parallelism"]; o != nil {
		j.Parallelism = c.parallelism(o)
	}
	if o := c.jobOpts["txn_prefix"]; o != nil {
		s, ok := c.settingOption(o)
		if ok && s.Text == "" && (s.Env == "" || s.HasDefault) {
			c.badOption(o, "a text that is not empty")
		}
		j.TxnPrefix = s
	}
	if o := c.jobOpts["txn_timeout"]; o != nil {
		if v, ok := c.durationOption(o, time.Second, mostTxnTimeout); ok {
			j.TxnTimeout = v
		}
	}
	if o := c.jobOpts["restart"]; o != nil {
		c.restart(o)
	}
	j.Connection = c.connection(c.jobOpts)
}

func (c *checker) parallelism(o *syntax.Option) int {
	n, err := strconv.Atoi(literalText(o.Values[0]))
	switch {
	case err != nil:
		c.badOption(o, "a whole number")
		return 1
	case n < 1 || n > maxParallelism:
		c.errorf(o.Values[0].Span(), "out-of-range", "`parallelism` is between 1 and %d", maxParallelism)
		return 1
	}
	return n
}

// restart reads backoff(min, max: m).
func (c *checker) restart(o *syntax.Option) {
	const form = "backoff(1s, max: 1m)"
	if l, ok := o.Values[0].(*syntax.Literal); ok && l.Kind == "duration" {
		c.badOption(o, form)
		return
	}
	word, call := c.wordOption(o, form)
	if word == "" {
		return
	}
	if call == nil || len(call.Args) == 0 || len(call.Args) > 2 || call.Args[0].Name != nil ||
		len(call.Args) == 2 && (call.Args[1].Name == nil || call.Args[1].Name.String() != "max") {
		c.badOption(o, form)
		return
	}
	j := &c.prog.Job
	bounds := []*time.Duration{&j.RestartMin, &j.RestartMax}
	for i, a := range call.Args {
		l, ok := a.Value.(*syntax.Literal)
		if !ok || l.Kind != "duration" {
			c.badOption(o, form)
			return
		}
		if v, ok := c.duration(l.Node, l.Text, "a pause", leastPause, mostCheckpoint); ok {
			*bounds[i] = v
		}
	}
	if len(call.Args) == 1 {
		j.RestartMax = max(j.RestartMax, j.RestartMin)
	}
	if j.RestartMax < j.RestartMin {
		c.errorf(call.Args[1].Node, "out-of-range", "the longest pause is shorter than the first")
	}
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }
